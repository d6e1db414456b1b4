//! `[[arrivals]]` and `[[bystanders]]`: the first attempts of callers, and other callers, which are not compared.

use stagger_core::{Instant, Policy, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Bystanders, CallerLayer, FirstCalls, Law, Ramp, RateStep, RunPlan, Schedule,
};
use stagger_text::settings::{Flaw, Reader};

use super::laws;

/// A waiting caller takes some 100 bytes: 50 million are 5 GB.
const MAX_CALLERS: u32 = 50_000_000;
/// Mean gaps are whole nanoseconds, and a thousand of them still tell rates apart.
const MAX_RATE: f64 = 1e6;

/// A call in a quarter of an hour; what is rarer is nobody.
const LEAST_RATE: f64 = 0.001;

/// As whole numbers, for ramps.
const MAX_RAMPED: u32 = 1_000_000;

#[derive(Clone, Copy)]
enum ArrivalKind {
    Together,
    Even,
    Poisson,
    Steps,
    Noticed,
    Spread,
    Clients,
    Closed,
    Ramped,
    Recorded,
}

const KINDS: [(&str, ArrivalKind); 10] = [
    ("steps", ArrivalKind::Steps),
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
        ArrivalKind::Steps => steps(source)?,
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
    let from = instant(source, "from")?;
    bounded(source, 1, gap, until)?;
    Ok(match from {
        None => ArrivalProcess::Poisson { gap, until },
        Some(from) => {
            ArrivalProcess::Stepped { steps: [RateStep { from, gap: Some(gap) }].into(), until }
        }
    })
}

/// Rates that hold one after the other; zero for nobody.
fn steps(source: &Reader<'_, '_>) -> Result<ArrivalProcess, Flaw> {
    let until = source.need("until", instant(source, "until")?)?;
    let mut steps: Vec<RateStep> = Vec::new();
    for table in source.tables("steps")? {
        let from = table.need("from", instant(&table, "from")?)?;
        let rate = table.need("rate", table.number("rate", (0.0, MAX_RATE))?)?;
        table.done()?;
        if steps.last().is_some_and(|last| last.from >= from) {
            return Err(table.wrong("from", "later than in the step before it"));
        }
        let gap = (rate >= LEAST_RATE).then(|| gap(rate));
        bounded(source, 1, gap.unwrap_or(Span::MAX), until)?;
        steps.push(RateStep { from, gap });
    }
    if steps.is_empty() {
        return Err(source.wrong("steps", "a list of tables with from and rate"));
    }
    Ok(ArrivalProcess::Stepped { steps: steps.into(), until })
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

/// Any number of them. One that has neither law nor policy never retries; the names of policies that
/// they use go to `used`.
pub(super) fn read_bystanders(
    reader: &Reader<'_, '_>,
    policies: &[(String, Policy)],
    defaults: (Schedule, Option<Span>),
    used: &mut Vec<String>,
) -> Result<Vec<Bystanders>, Flaw> {
    let tables = reader.tables("bystanders")?;
    bounded_list(reader, "bystanders", tables.len())?;
    let mut all = Vec::new();
    for table in &tables {
        let arrivals = one(table)?;
        let caller = match laws::settled(table, policies, defaults, used)? {
            Some(caller) => caller,
            None => never(table, defaults)?,
        };
        let caller = CallerLayer { criticality: laws::criticality(table)?, ..caller };
        table.done()?;
        all.push(Bystanders { arrivals, caller });
    }
    Ok(all)
}

/// A caller that never retries, and waits for an answer as long as those that are compared.
fn never(
    table: &Reader<'_, '_>,
    (schedule, timeout): (Schedule, Option<Span>),
) -> Result<CallerLayer, Flaw> {
    let caller = Law::NoRetry.caller(&schedule).map_err(|error| table.flaw(&error.to_string()))?;
    let timeout = table.above_zero("timeout")?.or(timeout);
    Ok(match timeout {
        Some(timeout) => caller.with_timeout(timeout),
        None => caller,
    })
}
