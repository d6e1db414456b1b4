//! A report together with the scenario that it came from.

use stagger_core::{Instant, Span};
use stagger_sim::{
    BUCKET, CaseReport, EntryReport, MeasurementPlan, Play, Scenario, StormReport, Stretch,
};

/// A report and its scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storm<'a> {
    scenario: &'a Scenario,
    pub(super) report: &'a StormReport,
}

/// The stretch of a picture after an outage, in lengths of the outage.
const AFTER: u64 = 5;
/// But for this long at least.
const LEAST_AFTER: Span = Span::from_secs(3);
/// The stretch of a picture before an outage.
const BEFORE: Span = Span::from_millis(500);
/// The share of a row's attempts that the picture must hold; single stragglers are left out.
const SHOWN: f64 = 0.995;

impl<'a> Storm<'a> {
    pub(crate) const fn new(scenario: &'a Scenario, report: &'a StormReport) -> Self {
        Self { scenario, report }
    }

    /// All rows with their cases.
    pub(super) fn rows(self) -> impl Iterator<Item = (&'a CaseReport, &'a EntryReport)> {
        self.report.cases.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row)))
    }

    /// Calls of the largest run, on average.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub(super) fn clients(self) -> u64 {
        // OK because calls are counted in whole numbers below 2^53, and a mean of them is no larger.
        self.rows().map(|(_, row)| row.calls).fold(0.0, f64::max).round() as u64
    }

    /// Whether the scenario looks for retries before something in particular.
    pub(super) fn looks_before(self) -> bool {
        self.watches().any(|watch| watch.retries_in != Stretch::ALWAYS)
    }

    /// The watches of the scenario's entries.
    pub(super) fn watches(self) -> impl Iterator<Item = &'a MeasurementPlan> {
        let entries = self.scenario.cases.iter().flat_map(|case| &case.entries);
        entries.filter_map(|entry| match &entry.play {
            Play::Run(plan) => Some(&plan.watch),
            Play::Contention(_) => None,
        })
    }

    /// The buckets that the picture of one case shows: from some time before the first outage until
    /// some time after the last, and earlier if nothing more comes.
    pub(super) fn picture(self, case: &CaseReport) -> (usize, usize) {
        let bucket = |at: Instant| {
            // OK because what does not fit is later than all buckets.
            usize::try_from(at.as_nanos() / BUCKET.as_nanos()).unwrap_or(usize::MAX)
        };
        let from = case.outages.iter().map(|&(from, _)| from).min().unwrap_or(Instant::ORIGIN);
        let from = Instant::from_nanos(from.as_nanos().saturating_sub(BEFORE.as_nanos()));
        let end = |&(from, until): &(Instant, Instant)| {
            until + (until - from).saturating_mul(AFTER).max(LEAST_AFTER)
        };
        let until = case.outages.iter().map(end).max().unwrap_or(Instant::FAR);
        let (from, until) = (bucket(from), bucket(until));
        (from, until.min(busy_until(case)).max(from.saturating_add(1)))
    }
}

/// The bucket by which every row of this case has made nearly all its attempts.
fn busy_until(case: &CaseReport) -> usize {
    let by = |row: &EntryReport| {
        let all: f64 = row.series.offered.iter().sum();
        let mut sum = 0.0;
        let done = row.series.offered.iter().position(|count| {
            sum += count;
            sum >= SHOWN * all
        });
        done.map_or(0, |bucket| bucket + 1)
    };
    case.rows.iter().map(by).max().unwrap_or(0)
}
