//! The times of first attempts.

use std::sync::Arc;

use stagger_core::{Entropy, Instant, Span};

use super::ramp::Ramp;
use crate::dist::{exponential, gaussian};
use crate::streams::{Purpose, RandomStream};

/// A rule for first attempts, always in order of time.
///
/// ```
/// use stagger_core::Span;
/// use stagger_sim::ArrivalProcess;
/// let even = ArrivalProcess::Even { callers: 3, spacing: Span::from_millis(2) };
/// let times: Vec<_> = even.times(1, 0).map(|at| at.as_nanos()).collect();
/// assert_eq!(times, [0, 2_000_000, 4_000_000]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// All callers at the origin: one reset, one restart, one full minute of cron.
    Together {
        /// Callers.
        callers: u32,
    },
    /// One every `spacing`, the first at the origin.
    Even {
        /// Callers.
        callers: u32,
        /// The time between two of them.
        spacing: Span,
    },
    /// A Poisson process.
    Poisson {
        /// The mean time between two of them; zero is read as a nanosecond.
        gap: Span,
        /// No first attempt at or after this.
        until: Instant,
    },
    /// Callers who notice one event at normally distributed times, from the origin on and before
    /// the event is over.
    Noticed {
        /// Callers.
        callers: u32,
        /// The mean.
        at: Instant,
        /// The standard deviation.
        sigma: Span,
        /// The end of the event: a caller that would notice later notices at the last moment before it.
        over: Instant,
    },
    /// Callers spread uniformly over a stretch: a cron minute, a rollout.
    Spread {
        /// Callers.
        callers: u32,
        /// The start of the stretch.
        from: Instant,
        /// The length of the stretch.
        over: Span,
    },
    /// Clients of many calls: each is a Poisson process of its own.
    Clients {
        /// Clients; at least 1. A client belongs to one process.
        clients: u32,
        /// The mean time between two calls of one of them.
        gap: Span,
        /// The time of their first calls.
        first: FirstCalls,
        /// No first attempt at or after this.
        until: Instant,
    },
    /// Serial clients: each makes a call, waits for its end and then thinks before the next one.
    Closed {
        /// Clients; all think once before their first call.
        clients: u32,
        /// The mean of the exponentially distributed time to think.
        think: Span,
        /// No first attempt at or after this.
        until: Instant,
    },
    /// A backlog that leaves slowly.
    Ramped(Ramp),
    /// Instants that were recorded, in order.
    Recorded(Arc<[Instant]>),
}

/// The time of the first calls of clients that make many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstCalls {
    /// As all others: one gap after the origin, on average.
    #[default]
    Spread,
    /// All at the origin. The peak of such a run is this burst, unless it is looked for later.
    AtOrigin,
}

impl ArrivalProcess {
    /// So many a second in a Poisson process, until `until`. Zero is read as one.
    #[must_use]
    pub fn poisson(per_second: u32, until: Instant) -> Self {
        let second = Span::from_secs(1).as_nanos();
        Self::Poisson { gap: Span::from_nanos(second / u64::from(per_second.max(1))), until }
    }

    /// The times of first attempts under this seed, as the source of this number in its plan.
    ///
    /// Of closed clients these are the first calls alone: when the next ones come depends on the
    /// run.
    #[must_use]
    pub fn times(&self, seed: u64, source: u32) -> ArrivalTimes {
        let draws = RandomStream::new(seed, Purpose::Arrival);
        let sorted = |mut times: Vec<Instant>| {
            times.sort_unstable();
            ArrivalRule::Listed(times.into())
        };
        let rule = match *self {
            Self::Together { callers } => ArrivalRule::Even { callers, spacing: Span::ZERO },
            Self::Even { callers, spacing } => ArrivalRule::Even { callers, spacing },
            Self::Poisson { gap, until } => ArrivalRule::Poisson {
                gap: gap.max(Span::from_nanos(1)),
                until,
                last: Instant::ORIGIN,
            },
            Self::Noticed { callers, at, sigma, over } => sorted(
                (0..callers)
                    .map(|id| {
                        let last = Instant::from_nanos(over.as_nanos().saturating_sub(1));
                        let after =
                            gaussian(at - Instant::ORIGIN, sigma, &mut draws.at(id, source));
                        (Instant::ORIGIN + after).min(last)
                    })
                    .collect(),
            ),
            Self::Spread { callers, from, over } => sorted(
                (0..callers).map(|id| from + draws.at(id, source).draw(Span::ZERO, over)).collect(),
            ),
            Self::Clients { clients, gap, first, until } => {
                ArrivalRule::Clients(calls_of(clients, (gap, first), until, |client, call| {
                    draws.at(client, call.wrapping_mul(MAX_SOURCES).wrapping_add(source))
                }))
            }
            Self::Closed { clients, think, until } => sorted(
                (0..clients)
                    .map(|id| Instant::ORIGIN + exponential(think, &mut draws.at(id, source)))
                    .filter(|&at| at < until)
                    .collect(),
            ),
            Self::Ramped(ramp) => ArrivalRule::Ramped { ramp, next: Instant::ORIGIN },
            Self::Recorded(ref times) => ArrivalRule::Listed(Arc::clone(times)),
        };
        ArrivalTimes { rule, draws, source, made: 0 }
    }

    /// The next call of a closed client after the one of this id ended, if it makes one.
    pub(crate) fn next_call(&self, seed: u64, id: u32, ended: Instant) -> Option<Instant> {
        let Self::Closed { think, until, .. } = *self else { return None };
        let draws = RandomStream::new(seed, Purpose::Think);
        let at = ended + exponential(think, &mut draws.at(id, 0));
        (at < until).then_some(at)
    }
}

/// The first attempts, one after the other; at most `u32::MAX`, because that many ids exist.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    rule: ArrivalRule,
    draws: RandomStream,
    source: u32,
    made: u32,
}

#[derive(Clone, Debug)]
enum ArrivalRule {
    Even {
        callers: u32,
        spacing: Span,
    },
    Poisson {
        gap: Span,
        until: Instant,
        last: Instant,
    },
    Ramped {
        ramp: Ramp,
        next: Instant,
    },
    Listed(Arc<[Instant]>),
    /// Instants with the client that makes the call.
    Clients(Arc<[(Instant, u32)]>),
}

/// Sources of a plan are numbered by a byte.
const MAX_SOURCES: u32 = 256;

/// All calls of many clients, in order of time.
fn calls_of<E: Entropy>(
    clients: u32,
    (gap, first): (Span, FirstCalls),
    until: Instant,
    draw: impl Fn(u32, u32) -> E,
) -> Arc<[(Instant, u32)]> {
    let mut calls = Vec::new();
    for client in 0..clients {
        let gap = |call| exponential(gap.max(Span::from_nanos(1)), &mut draw(client, call));
        let mut at = match first {
            FirstCalls::Spread => Instant::ORIGIN + gap(0),
            FirstCalls::AtOrigin => Instant::ORIGIN,
        };
        for call in 1.. {
            if at >= until {
                break;
            }
            calls.push((at, client));
            at = at + gap(call);
        }
    }
    calls.sort_unstable();
    calls.into()
}

impl ArrivalTimes {
    /// The caller of the last call, if a client makes many.
    pub(crate) fn client(&self) -> Option<u32> {
        let last = self.made.checked_sub(1)? as usize;
        match &self.rule {
            ArrivalRule::Clients(calls) => calls.get(last).map(|call| call.1),
            _ => None,
        }
    }
}

impl Iterator for ArrivalTimes {
    type Item = Instant;

    #[inline]
    fn next(&mut self) -> Option<Instant> {
        let id = self.made;
        self.made = id.checked_add(1)?;
        match &mut self.rule {
            ArrivalRule::Even { callers, spacing } => {
                (id < *callers).then(|| Instant::ORIGIN + spacing.saturating_mul(u64::from(id)))
            }
            ArrivalRule::Poisson { gap, until, last } => {
                *last = *last + exponential(*gap, &mut self.draws.at(id, self.source));
                (*last < *until).then_some(*last)
            }
            ArrivalRule::Ramped { ramp, next } => {
                let at = *next;
                *next = at + ramp.gap(at);
                (id < ramp.callers).then_some(at)
            }
            ArrivalRule::Listed(times) => times.get(id as usize).copied(),
            ArrivalRule::Clients(calls) => calls.get(id as usize).map(|call| call.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_calls_of_all_clients_were_one_burst_at_the_origin() {
        let gap = Span::from_secs(10);
        let until = Instant::ORIGIN + Span::from_secs(100);
        let first = FirstCalls::Spread;
        let rule = ArrivalProcess::Clients { clients: 1_000, gap, first, until };
        let times: Vec<Instant> = rule.times(1, 0).collect();
        // 100 a second: 10 000 in all and 100 in each second, give or take six standard deviations.
        assert!(times.len().abs_diff(10_000) < 600, "{}", times.len());
        for second in 0..100 {
            let of = |at: &&Instant| (**at - Instant::ORIGIN).as_nanos() / 1_000_000_000 == second;
            let calls = times.iter().filter(of).count();
            assert!(calls.abs_diff(100) < 60, "{calls} calls in second {second}");
        }
    }

    #[test]
    fn a_poisson_process_brings_its_rate_in_order() {
        let rule = ArrivalProcess::Poisson {
            gap: Span::from_millis(2),
            until: Instant::from_nanos(60 << 30),
        };
        let times: Vec<Instant> = rule.times(5, 0).collect();
        assert!(times.is_sorted());
        // 64.4 s at 500 a second: 32212, give or take six sd of 179.
        assert!(times.len().abs_diff(32_212) < 1_100, "{}", times.len());
        assert_ne!(rule.times(5, 0).next(), rule.times(6, 0).next());
    }
}
