//! A report together with the scenario that it came from, and the stretch of it that is drawn.

use stagger_core::{Instant, Span};
use stagger_sim::{
    BUCKET, CaseReport, EntryReport, MeasurementPlan, Play, Scenario, StormReport, Stretch,
};

use super::log_findings::LogFindings;

/// A report and its scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storm<'a> {
    scenario: &'a Scenario,
    pub(super) report: &'a StormReport,
    /// The findings of the log, if the scenario comes from one.
    pub(super) log: Option<&'a LogFindings>,
    /// Whether the table is read out below it: scenario files have no lesson of their own.
    pub(super) read_out: bool,
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
        Self { scenario, report, log: None, read_out: false }
    }

    /// The same, with what the log shows.
    pub(crate) const fn of_log(self, log: &'a LogFindings) -> Self {
        Self { log: Some(log), ..self }
    }

    /// The same, with its table read out in words below it.
    pub(crate) const fn reading_out(self, read_out: bool) -> Self {
        Self { read_out, ..self }
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

/// The buckets that the picture of one case shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrivalsWindow {
    from: usize,
    until: usize,
    per_bar: usize,
}

impl ArrivalsWindow {
    pub(super) fn of(storm: Storm<'_>, case: &CaseReport, bars: usize) -> Self {
        let (from, until) = storm.picture(case);
        Self { from, until, per_bar: (until - from).div_ceil(bars) }
    }

    /// The start of the first bar.
    pub(super) fn start(&self) -> Span {
        BUCKET.saturating_mul(self.from as u64)
    }

    /// The span of one bar.
    pub(super) fn bar(&self) -> Span {
        BUCKET.saturating_mul(self.per_bar as u64)
    }

    /// Arrivals of one row; all rows of one case share one scale and one axis.
    ///
    /// The first bar is cut off at the height of the fullest later one if all rows begin alike, with
    /// the first attempts of all callers: the rows differ in the later ones.
    pub(super) fn picture(&self, case: &CaseReport, row: &EntryReport) -> String {
        let cut = usize::from(self.from == 0 && begins_alike(case));
        let bars = case.rows.iter().flat_map(|row| self.bars(row).into_iter().skip(cut));
        let full = bars.fold(0.0, f64::max);
        sparkline(&self.bars(row), full)
    }

    fn bars(&self, row: &EntryReport) -> Vec<f64> {
        let arrivals = &row.series.offered;
        let until = self.until.min(arrivals.len());
        merged(arrivals.get(self.from..until).unwrap_or(&[]), self.per_bar)
    }
}

/// Whether the first bucket is the same for all.
fn begins_alike(case: &CaseReport) -> bool {
    let firsts = |row: &EntryReport| row.series.offered.first().map(|count| count.to_bits());
    let mut firsts = case.rows.iter().map(firsts);
    let first = firsts.next();
    firsts.all(|other| Some(other) == first)
}

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bars for `values` against the height `full`; what is above nothing gets at least the lowest bar.
pub(crate) fn sparkline(values: &[f64], full: f64) -> String {
    let bars = values.iter().map(|&value| BARS[height(value, full)]);
    bars.collect::<String>().trim_end().to_owned()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates at 0..=8")]
fn height(value: f64, full: f64) -> usize {
    if value <= 0.0 || full <= 0.0 {
        return 0;
    }
    // OK because a cast from float to integer saturates, and the result is clamped.
    ((value / full * 8.0).round() as usize).clamp(1, 8)
}

/// Buckets merged to at most `width` bars, each the fullest of `per_bar` buckets.
pub(crate) fn merged(buckets: &[f64], per_bar: usize) -> Vec<f64> {
    buckets.chunks(per_bar.max(1)).map(|part| part.iter().copied().fold(0.0, f64::max)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_still_seen_and_nothing_is_not() {
        assert_eq!(sparkline(&[1000.0, 0.0, 0.1, 500.0], 1000.0), "█ ▁▄");
        assert_eq!(sparkline(&[0.0, 0.0], 0.0), "");
    }

    #[test]
    fn merging_keeps_the_peak() {
        assert_eq!(merged(&[1.0, 5.0, 2.0], 2), [5.0, 2.0]);
    }
}
