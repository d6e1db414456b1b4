//! Synchrony: whether attempts come in peaks that chance does not make.

use stagger_core::Span;

/// Peaks of arrivals against a Poisson process, in bins of 50 ms of the window.
///
/// Each second is compared with its own mean, so that a load that grows or falls makes no peaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synchrony {
    /// The variance of the bins over their mean: 1 in a Poisson process.
    pub dispersion: f64,
    /// The dispersion that a Poisson process exceeds in one window of a million: the quantile of
    /// chi-square over its degrees of freedom.
    pub threshold: f64,
    /// The largest bin over the mean bin.
    pub peak: f64,
}

impl Synchrony {
    /// Whether attempts come together.
    #[must_use]
    pub fn is_synchronous(&self) -> bool {
        self.dispersion > self.threshold
    }
}

/// Bins in a second, of 50 ms: those of the lab.
const IN_A_SECOND: u64 = 20;
/// The width of a bin.
const BIN: Span = Span::from_millis(50);
/// The bins that are kept: the longest window and some seconds for attempts that took longer.
const KEPT: usize = 128 * 20;
/// Arrivals that a second must have: a mean of two a bin, where chi-square holds well enough.
const LEAST: f64 = 40.0;
/// The quantile of the normal distribution that one in a million exceeds.
const Z: f64 = 4.753_42;

/// Counts of arrivals by the time at which attempts began.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalBins {
    /// The number of a bin since the epoch, and its count.
    bins: Vec<(u64, u32)>,
    /// Arrivals of the last seconds whose stamps are too coarse, and all of them.
    coarse: f64,
    all: f64,
}

impl Default for ArrivalBins {
    fn default() -> Self {
        Self { bins: vec![(u64::MAX, 0); KEPT], coarse: 0.0, all: 0.0 }
    }
}

impl ArrivalBins {
    /// Counts an attempt that began at this time, by stamps that are `grain` apart.
    pub(crate) fn note(&mut self, began: Span, grain: Span) {
        self.all += 1.0;
        if grain > BIN {
            self.coarse += 1.0;
            return;
        }
        let number = began.as_nanos() / BIN.as_nanos();
        let bin = &mut self.bins[place(number)];
        // A bin of another round is of the past; lines that are later still do not bring it back.
        if bin.0 == u64::MAX || bin.0 < number {
            *bin = (number, 0);
        }
        if bin.0 == number {
            bin.1 = bin.1.saturating_add(1);
        }
    }

    /// A second has passed.
    pub(crate) fn fade(&mut self) {
        (self.coarse, self.all) = (self.coarse * 0.9, self.all * 0.9);
    }

    /// The dispersion in so many whole seconds before `now`; `None` where stamps are too coarse or
    /// arrivals too few.
    pub(crate) fn measure(&self, now: Span, seconds: u32) -> Option<Synchrony> {
        if 2.0 * self.coarse > self.all {
            return None;
        }
        let end = now.as_nanos() / BIN.as_nanos();
        let second = |back: u64| {
            let from = end.checked_sub(IN_A_SECOND * (back + 1))?;
            let counts: Vec<f64> = (from..from + IN_A_SECOND).map(|n| self.count(n)).collect();
            (counts.iter().sum::<f64>() >= LEAST).then_some(counts)
        };
        let seconds: Vec<_> = (0..u64::from(seconds)).filter_map(second).collect();
        let (mut squares, mut freedom, mut most, mut sum) = (0.0, 0.0, 0.0_f64, 0.0);
        for counts in &seconds {
            let total: f64 = counts.iter().sum();
            let mean = total / 20.0;
            squares += counts.iter().map(|count| (count - mean).powi(2) / mean).sum::<f64>();
            freedom += 19.0;
            sum += total;
            most = counts.iter().copied().fold(most, f64::max);
        }
        if seconds.is_empty() {
            return None;
        }
        let mean = sum * 19.0 / (20.0 * freedom);
        Some(Synchrony {
            dispersion: squares / freedom,
            threshold: chi_square(freedom, Z) / freedom,
            peak: most / mean,
        })
    }

    fn count(&self, number: u64) -> f64 {
        let (own, count) = self.bins[place(number)];
        if own == number { f64::from(count) } else { 0.0 }
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number % KEPT as u64).unwrap_or(0)
}

/// The quantile of chi-square with so many degrees of freedom at the normal quantile `z`, by the
/// cube of Wilson and Hilferty (1931).
fn chi_square(freedom: f64, z: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + z * spread.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of chi-square: 0.999 with 19 and 100 degrees of freedom.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        assert!((chi_square(19.0, 3.090_232) - 43.820).abs() < 0.2);
        assert!((chi_square(100.0, 3.090_232) - 149.449).abs() < 0.2);
    }

    fn measured(at: impl IntoIterator<Item = u64>) -> Option<Synchrony> {
        let mut bins = ArrivalBins::default();
        at.into_iter().for_each(|ms| bins.note(Span::from_millis(ms), Span::from_millis(1)));
        bins.measure(Span::from_secs(105), 5)
    }

    #[test]
    fn even_arrivals_are_below_poisson_and_those_of_one_instant_far_above() {
        let even = measured((100_000..105_000).step_by(5)).unwrap();
        assert!(even.dispersion < 0.1 && !even.is_synchronous(), "{even:?}");
        let waves = measured((0..1_000).map(|n| 100_000 + n % 5 * 1_000)).unwrap();
        assert!(waves.is_synchronous(), "{waves:?}");
        assert!((waves.peak - 20.0).abs() < 1e-9, "{waves:?}");
    }

    #[test]
    fn a_load_that_grows_makes_no_peak() {
        let growing = (0..5).flat_map(|second| {
            let step = 20 >> second.min(3);
            (0..1_000).step_by(step).map(move |ms| 100_000 + second * 1_000 + ms)
        });
        assert!(!measured(growing).unwrap().is_synchronous());
    }

    #[test]
    fn whole_seconds_tell_nothing() {
        let mut bins = ArrivalBins::default();
        (0..1_000).for_each(|_| bins.note(Span::from_secs(100), Span::from_secs(1)));
        assert_eq!(bins.measure(Span::from_secs(101), 5), None);
    }
}
