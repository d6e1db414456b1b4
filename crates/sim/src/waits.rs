//! Fair comparisons of laws: as many attempts, or as much waiting in the mean.

use stagger_core::{ConfigError, Span};

use crate::law::Foreign;
use crate::law::{Law, Schedule};
use crate::streams::{Purpose, RandomStream};

/// The property that compared laws have in common.
///
/// Jitter shortens the waiting in all, and that alone changes what becomes of a storm: so laws
/// should be seen under both rules.
///
/// ```
/// use stagger_core::Span;
/// use stagger_sim::{Equal, Law, Schedule};
/// // Three waits without jitter are 0.7 s in all, so full jitter needs twice the base.
/// let schedule = Schedule { attempts: 4, ..Schedule::default() };
/// let full = Equal::MeanWait.schedule(Law::Full, &schedule)?;
/// assert_eq!(full.base, Span::from_millis(200));
/// let decorrelated = Equal::MeanWait.schedule(Law::Decorrelated, &schedule)?;
/// assert!((decorrelated.base.as_secs_f64() - 0.0622).abs() < 0.001);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equal {
    /// The same base, cap and attempts.
    #[default]
    Attempts,
    /// The same attempts, with base and cap stretched together until all waits of a call take as
    /// long in the mean as they do without jitter.
    MeanWait,
}

/// Chains of waits that a mean is taken over, where no formula gives it: 0.3 % of error.
const CHAINS: u32 = 20_000;
/// Waits that are looked at: so many are long at their cap.
const MAX_WAITS: u32 = 64;
/// The seed of those chains: any would do, and it is always this one.
const SEED: u64 = 2015;

impl Equal {
    /// The schedule that this law is compared under.
    ///
    /// # Errors
    /// A cap below the base.
    pub fn schedule(self, law: Law, schedule: &Schedule) -> Result<Schedule, ConfigError> {
        let waits = schedule.attempts.saturating_sub(1).min(MAX_WAITS);
        let (wanted, own) = match self {
            Self::Attempts => return Ok(*schedule),
            Self::MeanWait => (total(Law::None, schedule, waits)?, total(law, schedule, waits)?),
        };
        if own == 0 || law == Law::NoRetry {
            return Ok(*schedule);
        }
        let stretched = |span: Span| {
            let nanos = u128::from(span.as_nanos()).saturating_mul(wanted) / own;
            // OK because what does not fit is longer than any call.
            Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        // Every law is linear in base and cap together, so one step is exact.
        let (base, cap) = (stretched(schedule.base), stretched(schedule.cap));
        Ok(Schedule { base, cap, ..*schedule })
    }
}

/// All waits of a call in the mean, times [`CHAINS`], in nanoseconds.
fn total(law: Law, schedule: &Schedule, waits: u32) -> Result<u128, ConfigError> {
    let backoff = law.backoff(schedule)?;
    let ceilings: u128 = match law {
        Law::NoRetry => 0,
        _ => (1..=waits).map(|k| u128::from(backoff.ceiling(k).as_nanos())).sum(),
    };
    let chains = u128::from(CHAINS);
    Ok(match law {
        Law::NoRetry | Law::None | Law::Fixed | Law::Symmetric => ceilings * chains,
        Law::Full => ceilings * chains / 2,
        Law::Equal => ceilings * chains * 3 / 4,
        Law::Decorrelated | Law::DecorrelatedClamped | Law::Gaussian | Law::Octave => {
            (0..CHAINS).map(|chain| drawn(law, schedule, chain, waits)).sum::<Result<u128, _>>()?
        }
    })
}

fn drawn(law: Law, schedule: &Schedule, chain: u32, waits: u32) -> Result<u128, ConfigError> {
    let draws = RandomStream::new(SEED, Purpose::Delay);
    let foreign = Foreign::of(law, schedule);
    let backoff = law.backoff(schedule)?;
    let mut prev = schedule.base;
    let waits = (1..=waits).map(|k| {
        prev = match foreign {
            Some(foreign) => foreign.delay(&draws, chain, k),
            None => backoff.delay(k, prev, &mut draws.at(chain, k)),
        };
        u128::from(prev.as_nanos())
    });
    Ok(waits.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_of_one_mean_wait_still_waited_shorter_with_jitter() {
        for attempts in [2, 4, 6, 30] {
            let schedule = Schedule { attempts, ..Schedule::default() };
            let wanted = total(Law::None, &schedule, attempts - 1).unwrap();
            for law in Law::ALL.into_iter().filter(|&law| law != Law::NoRetry) {
                let own = Equal::MeanWait.schedule(law, &schedule).unwrap();
                let own = total(law, &own, attempts - 1).unwrap();
                assert!(own.abs_diff(wanted) * 1_000 <= wanted, "{law}: {own} for {wanted}");
            }
        }
    }

    #[test]
    fn no_time_at_all_cannot_be_stretched() {
        let none = Schedule { base: Span::ZERO, cap: Span::ZERO, attempts: 6 };
        for law in Law::ALL {
            assert_eq!(Equal::MeanWait.schedule(law, &none), Ok(none));
        }
    }
}
