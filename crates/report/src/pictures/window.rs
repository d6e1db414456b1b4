//! The parts that all pictures share: the stretch of time, the quantity that differs between cases, and the caption.

use stagger_sim::{BUCKET, CaseReport, EntryReport, StormReport};

use crate::chart::Axis;
use crate::numbers::secs;
use crate::style::NO_RETRY;

/// Buckets from `first` on, `per_bar` of them merged into each bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BarWindow {
    first: usize,
    end: usize,
    pub(super) per_bar: usize,
}

/// The share of its attempts by which an entry is called done; stragglers would squeeze the rest.
const DONE: f64 = 0.98;
/// Bars in one panel: at least a point wide each.
const BARS: usize = 150;

impl BarWindow {
    /// Around the outages: some time before, and as long after as there is something to see.
    pub(super) fn of(case: &CaseReport) -> Self {
        let start = case.outages.iter().map(|(from, _)| secs(*from)).fold(f64::INFINITY, f64::min);
        let over = case.outages.iter().map(|(_, until)| secs(*until)).fold(0.0, f64::max);
        let length = if start.is_finite() { over - start } else { 0.0 };
        let from = if start.is_finite() { start - (length * 0.3).max(0.5) } else { 0.0 };
        let last = case.rows.iter().map(|row| row.series.offered.len()).max().unwrap_or(0);
        let until = match is_steady(case, over + length.max(1.0)) {
            true => over + (3.0 * length).max(3.0),
            false => (1.5 * done(case)).max(over + length.max(0.5)),
        };
        let first = bucket(from.max(0.0));
        let end = bucket(until).min(last).max(first + 1);
        Self { first, end, per_bar: (end - first).div_ceil(BARS).max(1) }
    }

    /// Both ends in seconds.
    pub(super) fn ends(&self) -> (f64, f64) {
        (start(self.first), start(self.end))
    }

    /// The beginning of each bar in seconds, and the buckets in it.
    pub(super) fn bars<'a, T>(&self, buckets: &'a [T]) -> impl Iterator<Item = (f64, &'a [T])> {
        let Self { first, end, per_bar } = *self;
        let bars = (first..end).step_by(per_bar);
        bars.map(move |from| {
            let until = (from + per_bar).min(end).min(buckets.len());
            (start(from), buckets.get(from..until).unwrap_or(&[]))
        })
    }

    /// The means of bars.
    pub(super) fn means(&self, buckets: &[f64]) -> Vec<(f64, f64)> {
        let Self { first, end, per_bar } = *self;
        // The last bar is narrower where the window ends within it.
        let widths = (first..end).step_by(per_bar).map(|from| per_bar.min(end - from));
        // OK because a bar holds at most a few hundred buckets.
        #[expect(clippy::cast_precision_loss, reason = "a few hundred buckets")]
        let mean = |bar: &[f64], width: usize| bar.iter().sum::<f64>() / width as f64;
        self.bars(buckets).zip(widths).map(|((at, bar), width)| (at, mean(bar, width))).collect()
    }
}

/// Whether callers keep coming long after the outage.
fn is_steady(case: &CaseReport, after: f64) -> bool {
    let first_attempts = case.rows.iter().find(|row| row.name == NO_RETRY);
    first_attempts.is_some_and(|row| row.series.offered.len() > bucket(after))
}

/// The instant at which half of the entries have made nearly all their attempts.
fn done(case: &CaseReport) -> f64 {
    let retrying = case.rows.iter().filter(|row| row.name != NO_RETRY);
    let mut all: Vec<f64> = retrying.map(|row| start(done_by(row))).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(1.0)
}

fn done_by(row: &EntryReport) -> usize {
    let all: f64 = row.series.offered.iter().sum();
    let mut sum = 0.0;
    let done = row.series.offered.iter().position(|count| {
        sum += count;
        sum >= DONE * all
    });
    done.map_or(0, |bucket| bucket + 1)
}

// OK because the lab keeps a few thousand buckets.
#[expect(clippy::cast_precision_loss, reason = "a few thousand buckets")]
fn start(bucket: usize) -> f64 {
    bucket as f64 * BUCKET.as_secs_f64()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn bucket(at: f64) -> usize {
    // OK because a cast from float to integer saturates; the sum keeps 0.15 / 0.05 from being 2.
    (at / BUCKET.as_secs_f64() + 1e-6) as usize
}

/// `what` is seen, as a sentence without its full stop.
pub(super) fn caption(report: &StormReport, case: Option<&CaseReport>, what: &str) -> String {
    let of_case = case.filter(|_| report.cases.len() > 1);
    let case = of_case.map(|case| format!(", {}", case.label)).unwrap_or_default();
    let settings = settings(&report.parameters, report.seed, report.runs);
    format!("{what}{case}. {settings}")
}

/// The parameters, the seed and the number of runs as one sentence.
pub(super) fn settings(parameters: &[(String, String)], seed: u64, runs: u32) -> String {
    let mut all: Vec<_> =
        parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    all.push(format!("seed {seed}"));
    all.push(if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") });
    // A sentence begins with a capital letter.
    let text = all.join(", ");
    let mut rest = text.chars();
    let first = rest.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", rest.as_str())
}

/// `outage [s]` in its two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Varied {
    pub(crate) name: String,
    pub(crate) unit: String,
}

/// From this factor between the ends on, equal factors are clearer than equal steps.
const LOG_FROM: f64 = 20.0;

impl Varied {
    /// The quantity that differs between cases, if there are two or more and they vary something.
    pub(crate) fn of(report: &StormReport) -> Option<Self> {
        let varied = report.varied.as_deref().filter(|_| report.cases.len() > 1)?;
        Some(Self::named(varied))
    }

    pub(super) fn named(text: &str) -> Self {
        let (name, unit) = match text.split_once('[') {
            Some((name, unit)) => (name.trim(), unit.trim_end_matches(']').trim()),
            None => (text.trim(), ""),
        };
        Self { name: name.to_owned(), unit: unit.to_owned() }
    }

    /// Whether the cases vary how much there is to do.
    pub(super) fn is_load(&self) -> bool {
        self.name.contains("load") || self.name.contains("rate") && self.unit == "1/s"
    }

    /// Whether they vary how often attempts fail.
    pub(crate) fn is_failures(&self) -> bool {
        self.name.to_lowercase().starts_with("fail")
    }

    /// The axis over all cases, and over these values too.
    pub(super) fn axis(&self, report: &StormReport, more: impl IntoIterator<Item = f64>) -> Axis {
        let values = report.cases.iter().map(|case| case.value).chain(more);
        let (from, to) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if from > 0.0 && to / from >= LOG_FROM {
            return Axis::log(&self.name, &self.unit, from, to);
        }
        Axis::linear(&self.name, &self.unit, from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bar_of_an_even_load_was_lower_than_the_others() {
        let window = BarWindow { first: 0, end: 7, per_bar: 3 };
        let heights = |buckets: &[f64]| -> Vec<f64> {
            window.means(buckets).into_iter().map(|(_, height)| height).collect()
        };
        assert_eq!(heights(&[5.0; 9]), [5.0; 3]);
        // Buckets that a series lacks at its end are zero.
        assert_eq!(heights(&[5.0; 4]), [5.0, 5.0 / 3.0, 0.0]);
    }

    #[test]
    fn a_unit_is_told_from_the_name() {
        let varied = Varied::named("load [1/s]");
        assert_eq!((varied.name.as_str(), varied.unit.as_str()), ("load", "1/s"));
        assert!(varied.is_load() && !varied.is_failures());
        assert!(Varied::named("failing [%]").is_failures());
        assert_eq!(Varied::named("clients").unit, "");
    }
}
