//! The share of delays that sit exactly on the cap.

use stagger_core::Policy;

use crate::CapShare;
use crate::calls::MAX_ROWS;
use crate::delay::delays;

/// The share over the retries of a call that fails throughout; over the first 63, if there are more.
#[must_use]
pub(crate) fn cap_share(policy: &Policy) -> CapShare {
    // OK because MAX_ROWS is small.
    let most = u32::try_from(MAX_ROWS).unwrap_or(u32::MAX) - 1;
    let retries = policy.limits().max_attempts().map_or(most, |n| (n - 1).min(most));
    let (delays, _) = delays(policy.backoff(), retries);
    let all: f64 = delays.iter().map(|delay| delay.on_cap).sum();
    CapShare {
        of_all: all / f64::from(retries.max(1)),
        of_last: delays.last().map_or(0.0, |delay| delay.on_cap),
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::{Backoff, ConfigError, Jitter, Span};

    use super::*;

    #[test]
    fn three_of_four_fixed_delays_sit_on_the_cap() -> Result<(), ConfigError> {
        let fixed = Backoff::exponential(Span::from_secs(1), Span::from_secs(2))?
            .with_jitter(Jitter::None)?;
        let policy = Policy::builder().backoff(fixed).max_attempts(5).build()?;
        assert_eq!(cap_share(&policy).of_all, 0.75, "1, 2, 2 and 2 s");
        assert!(cap_share(&Policy::default()).of_all < 0.001);
        Ok(())
    }
}
