//! The retry budget that would have held a storm.

use crate::retry_estimate::RetryEstimate;

/// A retry budget as a share of calls, beside what was seen.
///
/// A budget of ratio r lets r retries a call pass, so that the load stays below 1 + r times the calls,
/// however many attempts fail. The ratio named is the default of 10 %, or less where calls and
/// retries would exceed the most that the server was seen to serve in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetAdvice {
    /// Calls a second.
    pub calls: f64,
    /// Retries a second.
    pub retries: f64,
    /// The most attempts that were served in one second since the watch began; it fades over hours.
    pub most_served: f64,
    /// The ratio of the budget, from 0 to 0.1; `None` when calls alone exceed what was ever served by a percent,
    /// so that no budget of retries is enough.
    pub ratio: Option<f64>,
}

/// The default ratio of the engine's budgets.
const DEFAULT: f64 = 0.1;

impl BudgetAdvice {
    pub(crate) fn new(estimate: &RetryEstimate, seconds: f64, most_served: f64) -> Self {
        let calls = estimate.calls.max(0.0) / seconds;
        let room = if calls > 0.0 { most_served / calls - 1.0 } else { DEFAULT };
        // Whole percents, rounded down: the figures do not carry more, and what was served fades.
        let ratio =
            (room > -0.01).then(|| (room.clamp(0.0, DEFAULT) * 100.0 + 1e-9).floor() / 100.0);
        Self { calls, retries: estimate.retries() / seconds, most_served, ratio }
    }

    /// Retries a second that the budget lets pass; `None` without a ratio.
    #[must_use]
    pub fn allowed(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio * self.calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retry_estimate::AttemptEvidence;

    fn advice(attempts: f64, calls: f64, most_served: f64) -> BudgetAdvice {
        let evidence = AttemptEvidence::Number;
        let estimate = RetryEstimate { attempts, calls, error: 0.0, evidence };
        BudgetAdvice::new(&estimate, 5.0, most_served)
    }

    #[test]
    fn the_ratio_is_the_default_or_what_the_server_has_room_for() {
        assert_eq!(advice(15_000.0, 5_000.0, 2_000.0).ratio, Some(0.1));
        assert_eq!(advice(15_000.0, 5_000.0, 1_050.0).ratio, Some(0.05));
        assert_eq!(advice(15_000.0, 5_000.0, 999.9).ratio, Some(0.0));
        assert_eq!(advice(15_000.0, 5_000.0, 980.0).ratio, None);
        assert_eq!(advice(15_000.0, 5_000.0, 2_000.0).allowed(), Some(100.0));
        assert!((advice(15_000.0, 5_000.0, 2_000.0).retries - 2_000.0).abs() < 1e-9);
    }
}
