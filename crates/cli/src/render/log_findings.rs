//! The findings in a log for programs: outages with their edges, retries, the self-check and the verdict.

use serde::Serialize;
use stagger_core::{Ratio, Span};
use stagger_replay::{
    AccessLog, InferredOutage, ObservedRetries, OutageKind, Replay, ReplayOptions, SelfCheck,
};
use stagger_text::rounded;

/// The findings of a log, and their limits.
#[derive(Debug, Serialize)]
pub(crate) struct LogFindings {
    format: String,
    lines: u64,
    malformed: u64,
    /// Lines that came more than 5 s after a later one.
    late: u64,
    /// Whether the attempts were sorted by time.
    sorted: bool,
    /// Attempts outside of `--from` and `--until`.
    left_out: u64,
    replayed_from: String,
    replayed_until: String,
    outages: Vec<FoundOutage>,
    /// The evidence for retries: `number`, `id`, `guess` or `none`.
    retries_told_by: &'static str,
    /// The share of served requests outside of outages that look retried by chance.
    chance_match: Option<f64>,
    retry_law: Option<RetryLaw>,
    self_check: CheckedFigures,
    no_retry_success_least: f64,
    no_retry_success_most: f64,
    /// `given`, `none`, or `no-outage`.
    verdict: &'static str,
    /// The reason why no verdict is possible.
    reason: Option<String>,
    doubts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FoundOutage {
    from: String,
    until: String,
    lasts_s: f64,
    kind: &'static str,
    /// The failing share, or the factor of a slow stretch.
    value: Option<f64>,
    attempts: u32,
    failed: u32,
    /// The possible error of its edges.
    edge_s: f64,
    /// Whether it went on at the end of the log.
    open: bool,
    stated: bool,
}

#[derive(Debug, Serialize)]
struct RetryLaw {
    attempts: u32,
    /// The share of failures that were followed by a retry.
    followed: f64,
    base_s: Option<f64>,
    growth: Option<f64>,
    longest_s: Option<f64>,
    jitter: Option<String>,
}

/// The observed callers in the model beside the log.
#[derive(Debug, Serialize)]
struct CheckedFigures {
    success_model: f64,
    success_log: f64,
    attempts_model: f64,
    attempts_log: f64,
    peak_rps_model: f64,
    peak_rps_log: f64,
    met: bool,
}

impl LogFindings {
    /// The findings of a replay; `known` are the faults that were stated.
    pub(crate) fn of(log: &AccessLog, replay: &Replay, known: &ReplayOptions) -> Self {
        let stated = log.clone().with_outages(&known.outages);
        let outages = if known.outages.is_empty() { log.outages() } else { stated.outages() };
        let (least, most) = replay.verdict.no_retry_success;
        Self {
            format: log.format.to_string(),
            lines: log.lines,
            malformed: log.malformed,
            late: log.late,
            sorted: log.sorted,
            left_out: log.left_out,
            replayed_from: replay.stretch.0.to_string(),
            replayed_until: replay.stretch.1.to_string(),
            outages: outages.iter().map(|outage| FoundOutage::of(log, outage)).collect(),
            retries_told_by: told_by(log),
            chance_match: log.chance_match.map(share),
            retry_law: log.retries.as_ref().map(RetryLaw::of),
            self_check: CheckedFigures::of(&replay.verdict.self_check),
            no_retry_success_least: rounded(least),
            no_retry_success_most: rounded(most),
            verdict: match &replay.verdict.none_because {
                Some(_) => "none",
                None if outages.is_empty() => "no-outage",
                None => "given",
            },
            reason: replay.verdict.none_because.clone(),
            doubts: replay.doubts.clone(),
        }
    }

    /// The texts of the columns that CSV has for a log, by their names.
    pub(super) fn columns(&self) -> [(&'static str, String); 4] {
        let outage = |outage: &FoundOutage| {
            let FoundOutage { from, lasts_s, kind, edge_s, .. } = outage;
            format!("{from}+{lasts_s}s:{kind} edge {edge_s}s")
        };
        let outages: Vec<String> = self.outages.iter().map(outage).collect();
        [
            ("outages", outages.join("; ")),
            ("verdict", self.verdict.to_owned()),
            ("reason", self.reason.clone().unwrap_or_default()),
            ("doubts", self.doubts.join(" ")),
        ]
    }
}

impl FoundOutage {
    fn of(log: &AccessLog, outage: &InferredOutage) -> Self {
        let (kind, value) = match outage.kind {
            OutageKind::Refused => ("refused", None),
            OutageKind::Hung => ("hung", None),
            OutageKind::Failing(part) => ("failing", Some(share(part))),
            OutageKind::Slow(times) => ("slow", Some(share(times))),
            OutageKind::Silent => ("silent", None),
        };
        Self {
            from: log.wall(outage.from).to_string(),
            until: log.wall(outage.until).to_string(),
            lasts_s: seconds(outage.length()),
            kind,
            value,
            attempts: outage.attempts,
            failed: outage.failed,
            edge_s: seconds(outage.edge),
            open: outage.open,
            stated: outage.stated,
        }
    }
}

impl RetryLaw {
    fn of(retries: &ObservedRetries) -> Self {
        let delays = retries.delays;
        Self {
            attempts: retries.attempts,
            followed: rounded(retries.followed),
            base_s: delays.map(|delays| seconds(delays.base)),
            growth: delays.map(|delays| rounded(delays.growth)),
            longest_s: delays.map(|delays| seconds(delays.longest)),
            jitter: delays.map(|delays| delays.jitter.to_string()),
        }
    }
}

impl CheckedFigures {
    fn of(check: &SelfCheck) -> Self {
        Self {
            success_model: rounded(check.success.0),
            success_log: rounded(check.success.1),
            attempts_model: rounded(check.attempts.0),
            attempts_log: rounded(check.attempts.1),
            peak_rps_model: rounded(check.peak.0),
            peak_rps_log: rounded(check.peak.1),
            met: check.is_met(),
        }
    }
}

fn told_by(log: &AccessLog) -> &'static str {
    let evidence = &log.evidence;
    let all = [
        (evidence.number, "number"),
        (evidence.id, "id"),
        (evidence.guess, "guess"),
        (evidence.nothing, "none"),
    ];
    // The first of equal ones counts, as in the words of the report.
    all.into_iter().rev().max_by_key(|(count, _)| *count).map_or("none", |(_, word)| word)
}

fn share(ratio: Ratio) -> f64 {
    rounded(ratio.as_f64())
}

fn seconds(span: Span) -> f64 {
    rounded(span.as_secs_f64())
}
