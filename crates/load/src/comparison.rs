//! The measured run beside the model.

use stagger_core::Span;
use stagger_sim::{BUCKET, Played, RecoveryState};

use crate::forecast::LoadForecast;
use crate::gauge::LoadMeasurement;

/// The figures of a run that can be seen from outside of the server.
///
/// ```
/// use stagger_load::LoadFigures;
/// use stagger_sim::Played;
/// let figures = LoadFigures::of(&Played { calls: 4, succeeded: 3, ..Played::default() });
/// assert_eq!((figures.success, figures.attempts_a_call), (Some(0.75), Some(0.0)));
/// assert_eq!(LoadFigures::of(&Played::default()).success, None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LoadFigures {
    /// Calls.
    pub calls: u64,
    /// Attempts, first ones included.
    pub attempts: u64,
    /// The peak of attempts by buckets of 50 ms, in attempts a second.
    pub peak: f64,
    /// Attempts a call; `None` without a call.
    pub attempts_a_call: Option<f64>,
    /// The share of calls that succeeded, from 0 to 1; `None` without a call.
    pub success: Option<f64>,
    /// The median latency of the calls that succeeded.
    pub p50: Option<Span>,
    /// The latency that 99 % of them did not exceed.
    pub p99: Option<Span>,
    /// The verdict on recovery, by the rule of the scenario.
    pub recovery: RecoveryState,
}

impl LoadFigures {
    /// The figures of these counts.
    #[must_use]
    pub fn of(played: &Played) -> Self {
        let attempts = played.attempts.total.saturating_sub(played.bystanding);
        let buckets = Span::from_secs(1).as_nanos() / BUCKET.as_nanos();
        Self {
            calls: played.calls,
            attempts,
            peak: float(played.attempts.peak.saturating_mul(buckets)),
            attempts_a_call: share(attempts, played.calls),
            success: share(played.succeeded, played.calls),
            p50: played.latency.quantile(0.5),
            p99: played.latency.quantile(0.99),
            recovery: played.recovery,
        }
    }
}

/// A measured run beside the lab's, with deviations as shares of the model's figures: 0.1 is ten per cent more.
#[derive(Clone, Debug)]
pub struct LoadComparison {
    /// The name of the row.
    pub name: String,
    /// The figures of the lab.
    pub model: LoadFigures,
    /// The figures over sockets.
    pub measured: LoadFigures,
    /// The facts of the measured run.
    pub run: LoadMeasurement,
}

impl LoadComparison {
    /// The comparison of one row.
    #[must_use]
    pub fn of(forecast: &LoadForecast, run: &LoadMeasurement) -> Self {
        Self {
            name: forecast.name.clone(),
            model: LoadFigures::of(&forecast.played),
            measured: LoadFigures::of(&run.played),
            run: run.clone(),
        }
    }

    /// The deviation of one figure; `None` where the model has none or it is zero.
    #[must_use]
    pub fn deviation(&self, figure: impl Fn(&LoadFigures) -> Option<f64>) -> Option<f64> {
        let (model, measured) = (figure(&self.model)?, figure(&self.measured)?);
        (model != 0.0).then(|| (measured - model) / model)
    }

    /// The deviation of the peak.
    #[must_use]
    pub fn peak_deviation(&self) -> Option<f64> {
        self.deviation(|figures| Some(figures.peak))
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run stay far below 2^53")]
const fn float(count: u64) -> f64 {
    // OK because a run has at most millions of attempts.
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_from_nothing_was_a_number() {
        let figures = |peak, success| LoadFigures {
            peak,
            success,
            ..LoadFigures::of(&Played { calls: 2, succeeded: 1, ..Played::default() })
        };
        let forecast = |played| LoadForecast {
            name: "full".to_owned(),
            played,
            busiest_second: 0,
            most_in_flight: 0,
        };
        let run = LoadMeasurement {
            played: Played::default(),
            answers: crate::AnswerCounts::default(),
            latest_start: Span::ZERO,
            unfinished: 0,
            end: crate::RunEnd::Complete,
        };
        let compared = LoadComparison::of(&forecast(Played::default()), &run);
        assert_eq!(compared.peak_deviation(), None);
        let compared = LoadComparison {
            model: figures(400.0, Some(0.5)),
            measured: figures(300.0, None),
            ..compared
        };
        assert_eq!(compared.peak_deviation(), Some(-0.25));
        assert_eq!(compared.deviation(|figures| figures.success), None);
    }
}
