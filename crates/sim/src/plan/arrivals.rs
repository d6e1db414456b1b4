//! The times of first attempts, and of a backlog that leaves slowly.

use std::sync::Arc;

use stagger_core::{Entropy, Instant, Ratio, Span};

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
    /// A Poisson process whose rate changes at some instants: a start, a peak hour, a site that is let in
    /// again.
    Stepped {
        /// The rates, in order of time. Before the first nobody comes.
        steps: Arc<[RateStep]>,
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

/// The rate of a Poisson process from some instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// The first instant of this rate.
    pub from: Instant,
    /// The mean time between two first attempts, above zero; `None` where nobody comes.
    pub gap: Option<Span>,
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
            Self::Stepped { ref steps, until } => {
                let steps = Arc::clone(steps);
                ArrivalRule::Stepped { steps, until, step: 0, last: Instant::ORIGIN }
            }
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
    #[must_use]
    pub fn next_call(&self, seed: u64, id: u32, ended: Instant) -> Option<Instant> {
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
    Stepped {
        steps: Arc<[RateStep]>,
        until: Instant,
        /// The step after the one that holds.
        step: usize,
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

/// The mean gap of a Poisson process at the unit rate: a day has room for nanoseconds of any rate.
const UNIT: Span = Span::from_secs(1_000);

/// The first attempt after `last` in a process of these steps, by the time change of an inhomogeneous
/// Poisson process (Çinlar, Introduction to Stochastic Processes, 1975, section 4.7).
fn next_of_steps(
    steps: &[RateStep],
    step: &mut usize,
    last: Instant,
    unit: Span,
) -> Option<Instant> {
    let (mut now, mut left) = (last, u128::from(unit.as_nanos()));
    loop {
        let current = step.checked_sub(1).and_then(|current| steps.get(current));
        let next = steps.get(*step).map(|next| next.from);
        if let Some(gap) = current.and_then(|current| current.gap) {
            let (gap, unit) = (u128::from(gap.as_nanos().max(1)), u128::from(UNIT.as_nanos()));
            let at = now + Span::from_nanos(u64::try_from(left * gap / unit).unwrap_or(u64::MAX));
            match next.filter(|&next| next <= at) {
                None => return Some(at),
                Some(next) => left -= (u128::from((next - now).as_nanos()) * unit / gap).min(left),
            }
        }
        now = now.max(next?);
        *step += 1;
    }
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
    /// The client of the last call, if it makes many.
    #[must_use]
    pub fn client(&self) -> Option<u32> {
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
            ArrivalRule::Stepped { steps, until, step, last } => {
                // A gap of the unit rate, spent at the rate of each step that it reaches into.
                let unit = exponential(UNIT, &mut self.draws.at(id, self.source));
                *last = next_of_steps(steps, step, *last, unit)?;
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

/// A paced sender: a backlog whose first attempts leave at a rate that grows.
///
/// The rate grows evenly from a share of `rate` to all of it, and doubles evenly over every further
/// stretch of the same length, which is how the dispatcher lets the backlog of an endpoint go.
///
/// ```
/// use stagger_core::{Ratio, Span};
/// use stagger_sim::{ArrivalProcess, Ramp};
/// let ten_seconds = Span::from_secs(10);
/// let ramp = Ramp {
///     callers: 10_000,
///     from: Ratio::from_percent(10),
///     rate: 100,
///     over: ten_seconds,
///     most: None,
/// };
/// let first_stretch = ArrivalProcess::Ramped(ramp).times(1, 0);
/// let first_stretch = first_stretch.take_while(|&at| at.as_nanos() < ten_seconds.as_nanos());
/// // 55 a second on average.
/// assert!(first_stretch.count().abs_diff(550) < 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// Callers that wait.
    pub callers: u32,
    /// The share of `rate` that it starts with; at least a hundredth.
    pub from: Ratio,
    /// First attempts a second at the end of the first stretch. At least 1.
    pub rate: u32,
    /// The length of a stretch; zero lets all callers go at once.
    pub over: Span,
    /// The most first attempts a second, ever.
    pub most: Option<u32>,
}

/// Parts of a first attempt: rates are counted in millionths of one a second.
const MICROS: u128 = 1_000_000;

/// A start from nothing would never let the first go.
const SLOWEST_START: u128 = 100;

/// Doublings after which any rate is beyond every count.
const MAX_DOUBLINGS: u64 = 40;

impl Ramp {
    /// The time from a first attempt at `now` to the next.
    pub(super) fn gap(&self, now: Instant) -> Span {
        let second = u128::from(Span::from_secs(1).as_nanos());
        let most = self.most.map_or(u128::MAX, |most| u128::from(most.max(1)) * MICROS);
        let Some(rate) = self.rate_at(now - Instant::ORIGIN) else {
            let gap = (second * MICROS).checked_div(most).unwrap_or(0);
            return Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX));
        };
        let gap = (second * MICROS).div_ceil(rate.min(most).max(1));
        Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// Millionths of a first attempt a second; `None` without bound.
    fn rate_at(&self, elapsed: Span) -> Option<u128> {
        let (over, gone) = (self.over.as_nanos(), elapsed.as_nanos());
        let stretch = gone.checked_div(over)?;
        let into = u128::from(gone % over);
        let full = u128::from(self.rate.max(1)) * MICROS;
        let (from, to) = match stretch.checked_sub(1) {
            None => (self.start(full), full),
            Some(doublings) if doublings < MAX_DOUBLINGS => {
                (full << doublings, full << (doublings + 1))
            }
            Some(_) => return None,
        };
        // A start above the end of the stretch is held until the end has caught up.
        Some(from + to.saturating_sub(from) * into / u128::from(over))
    }

    fn start(&self, full: u128) -> u128 {
        let share = full * u128::from(self.from.ppm()) / u128::from(Ratio::SCALE);
        share.max(full / SLOWEST_START)
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

    const RAMP: Ramp = Ramp {
        callers: 1,
        from: Ratio::from_percent(10),
        rate: 100,
        over: Span::from_secs(10),
        most: None,
    };

    fn gap(ramp: &Ramp, secs: u64) -> Span {
        ramp.gap(Instant::ORIGIN + Span::from_secs(secs))
    }

    #[test]
    fn the_rate_grows_as_the_dispatcher_lets_it() {
        // 10, 55, 100, 150, 200, 400 and 800 a second.
        let found = [0, 5, 10, 15, 20, 30, 40].map(|secs| gap(&RAMP, secs).as_nanos());
        let nanos =
            [100_000_000, 18_181_819, 10_000_000, 6_666_667, 5_000_000, 2_500_000, 1_250_000];
        assert_eq!(found, nanos);
    }

    #[test]
    fn a_bound_holds_for_ever_and_the_edges_neither_divide_by_zero_nor_overflow() {
        let bounded = Ramp { most: Some(300), ..RAMP };
        assert_eq!(gap(&bounded, 60), Span::from_nanos(3_333_334));
        assert_eq!(gap(&bounded, 1_000_000_000), Span::from_nanos(3_333_333));
        assert_eq!(gap(&Ramp { over: Span::ZERO, ..RAMP }, 0), Span::ZERO);
        let slow = Ramp { from: Ratio::ZERO, rate: 0, ..RAMP };
        assert_eq!(gap(&slow, 0), Span::from_secs(100));
        let wide = Ramp { rate: u32::MAX, over: Span::from_nanos(1), ..RAMP };
        assert_eq!(wide.gap(Instant::FAR), Span::ZERO);
    }
}
