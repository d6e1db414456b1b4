//! `server.shed`, `server.crash`, `server.scale` and `server.cache`: the reactions of a server to its load.

use stagger_core::{Ratio, Span};
use stagger_sim::{Autoscaling, Cache, CacheFill, Crash, Shedding};
use stagger_text::settings::{Flaw, Reader};

/// More at once than any server works on.
pub(super) const MAX_WORKERS: u32 = 10_000_000;

/// As many as there may be callers.
pub(super) const MAX_QUEUE: u32 = 50_000_000;

#[derive(Clone, Copy)]
enum SheddingKind {
    CoDel,
    FailFast,
    Aimd,
    Gradient,
}

const KINDS: [(&str, SheddingKind); 4] = [
    ("codel", SheddingKind::CoDel),
    ("fail-fast", SheddingKind::FailFast),
    ("aimd", SheddingKind::Aimd),
    ("gradient", SheddingKind::Gradient),
];

/// Nothing is shed without the table.
pub(super) fn shedding(server: &Reader<'_, '_>) -> Result<Option<Shedding>, Flaw> {
    let Some(table) = server.table("shed")? else { return Ok(None) };
    let kind = table.need("by", table.word("by", &KINDS)?)?;
    let shedding = match kind {
        SheddingKind::CoDel => {
            let (target, interval) = delays(&table)?;
            Shedding::CoDel { target, interval }
        }
        SheddingKind::FailFast => {
            let (target, interval) = delays(&table)?;
            Shedding::FailFast { target, interval }
        }
        SheddingKind::Aimd => Shedding::Aimd {
            latency: table.need("latency", table.above_zero("latency")?)?,
            decrease: table.ratio("decrease", (0.1, 0.99))?.unwrap_or(Ratio::from_percent(90)),
        },
        SheddingKind::Gradient => Shedding::Gradient {
            buffer: table.ratio("buffer", (0.0, 10.0))?.unwrap_or(Ratio::from_percent(25)),
            every: table.above_zero("every")?.unwrap_or(Span::from_millis(100)),
        },
    };
    table.done()?;
    Ok(Some(shedding))
}

/// Target and interval: those of RFC 8289, which are also those that Facebook published.
fn delays(table: &Reader<'_, '_>) -> Result<(Span, Span), Flaw> {
    let target = table.above_zero("target")?.unwrap_or(Span::from_millis(5));
    let interval = table.above_zero("interval")?.unwrap_or(Span::from_millis(100));
    if interval < target {
        return Err(table.wrong("interval", &format!("at least target ({target})")));
    }
    Ok((target, interval))
}

/// A server that does not fall over without the table.
pub(super) fn crash(server: &Reader<'_, '_>) -> Result<Option<Crash>, Flaw> {
    let Some(table) = server.table("crash")? else { return Ok(None) };
    let at = table.need("at", table.count("at", (1, MAX_QUEUE))?)?;
    let restart = table.need("restart", table.above_zero("restart")?)?;
    table.done()?;
    Ok(Some(Crash { at, restart }))
}

/// As many workers at all times without the table.
pub(super) fn scaling(server: &Reader<'_, '_>, workers: u32) -> Result<Option<Autoscaling>, Flaw> {
    let Some(table) = server.table("scale")? else { return Ok(None) };
    let scaling = Autoscaling {
        most: table.need("most", table.count("most", (workers, MAX_WORKERS))?)?,
        step: table.need("step", table.count("step", (1, MAX_WORKERS))?)?,
        every: table.above_zero("every")?.unwrap_or(Span::from_secs(15)),
        delay: table.need("delay", table.span("delay")?)?,
        above: table.ratio("above", (0.0, 1.0))?.unwrap_or(Ratio::from_percent(80)),
        below: table.ratio("below", (0.0, 1.0))?.unwrap_or(Ratio::from_percent(30)),
    };
    if scaling.below >= scaling.above {
        return Err(table.wrong("below", "less than above"));
    }
    table.done()?;
    Ok(Some(scaling))
}

const FILLS: [(&str, CacheFill); 2] =
    [("answered", CacheFill::Answered), ("worked", CacheFill::Worked)];

/// No cache without the table.
pub(super) fn cache(server: &Reader<'_, '_>) -> Result<Option<Cache>, Flaw> {
    let Some(table) = server.table("cache")? else { return Ok(None) };
    let cache = Cache {
        keys: table.need("keys", table.count("keys", (1, u32::MAX))?)?,
        miss: table.need("miss", table.above_zero("miss")?)?,
        lifetime: table.above_zero("lifetime")?,
        fill: table.word("fill", &FILLS)?.unwrap_or_default(),
    };
    table.done()?;
    Ok(Some(cache))
}
