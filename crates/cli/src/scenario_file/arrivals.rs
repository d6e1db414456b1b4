//! `[[arrivals]]`: when callers make their first attempt.

use crate::toml_file::{Flaw, Reader};
use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{ArrivalProcess, FirstCalls, Ramp, RunPlan};

/// A waiting caller takes some 100 bytes: 50 million are 5 GB.
const MAX_CALLERS: u32 = 50_000_000;
/// Mean gaps are whole nanoseconds, and a thousand of them still tell rates apart.
const MAX_RATE: f64 = 1e6;

/// As whole numbers, for ramps.
const MAX_RAMPED: u32 = 1_000_000;

#[derive(Clone, Copy)]
enum ArrivalKind {
    Together,
    Even,
    Poisson,
    Noticed,
    Spread,
    Clients,
    Closed,
    Ramped,
    Recorded,
}

const KINDS: [(&str, ArrivalKind); 9] = [
    ("together", ArrivalKind::Together),
    ("even", ArrivalKind::Even),
    ("poisson", ArrivalKind::Poisson),
    ("noticed", ArrivalKind::Noticed),
    ("spread", ArrivalKind::Spread),
    ("clients", ArrivalKind::Clients),
    ("closed", ArrivalKind::Closed),
    ("ramped", ArrivalKind::Ramped),
    ("recorded", ArrivalKind::Recorded),
];

const FIRST_CALLS: [(&str, FirstCalls); 2] =
    [("spread", FirstCalls::Spread), ("at-origin", FirstCalls::AtOrigin)];

/// At least one source.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Vec<ArrivalProcess>, Flaw> {
    let sources = reader.tables("arrivals")?;
    if sources.is_empty() {
        return reader.need("arrivals", None);
    }
    bounded_list(reader, "arrivals", sources.len())?;
    let alone = |source: &Reader<'_, '_>| {
        let rule = one(source)?;
        source.done().map(|()| rule)
    };
    sources.iter().map(alone).collect()
}

/// Refuses more sources of one sort than half of what a plan has room for.
pub(super) fn bounded_list(
    reader: &Reader<'_, '_>,
    key: &'static str,
    sources: usize,
) -> Result<(), Flaw> {
    const MOST: usize = RunPlan::MAX_SOURCES / 2;
    if sources <= MOST {
        return Ok(());
    }
    Err(reader.wrong(key, &format!("a list of at most {MOST} tables")))
}

/// The rule of one table, which may have other keys besides.
pub(super) fn one(source: &Reader<'_, '_>) -> Result<ArrivalProcess, Flaw> {
    let kind = source.need("kind", source.word("kind", &KINDS)?)?;
    let rule = match kind {
        ArrivalKind::Together => ArrivalProcess::Together { callers: callers(source, "callers")? },
        ArrivalKind::Even => ArrivalProcess::Even {
            callers: callers(source, "callers")?,
            spacing: source.need("spacing", source.span("spacing")?)?,
        },
        ArrivalKind::Poisson => poisson(source)?,
        ArrivalKind::Noticed => ArrivalProcess::Noticed {
            callers: callers(source, "callers")?,
            at: instant(source, "at")?.unwrap_or(Instant::ORIGIN),
            sigma: source.need("sigma", source.span("sigma")?)?,
            over: instant(source, "until")?.unwrap_or(Instant::FAR),
        },
        ArrivalKind::Spread => ArrivalProcess::Spread {
            callers: callers(source, "callers")?,
            from: instant(source, "from")?.unwrap_or(Instant::ORIGIN),
            over: source.need("over", source.span("over")?)?,
        },
        ArrivalKind::Clients => clients(source)?,
        ArrivalKind::Closed => closed(source)?,
        ArrivalKind::Ramped => ArrivalProcess::Ramped(ramp(source)?),
        ArrivalKind::Recorded => recorded(source)?,
    };
    Ok(rule)
}

fn poisson(source: &Reader<'_, '_>) -> Result<ArrivalProcess, Flaw> {
    let rate = source.need("rate", source.number("rate", (0.001, MAX_RATE))?)?;
    let until = source.need("until", instant(source, "until")?)?;
    let gap = gap(rate);
    bounded(source, 1, gap, until)?;
    Ok(ArrivalProcess::Poisson { gap, until })
}

fn clients(source: &Reader<'_, '_>) -> Result<ArrivalProcess, Flaw> {
    let clients = callers(source, "clients")?;
    let gap = source.need("gap", source.above_zero("gap")?)?;
    let until = source.need("until", instant(source, "until")?)?;
    bounded(source, clients, gap, until)?;
    let first = source.word("first_calls", &FIRST_CALLS)?.unwrap_or_default();
    Ok(ArrivalProcess::Clients { clients, gap, first, until })
}

fn closed(source: &Reader<'_, '_>) -> Result<ArrivalProcess, Flaw> {
    let clients = callers(source, "clients")?;
    let think = source.need("think", source.above_zero("think")?)?;
    let until = source.need("until", instant(source, "until")?)?;
    bounded(source, clients, think, until)?;
    Ok(ArrivalProcess::Closed { clients, think, until })
}

fn ramp(source: &Reader<'_, '_>) -> Result<Ramp, Flaw> {
    Ok(Ramp {
        callers: callers(source, "callers")?,
        from: source.ratio("start", (0.01, 1.0))?.unwrap_or(Ratio::from_percent(10)),
        rate: source.need("rate", source.count("rate", (1, MAX_RAMPED))?)?,
        over: source.need("over", source.above_zero("over")?)?,
        most: source.count("most", (1, MAX_RAMPED))?,
    })
}

fn recorded(source: &Reader<'_, '_>) -> Result<ArrivalProcess, Flaw> {
    let list = source.need("at", source.list("at")?)?;
    let times = list.into_iter().map(|value| source.as_span("at", value));
    let mut times: Vec<Instant> =
        times.map(|at| at.map(|at| Instant::ORIGIN + at)).collect::<Result<_, _>>()?;
    times.sort_unstable();
    Ok(ArrivalProcess::Recorded(times.into()))
}

fn callers(source: &Reader<'_, '_>, key: &'static str) -> Result<u32, Flaw> {
    source.need(key, source.count(key, (1, MAX_CALLERS))?)
}

/// A time, counted from the origin.
pub(super) fn instant(reader: &Reader<'_, '_>, key: &'static str) -> Result<Option<Instant>, Flaw> {
    Ok(reader.span(key)?.map(|span| Instant::ORIGIN + span))
}

/// The mean time between two of so many a second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are bounded")]
fn gap(rate: f64) -> Span {
    // OK because a rate from 0.001 to 10^6 gives from 1000 to 10^12 nanoseconds.
    Span::from_nanos((1e9 / rate).round() as u64)
}

/// Refuses calls without end.
fn bounded(source: &Reader<'_, '_>, each: u32, gap: Span, until: Instant) -> Result<(), Flaw> {
    let calls = (until - Instant::ORIGIN).as_nanos() / gap.as_nanos().max(1);
    if calls.saturating_mul(u64::from(each)) <= u64::from(MAX_CALLERS) {
        return Ok(());
    }
    Err(source.wrong("until", &format!("earlier: that would be more than {MAX_CALLERS} calls")))
}
