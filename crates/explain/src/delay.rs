//! The distribution of single delays: by arithmetic where the law allows it, drawn where not; and the share of delays that sit exactly on the cap.

use stagger_core::{Backoff, Policy, Span};

use crate::figure::{Chance, float, mean, quantile};
use crate::{CapShare, Method};

/// Rows of a time line: beyond them nothing new happens, and nobody reads on.
pub(crate) const MAX_ROWS: usize = 64;
/// Chains of delays that are drawn where a law grows from the delay before: an error of a third of a
/// percent at a median.
const CHAINS: u32 = 100_000;
/// The stream of these draws.
const STREAM: u64 = 1;

/// The distribution of the delay before one retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delay {
    pub(crate) ceiling: Span,
    pub(crate) shortest: Span,
    pub(crate) longest: Span,
    pub(crate) mean: Span,
    pub(crate) p50: Span,
    pub(crate) p99: Span,
    /// The share of delays that are exactly the cap.
    pub(crate) on_cap: f64,
}

/// The delays before the first so many retries.
pub(crate) fn delays(backoff: &Backoff, retries: u32) -> (Vec<Delay>, Method) {
    if backoff.jitter().is_decorrelated() {
        (drawn(backoff, retries), Method::Sample { calls: CHAINS })
    } else {
        ((1..=retries).map(|k| uniform(backoff, k)).collect(), Method::Exact)
    }
}

/// Every other law is uniform over the whole nanoseconds of its range, both ends included.
fn uniform(backoff: &Backoff, k: u32) -> Delay {
    let (shortest, longest) = backoff.range(k);
    let (lo, hi) = (shortest.as_nanos(), longest.as_nanos());
    let values = u128::from(hi - lo) + 1;
    let at = |percent: u128| {
        let offset = (values * percent).div_ceil(100) - 1;
        Span::from_nanos(lo + u64::try_from(offset).unwrap_or(u64::MAX))
    };
    let possible = (shortest..=longest).contains(&backoff.cap());
    Delay {
        ceiling: backoff.ceiling(k),
        shortest,
        longest,
        mean: mean(u128::from(lo) + u128::from(hi), 2),
        p50: at(50),
        p99: at(99),
        on_cap: if possible { 1.0 / (float(hi - lo) + 1.0) } else { 0.0 },
    }
}

/// The laws that grow from the delay before, drawn by the engine's own rule.
fn drawn(backoff: &Backoff, retries: u32) -> Vec<Delay> {
    let mut chance = Chance::new(STREAM);
    let mut chains = vec![backoff.base(); CHAINS as usize];
    let step = |k| {
        for prev in &mut chains {
            *prev = backoff.delay(k, *prev, &mut chance);
        }
        let sum = chains.iter().map(|delay| u128::from(delay.as_nanos())).sum();
        let on_cap = chains.iter().filter(|&&delay| delay == backoff.cap()).count();
        let mut sorted = chains.clone();
        let (shortest, longest) = backoff.range(k);
        Delay {
            ceiling: longest,
            shortest,
            longest,
            mean: mean(sum, u64::from(CHAINS)),
            p50: quantile(&mut sorted, 50),
            p99: quantile(&mut sorted, 99),
            // OK because a count of chains is small.
            on_cap: float(on_cap as u64) / f64::from(CHAINS),
        }
    };
    (1..=retries).map(step).collect()
}

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
    use stagger_core::{Jitter, Ratio};

    use super::*;

    fn of(jitter: Jitter, k: usize) -> Delay {
        let backoff = Backoff::exponential(Span::from_millis(100), Span::from_secs(1))
            .and_then(|backoff| backoff.with_jitter(jitter))
            .expect("a legal backoff");
        delays(&backoff, 12).0[k - 1]
    }

    const fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    #[test]
    fn the_laws_have_the_means_of_their_papers() {
        assert_eq!(of(Jitter::None, 3).mean, ms(400));
        assert_eq!(of(Jitter::Full, 3).mean, ms(200));
        assert_eq!(of(Jitter::Equal, 3).mean, ms(300));
        assert_eq!(of(Jitter::Symmetric(Ratio::from_percent(20)), 3).mean, ms(400));
        assert_eq!(of(Jitter::Symmetric(Ratio::from_percent(20)), 3).longest, ms(480));
        assert_eq!(of(Jitter::Proportional(Ratio::from_percent(20)), 3).mean, ms(360));
    }

    #[test]
    fn quantiles_of_a_uniform_law_are_exact_to_the_nanosecond() {
        let full = of(Jitter::Full, 1);
        assert_eq!((full.p50, full.p99), (ms(50), ms(99)));
        let fixed = of(Jitter::None, 6);
        assert_eq!((fixed.p50, fixed.p99, fixed.on_cap), (ms(1_000), ms(1_000), 1.0));
    }

    #[test]
    fn clamping_after_the_draw_piles_delays_on_the_cap() {
        let long = Backoff::exponential(Span::from_secs(1), Span::from_secs(60));
        let share = |jitter| {
            let backoff = long.clone().and_then(|it| it.with_jitter(jitter)).expect("legal");
            delays(&backoff, 12).0[11].on_cap
        };
        let clamped = share(Jitter::DecorrelatedClamped);
        assert!((0.28..0.30).contains(&clamped), "29 % by retry 12, not {clamped}");
        assert!(share(Jitter::Decorrelated) < 0.001);
        assert!(share(Jitter::Full) < 0.001);
    }
}

#[cfg(test)]
mod cap_share_tests {
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
