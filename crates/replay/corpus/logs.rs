//! The 30 logs of the corpus: worlds, the formats that they are written in, and what a user would state.

use stagger_replay::{AccessLogFormat as Format, RetryRule};

use super::world::{Backend, Callers, DelayJitter, Fault, FaultKind, World};

/// One log.
#[derive(Clone, Debug)]
pub(crate) struct CorpusLog {
    pub(crate) name: &'static str,
    pub(crate) source: LogSource,
    pub(crate) format: Format,
    pub(crate) retries: RetryRule,
    pub(crate) capacity: Option<u32>,
    /// Whether the fault is stated by `--outage`.
    pub(crate) stated: bool,
    pub(crate) damage: Damage,
}

/// The program that a log comes from.
#[derive(Clone, Debug)]
pub(crate) enum LogSource {
    /// The small simulator of the corpus.
    World(World),
    /// The lab: 200 calls a second under full jitter with six attempts, and a refusal.
    Lab { seed: u64, fault: (u64, u64) },
}

/// The damage to the lines before they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    None,
    /// Two nodes, one behind the other in one file.
    TwoNodes,
    /// Two nodes in two files.
    TwoFiles,
    /// Nothing was written between these milliseconds.
    Hole(u64, u64),
}

const SECOND: u64 = 1_000_000;

const FULL: Callers = Callers {
    attempts: 4,
    base: 100_000,
    jitter: DelayJitter::Full,
    timeout: 500_000,
    pairs: None,
};
const UNBOUNDED: Backend = Backend { workers: None, service: 10_000 };
const TEN: Backend = Backend { workers: Some(10), service: 10_000 };

fn world(seed: u64, rate: u64, kind: FaultKind, (from, until): (u64, u64)) -> World {
    let fault = Some(Fault { kind, from: from * SECOND, until: until * SECOND });
    let backend = UNBOUNDED;
    World { seed, rate, until: 90 * SECOND, callers: FULL, backend, fault, usual: 0 }
}

fn log(name: &'static str, world: World, format: Format) -> CorpusLog {
    CorpusLog {
        name,
        source: LogSource::World(world),
        format,
        retries: RetryRule::Guess,
        capacity: None,
        stated: false,
        damage: Damage::None,
    }
}

fn lab(name: &'static str, seed: u64, fault: (u64, u64), format: Format) -> CorpusLog {
    let any = world(seed, 200, FaultKind::Refuse, (0, 1));
    CorpusLog { source: LogSource::Lab { seed, fault }, ..log(name, any, format) }
}

/// All of them.
pub(crate) fn logs() -> Vec<CorpusLog> {
    [refused(), hung(), partial(), metastable(), drained(), callers(), healthy(), damaged()]
        .concat()
}

fn refused() -> Vec<CorpusLog> {
    let six = |jitter| Callers { attempts: 6, jitter, ..FULL };
    let of = |seed, callers| World { callers, ..world(seed, 300, FaultKind::Refuse, (30, 45)) };
    vec![
        lab("lab-refused-csv", 1, (20_000, 22_000), Format::Csv),
        lab("lab-refused-envoy", 2, (20_000, 23_000), Format::Envoy),
        lab("lab-refused-caddy", 3, (10_000, 14_000), Format::Caddy),
        lab("lab-refused-haproxy", 4, (20_000, 25_000), Format::HaProxy),
        log("refused-alb", of(5, six(DelayJitter::Full)), Format::Alb),
        log("refused-equal-jsonl", of(6, six(DelayJitter::Equal)), Format::JsonLines),
        log("refused-lockstep-combined", of(7, six(DelayJitter::None)), Format::Combined),
    ]
}

fn hung() -> Vec<CorpusLog> {
    let of = |seed, timeout, until| World {
        callers: Callers { timeout, ..FULL },
        ..world(seed, 200, FaultKind::Silence, (30, until))
    };
    vec![
        log("silent-envoy-text", of(8, SECOND, 35), Format::EnvoyText),
        log("silent-haproxy", of(9, 2 * SECOND, 50), Format::HaProxy),
        log("silent-csv", of(10, 500_000, 40), Format::Csv),
    ]
}

fn partial() -> Vec<CorpusLog> {
    let of = |seed, share, usual| World {
        usual,
        until: 150 * SECOND,
        ..world(seed, 200, FaultKind::Failing(share), (50, 110))
    };
    let slow = |seed, times| World {
        callers: Callers { timeout: 5 * SECOND, ..FULL },
        ..world(seed, 200, FaultKind::Slow(times), (30, 50))
    };
    vec![
        log("partial-fifth-jsonl", of(11, 200, 0), Format::JsonLines),
        log("partial-third-envoy", of(12, 330, 10), Format::Envoy),
        log("partial-half-alb", of(13, 500, 10), Format::Alb),
        log("slow-five-csv", slow(14, 5), Format::Csv),
        log("slow-twenty-envoy-text", slow(15, 20), Format::EnvoyText),
    ]
}

fn metastable() -> Vec<CorpusLog> {
    let of = |seed, rate| World { backend: TEN, ..world(seed, rate, FaultKind::Stall, (30, 35)) };
    let stated = |name, world, format| CorpusLog {
        stated: true,
        capacity: Some(10),
        ..log(name, world, format)
    };
    let capacity = |name, world| CorpusLog { capacity: Some(10), ..log(name, world, Format::Csv) };
    vec![
        stated("metastable-stated-csv", of(16, 700), Format::Csv),
        stated("metastable-stated-envoy", of(17, 600), Format::Envoy),
        stated("metastable-stated-haproxy", of(18, 800), Format::HaProxy),
        capacity("metastable-capacity-csv", of(19, 700)),
        log("metastable-bare-jsonl", of(20, 700), Format::JsonLines),
    ]
}

/// A stall whose queue is worked off: the log's outage is longer than the fault.
fn drained() -> Vec<CorpusLog> {
    let callers = Callers { attempts: 2, timeout: 2 * SECOND, ..FULL };
    let of = |seed, rate| World {
        backend: TEN,
        callers,
        ..world(seed, rate, FaultKind::Stall, (30, 40))
    };
    let capacity =
        |name, world, format| CorpusLog { capacity: Some(10), ..log(name, world, format) };
    vec![
        capacity("drained-capacity-csv", of(21, 300), Format::Csv),
        capacity("drained-capacity-caddy", of(22, 200), Format::Caddy),
    ]
}

fn callers() -> Vec<CorpusLog> {
    let never = Callers { attempts: 1, pairs: Some(50), ..FULL };
    let of = |seed| World { callers: never, ..world(seed, 200, FaultKind::Refuse, (30, 45)) };
    let none =
        |name, world, format| CorpusLog { retries: RetryRule::None, ..log(name, world, format) };
    vec![
        none("nat-retries-none-combined", of(23), Format::Combined),
        none("nat-retries-none-uwsgi", of(24), Format::Uwsgi),
        log("nat-guessed-alb", of(25), Format::Alb),
    ]
}

fn healthy() -> Vec<CorpusLog> {
    let of =
        |seed, usual| World { fault: None, usual, ..world(seed, 200, FaultKind::Refuse, (0, 1)) };
    vec![
        log("healthy-csv", of(26, 0), Format::Csv),
        log("healthy-usual-failures-w3c", of(27, 20), Format::W3c),
    ]
}

fn damaged() -> Vec<CorpusLog> {
    let of = |seed| world(seed, 200, FaultKind::Refuse, (30, 45));
    let damaged = |name, seed, format, damage| CorpusLog { damage, ..log(name, of(seed), format) };
    vec![
        damaged("two-nodes-jsonl", 28, Format::JsonLines, Damage::TwoNodes),
        damaged("two-files-combined", 29, Format::Combined, Damage::TwoFiles),
        damaged("hole-csv", 30, Format::Csv, Damage::Hole(60_000, 80_000)),
    ]
}
