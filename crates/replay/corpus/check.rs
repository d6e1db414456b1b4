//! One log of the corpus: its truth, and how far the replay of it is off.

use std::io;
use std::io::{BufRead, Cursor};

use serde::Serialize;
use stagger_core::{Instant, Span};
use stagger_replay::{
    AccessLog, InferredOutage, LogInput, OutageKind, Reading, Replay, ReplayOptions, Stamp,
};
use stagger_sim::{
    ArrivalProcess, Fault, Law, RunPlan, Schedule, Simulation, StormOptions, ThreadPool, Trouble,
};

use super::logs::{CorpusLog, Damage, LogSource};
use super::print::Written;
use super::{print, world};

/// 2023-11-14T22:13:20Z, in milliseconds.
const BEGAN: u64 = 1_700_000_000_000;
/// The answer about success without retries may be off by this.
pub(crate) const TOLERANCE: f64 = 0.05;

/// One log: how far the replay is off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CorpusRow {
    pub(crate) log: &'static str,
    /// The inferred start of the outage less the fault's; null without a fault, or without an outage.
    pub(crate) start_error_s: Option<f64>,
    pub(crate) end_error_s: Option<f64>,
    /// Attempts a call, less those that were made.
    pub(crate) attempts_error: f64,
    /// The share of calls served without retries, less that of the world without retries.
    pub(crate) no_retry_success_error: f64,
    /// `given` or `none`.
    pub(crate) verdict: &'static str,
    /// The reason why none is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Whether the verdict is within the tolerance, or none is given.
    pub(crate) within: bool,
}

/// The truth behind a log, in milliseconds.
struct Truth {
    lines: Vec<Written>,
    fault: Option<(u64, u64)>,
    /// Calls by their arrival, and whether they would have been served without retries.
    calls: Vec<(u64, bool)>,
}

impl CorpusLog {
    /// The answers of the replay, beside the truth.
    pub(crate) fn check(&self) -> CorpusRow {
        let truth = self.truth();
        let files = self.files(&truth.lines);
        let log = self.read(&files);
        let known = ReplayOptions { capacity: self.capacity, outages: self.stated(&truth) };
        let options =
            StormOptions { laws: vec![Law::NoRetry], runs: Some(1), ..StormOptions::default() };
        let replay = Replay::with(&log, &options, &known).expect("the options fit the log");
        let report = replay.run(&ThreadPool::single());
        let [observed, no_retry] = &report.cases[0].rows[..] else { panic!("two rows") };
        let (start, end) = match known.outages.as_slice() {
            [] => truth.edges(&log),
            stated => truth.edges(&log.clone().with_outages(stated)),
        };
        let error = no_retry.success - truth.success(replay.stretch);
        let has_verdict = replay.verdict.none_because.is_none();
        CorpusRow {
            log: self.name,
            start_error_s: start,
            end_error_s: end,
            attempts_error: rounded(observed.amplification - truth.attempts(replay.stretch)),
            no_retry_success_error: rounded(error),
            verdict: if has_verdict { "given" } else { "none" },
            reason: replay.verdict.none_because,
            within: !has_verdict || error.abs() <= TOLERANCE,
        }
    }

    fn truth(&self) -> Truth {
        match &self.source {
            LogSource::World(world) => of_world(world, self.damage),
            LogSource::Lab { seed, fault } => of_lab(*seed, *fault),
        }
    }

    /// The texts of the files.
    fn files(&self, lines: &[Written]) -> Vec<String> {
        let (even, odd): (Vec<_>, Vec<_>) =
            lines.iter().cloned().partition(|line| line.caller % 2 == 0);
        let text = |lines: &[Written]| print::log(self.format, lines);
        match self.damage {
            Damage::TwoNodes => vec![text(&[even, odd].concat())],
            Damage::TwoFiles => vec![text(&even), text(&odd)],
            Damage::Hole(..) | Damage::None => vec![text(lines)],
        }
    }

    fn read(&self, files: &[String]) -> AccessLog {
        let input = |(number, text): (usize, &'_ String)| {
            let text = text.clone();
            let open =
                move || -> io::Result<Box<dyn BufRead>> { Ok(Box::new(Cursor::new(text.clone()))) };
            LogInput { name: format!("{}-{number}", self.name), open: Box::new(open) }
        };
        let inputs: Vec<LogInput<'_>> = files.iter().enumerate().map(input).collect();
        let reading = Reading { retries: self.retries, ..Reading::default() };
        reading.read_files(&inputs).unwrap_or_else(|why| panic!("{}: {why}", self.name))
    }

    fn stated(&self, truth: &Truth) -> Vec<stagger_replay::StatedOutage> {
        let stated = truth.fault.filter(|_| self.stated).map(|(from, until)| {
            let seconds = (BEGAN + from) / 1_000;
            format!("{seconds}+{}ms:hung", until - from).parse().expect("an outage")
        });
        stated.into_iter().collect()
    }
}

fn of_world(world: &world::World, damage: Damage) -> Truth {
    let played = world.play();
    let hole = if let Damage::Hole(from, until) = damage { from..until } else { 0..0 };
    let written = |attempt: &world::Attempt| Written {
        began: BEGAN + attempt.began / 1_000,
        took: attempt.took / 1_000,
        status: attempt.status,
        caller: world.pair(attempt.call),
    };
    let lines = played.attempts.iter().map(written);
    let is_written = |line: &Written| !hole.contains(&(line.began - BEGAN));
    let calls = world.without_retries().play().calls;
    let calls = calls.into_iter().map(|(at, served)| (at / 1_000, served));
    Truth {
        lines: lines.filter(is_written).collect(),
        fault: world.fault.map(|fault| (fault.from / 1_000, fault.until / 1_000)),
        calls: calls.filter(|(at, _)| !hole.contains(at)).collect(),
    }
}

fn of_lab(seed: u64, (from, until): (u64, u64)) -> Truth {
    let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
    let played = |law: Law| {
        let caller = law.caller(&Schedule::default()).expect("a valid schedule");
        let mut plan = RunPlan::new(ArrivalProcess::poisson(200, at(45_000)), caller);
        plan.faults.push(Fault::new(Trouble::Refuse, at(from), at(until)));
        let played = Simulation::new().play(&plan, seed);
        let attempts: Vec<(u32, u64)> =
            played.strip.attempts().map(|(call, at)| (call, at.as_nanos() / 1_000_000)).collect();
        assert_eq!(attempts.len() as u64, played.attempts.total, "nothing was thinned");
        attempts
    };
    let is_down = |ms: &u64| (from..until).contains(ms);
    let line = |(caller, ms): (u32, u64)| {
        let status = if is_down(&ms) { 503 } else { 200 };
        Written { began: BEGAN + ms, took: 0, status, caller }
    };
    Truth {
        lines: played(Law::Full).into_iter().map(line).collect(),
        fault: Some((from, until)),
        calls: played(Law::NoRetry).into_iter().map(|(_, ms)| (ms, !is_down(&ms))).collect(),
    }
}

impl Truth {
    /// The errors of the edges of the inferred outages.
    fn edges(&self, log: &AccessLog) -> (Option<f64>, Option<f64>) {
        let Some((from, until)) = self.fault else { return (None, None) };
        let seconds = |at: Instant, ms: u64| {
            let at = log.wall(at).since_epoch.as_secs_f64();
            rounded(at - Span::from_millis(BEGAN + ms).as_secs_f64())
        };
        let seen = |outage: &&InferredOutage| outage.kind != OutageKind::Silent;
        let first = log.outages().iter().find(seen);
        let last = log.outages().iter().rfind(seen);
        (first.map(|it| seconds(it.from, from)), last.map(|it| seconds(it.until, until)))
    }

    /// The share of calls of a stretch that are served without retries.
    fn success(&self, stretch: (Stamp, Stamp)) -> f64 {
        let calls: Vec<bool> =
            self.calls.iter().filter(|(at, _)| is_in(*at, stretch)).map(|call| call.1).collect();
        share(calls.iter().filter(|&&served| served).count(), calls.len())
    }

    /// Attempts a call in a stretch.
    fn attempts(&self, stretch: (Stamp, Stamp)) -> f64 {
        let attempts = self.lines.iter().filter(|line| is_in(line.began - BEGAN, stretch));
        let calls = self.calls.iter().filter(|(at, _)| is_in(*at, stretch));
        share(attempts.count(), calls.count())
    }
}

fn is_in(ms: u64, (from, until): (Stamp, Stamp)) -> bool {
    (from.since_epoch..until.since_epoch).contains(&Span::from_millis(BEGAN + ms))
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 calls")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// With four decimals.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
