//! The law by which the callers of a log came back, as far as their attempts tell.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, ConfigError, Jitter, Policy, Ratio, Span};

/// Numbers of attempts that are counted one by one; those beyond count as the last.
pub(crate) const NUMBERS: usize = 32;
/// Fewer failures or delays than this are no evidence.
const FEWEST: u64 = 20;
/// A call is at its last attempt when fewer than this share of its failures is followed.
const GIVES_UP: f64 = 0.5;
/// Delays whose mean grows by less from one to the next do not grow.
const GROWS: f64 = 1.3;
/// Growth that differs from doubling by less is doubling.
const NEAR_TWO: f64 = 0.35;

/// Counts of attempts and delays by their number in a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryCounts {
    /// Attempts of each number, from 1.
    seen: [u64; NUMBERS],
    /// Failures among them.
    failed: [u64; NUMBERS],
    /// Delays before the retry that follows the attempt of a number.
    delays: [DelaySums; NUMBERS],
}

/// A sum of delays, in seconds, and of their squares.
#[derive(Clone, Copy, Debug, Default)]
struct DelaySums {
    count: u64,
    sum: f64,
    squares: f64,
}

impl RetryCounts {
    /// Counts an attempt of this number in its call, with the time since the failure before it.
    pub(crate) fn count(&mut self, number: u32, failed: bool, delay: Option<Span>) {
        let at = place(number);
        self.seen[at] += 1;
        self.failed[at] += u64::from(failed);
        if let (Some(delay), Some(before)) = (delay, at.checked_sub(1)) {
            let seconds = delay.as_secs_f64();
            let delays = &mut self.delays[before];
            delays.count += 1;
            delays.sum += seconds;
            delays.squares += seconds * seconds;
        }
    }

    /// The law, if there were failures enough and some were followed. Delays below `grain` cannot be told.
    pub(crate) fn law(&self, grain: Span) -> Option<ObservedRetries> {
        let followed = |at: usize| ratio(self.seen.get(at + 1).copied()?, self.failed[at]);
        let known = (0..NUMBERS - 1).take_while(|&at| self.failed[at] >= FEWEST);
        let last = known.clone().find(|&at| followed(at).is_some_and(|share| share < GIVES_UP));
        let last = last.or_else(|| known.last().map(|at| at + 1)).filter(|&last| last > 0)?;
        let retried: u64 = self.seen[1..=last].iter().sum();
        let failed: u64 = self.failed[..last].iter().sum();
        Some(ObservedRetries {
            // OK because it is 32 at most.
            attempts: u32::try_from(last + 1).unwrap_or(u32::MAX),
            followed: ratio(retried, failed).unwrap_or_default().min(1.0),
            delays: self.delays(last, grain),
        })
    }

    fn delays(&self, last: usize, grain: Span) -> Option<ObservedDelays> {
        let known: Vec<DelaySums> =
            self.delays[..last].iter().copied().take_while(|all| all.count >= FEWEST).collect();
        let first = known.first()?;
        if first.mean() < grain.as_secs_f64() {
            return None;
        }
        let growth = known.get(1).map_or(2.0, |second| second.mean() / first.mean());
        let jitter = nearest(first.deviation());
        let ceiling = |delays: &DelaySums| delays.mean() / mean_share(jitter);
        let growth = match growth {
            ..GROWS => 1.0,
            near if (near - 2.0).abs() < NEAR_TWO => 2.0,
            other => other,
        };
        let longest = known.iter().map(ceiling).fold(0.0, f64::max);
        Some(ObservedDelays {
            base: seconds(ceiling(first)),
            growth,
            longest: seconds(longest),
            jitter,
        })
    }
}

/// The retries of a log's callers: how often, and how late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedRetries {
    /// Attempts after which most calls gave up.
    pub attempts: u32,
    /// The share of failures below that number that were followed by a retry, from 0 to 1.
    pub followed: f64,
    /// The delays, where they are longer than the grain of the stamps.
    pub delays: Option<ObservedDelays>,
}

/// The delays between the end of a failure and the retry after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedDelays {
    /// The ceiling of the first.
    pub base: Span,
    /// The factor from one ceiling to the next; 1 for a constant one.
    pub growth: f64,
    /// The highest ceiling that was seen.
    pub longest: Span,
    /// The jitter whose spread is nearest to that of the first delays.
    pub jitter: Jitter,
}

impl ObservedRetries {
    /// A policy by which the lab's callers come back as these did; delays that could not be told
    /// are taken for full jitter below `unknown`.
    ///
    /// # Errors
    /// Delays that the engine refuses.
    pub(crate) fn policy(&self, unknown: Span) -> Result<Policy, ConfigError> {
        let backoff = match self.delays {
            None => Backoff::constant(unknown),
            Some(delays) if delays.growth <= 1.0 => {
                Backoff::constant(delays.base).with_jitter(delays.jitter)?
            }
            Some(delays) => {
                let cap = delays.longest.max(delays.base);
                let growing = Backoff::exponential(delays.base, cap)?;
                growing.with_factor(delays.growth)?.with_jitter(delays.jitter)?
            }
        };
        Policy::builder()
            .backoff(backoff)
            .max_attempts(self.attempts)
            .budget(BudgetPlan::Unlimited)
            .build()
    }
}

impl DelaySums {
    fn mean(&self) -> f64 {
        self.sum / float(self.count)
    }

    /// The standard deviation as a share of the mean.
    fn deviation(&self) -> f64 {
        let mean = self.mean();
        (self.squares / float(self.count) - mean * mean).max(0.0).sqrt() / mean
    }
}

/// The laws that are told apart, with the standard deviation of each as a share of its mean: full is
/// uniform from zero, equal from half of the ceiling, symmetric within a fifth of it.
const JITTERS: [(Jitter, f64); 4] = [
    (Jitter::None, 0.0),
    (Jitter::Symmetric(Ratio::from_percent(20)), 0.115),
    (Jitter::Equal, 0.192),
    (Jitter::Full, 0.577),
];

fn nearest(deviation: f64) -> Jitter {
    let off = |spread: f64| (spread - deviation).abs();
    let nearest = JITTERS.into_iter().min_by(|a, b| off(a.1).total_cmp(&off(b.1)));
    nearest.map_or(Jitter::Full, |(jitter, _)| jitter)
}

/// The mean as a share of the ceiling.
const fn mean_share(jitter: Jitter) -> f64 {
    match jitter {
        Jitter::Full => 0.5,
        Jitter::Equal => 0.75,
        _ => 1.0,
    }
}

fn place(number: u32) -> usize {
    usize::try_from(number.max(1) - 1).unwrap_or(usize::MAX).min(NUMBERS - 1)
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

/// OK because no log has 2^53 lines.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn seconds(value: f64) -> Span {
    // OK because a cast from float to integer saturates; microseconds are finer than any log.
    Span::from_micros((value * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use stagger_core::Entropy;
    use stagger_sim::{Purpose, RandomStream};

    use super::*;

    /// Calls that fail until their last attempt, with delays under this rule.
    fn counts(backoff: Backoff, attempts: u32) -> RetryCounts {
        let draws = RandomStream::new(7, Purpose::Delay);
        let mut counts = RetryCounts::default();
        for call in 0..2_000 {
            counts.count(1, true, None);
            for number in 2..=attempts {
                let delay = backoff.delay(number - 1, Span::ZERO, &mut draws.at(call, number));
                counts.count(number, true, Some(delay));
            }
        }
        counts
    }

    #[test]
    fn base_growth_jitter_and_attempts_are_found_again() {
        let base = Span::from_millis(100);
        let growing = Backoff::exponential(base, Span::from_secs(10)).unwrap();
        for (jitter, growth) in
            [(Jitter::Full, 2.0), (Jitter::None, 2.0), (Jitter::Equal, 3.0), (JITTERS[1].0, 1.0)]
        {
            let backoff = match growth {
                1.0 => Backoff::constant(base),
                _ => growing.with_factor(growth).unwrap(),
            };
            let counts = counts(backoff.with_jitter(jitter).unwrap(), 4);
            let law = counts.law(Span::from_millis(1)).unwrap();
            assert_eq!((law.attempts, law.followed), (4, 1.0));
            let delays = law.delays.unwrap();
            assert_eq!(delays.jitter, jitter);
            assert!((delays.growth - growth).abs() < 0.15, "{delays:?}");
            assert!((delays.base.as_secs_f64() - 0.1).abs() < 0.005, "{delays:?}");
            assert!(law.policy(base).is_ok());
        }
    }

    #[test]
    fn delays_below_the_grain_are_not_told_and_no_retry_is_no_law() {
        let counts = counts(Backoff::constant(Span::from_millis(100)), 3);
        let law = counts.law(Span::from_secs(1)).unwrap();
        assert_eq!((law.attempts, law.delays), (3, None));
        let mut none = RetryCounts::default();
        (0..100).for_each(|_| none.count(1, true, None));
        assert_eq!(none.law(Span::from_millis(1)), None);
        assert_eq!(RetryCounts::default().law(Span::ZERO), None);
    }

    #[test]
    fn half_of_the_callers_that_never_retry_are_a_share() {
        let draws = RandomStream::new(7, Purpose::Delay);
        let mut counts = RetryCounts::default();
        for call in 0..2_000 {
            counts.count(1, true, None);
            let retries = call % 4 > 0;
            let delay = Span::from_nanos(draws.at(call, 0).next_u64() % 100_000_000);
            if retries {
                counts.count(2, false, Some(delay));
            }
        }
        let law = counts.law(Span::from_millis(1)).unwrap();
        assert_eq!((law.attempts, law.followed), (2, 0.75));
    }
}
