//! The backend of a run: shards with their limits, workers and queues.

use stagger_core::{Cause, Entropy, Hint, Instant, Outcome, Ratio, Span, Verdict};

use super::balancer::BalancerState;
use super::cache::CacheState;
use super::faults::Faults;
use super::limiter::Limiter;
use super::station::Station;
use crate::dist::{exponential, lognormal, pareto};
use crate::plan::{Backend, Fault, Service, Trouble};
use crate::streams::{Purpose, RandomStream};

/// The answer to an attempt that reaches the backend, before any work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The attempt is answered so, at this instant.
    Answer(Instant, Outcome),
    /// The attempt asks for a worker.
    Enter,
    /// The attempt is never answered.
    Silence,
}

/// The backend of a plan while a run is played.
#[derive(Debug)]
pub(crate) struct BackendState<'p> {
    pub(super) backend: &'p Backend,
    pub(super) faults: Faults<'p>,
    pub(super) limiters: Vec<Limiter>,
    pub(super) stations: Vec<Station>,
    balancer: Option<BalancerState>,
    pub(super) caches: Vec<CacheState>,
    services: RandomStream,
    failures: RandomStream,
    shards: RandomStream,
}

/// The 503 of an outage.
pub(crate) const REFUSED: Outcome = Outcome::new(Verdict::Transient);
/// A refused connection.
const PORT_CLOSED: Outcome = Outcome::new(Verdict::Unprocessed).with_cause(Cause::Transport);
/// The 403 of an operator who sheds load.
const FORBIDDEN: Outcome = Outcome::new(Verdict::Permanent);
/// A 429, and a 503 that says when to come back.
const THROTTLED: Outcome = Outcome::new(Verdict::Throttled);

impl<'p> BackendState<'p> {
    pub(crate) fn new(backend: &'p Backend, faults: &'p [Fault], seed: u64) -> Self {
        let shards = backend.shard_count() as usize;
        Self {
            backend,
            faults: Faults::new(faults, backend),
            limiters: backend
                .limit
                .iter()
                .flat_map(|&rule| vec![Limiter::new(rule); shards])
                .collect(),
            stations: vec![Station::default(); shards],
            balancer: backend
                .balancer
                .map(|rule| BalancerState::new(rule, backend.shard_count(), seed)),
            caches: caches(backend, faults, seed),
            services: RandomStream::new(seed, Purpose::Service),
            failures: RandomStream::new(seed, Purpose::Failure),
            shards: RandomStream::new(seed, Purpose::Shard),
        }
    }

    /// The balancer, if shards are servers behind one.
    #[inline]
    pub(crate) const fn balancer(&mut self) -> Option<&mut BalancerState> {
        self.balancer.as_mut()
    }

    /// The shard of a call; the first one where a balancer chooses for every attempt.
    #[inline]
    pub(crate) fn shard_of(&self, id: u32) -> u32 {
        let shards = self.backend.shard_count();
        if shards == 1 || self.balancer.is_some() {
            return 0;
        }
        let word = u128::from(self.shards.at(id, 0).next_u64());
        // OK because the high half of the product is below `shards`.
        u32::try_from((word * u128::from(shards)) >> 64).unwrap_or(0)
    }

    /// Sets the time of the next questions.
    #[inline]
    pub(crate) fn now_is(&mut self, now: Instant) {
        self.faults.now_is(now);
    }

    /// Admits, answers or ignores an attempt that reaches the backend.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant, shard: u32, id: u32, number: u32) -> Admission {
        if let Some(fault) = self.turns_away(shard, id, number) {
            return turned_away(fault, now);
        }
        if let Some(throttled) = self.throttle(now, shard) {
            return Admission::Answer(now, throttled);
        }
        if self.backend.workers.is_some() {
            let crashed = self.stations[shard as usize].up_from > now;
            return if crashed { Admission::Answer(now, PORT_CLOSED) } else { Admission::Enter };
        }
        let Some(start) = self.faults.end_of_stall(shard, now) else { return Admission::Silence };
        let done = start + self.work(start, shard, id, number);
        Admission::Answer(done, self.result(shard, id, number))
    }

    /// The answer to an attempt, in a backend that [`answers_at_once`].
    #[inline]
    pub(crate) fn answer(&mut self, now: Instant, shard: u32, id: u32, number: u32) -> Outcome {
        if let Some(fault) = self.turns_away(shard, id, number) {
            return refusal(fault);
        }
        let throttled = self.throttle(now, shard);
        throttled.unwrap_or_else(|| self.result(shard, id, number))
    }

    /// The trouble that turns this attempt away as it arrives.
    #[inline]
    fn turns_away(&self, shard: u32, id: u32, number: u32) -> Option<&'p Fault> {
        let fault = self.faults.at_arrival(shard)?;
        match fault.trouble {
            Trouble::Forbid(share) => {
                let mut draw = self.failures.at(id, number);
                // The first word decides whether a failing backend fails the attempt.
                draw.next_u64();
                draw.happens(share).then_some(fault)
            }
            _ => Some(fault),
        }
    }

    /// The outcome of work on an attempt that ends now.
    #[inline]
    pub(crate) fn result(&self, shard: u32, id: u32, number: u32) -> Outcome {
        let share = self.faults.failing(shard);
        if share == Ratio::ZERO {
            return Outcome::OK;
        }
        if self.failures.at(id, number).happens(share) { REFUSED } else { Outcome::OK }
    }

    /// The instants at which shards start work again after stalls.
    pub(crate) fn resumptions(&self) -> impl Iterator<Item = (u32, Instant)> + 'p {
        let shards = self.backend.shard_count();
        let workers = self.backend.workers.is_some();
        let ends = self.faults.ends_of_stalls().filter(move |_| workers);
        ends.flat_map(move |at| (0..shards).map(move |shard| (shard, at)))
    }

    /// The 429 of an attempt that is one too many.
    #[inline]
    fn throttle(&mut self, now: Instant, shard: u32) -> Option<Outcome> {
        let wait = self.limiters.get_mut(shard as usize)?.admit(now).err()?;
        Some(Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(wait)))
    }

    #[inline]
    pub(super) fn work(&self, now: Instant, shard: u32, id: u32, number: u32) -> Span {
        let mut draw = self.services.at(id, number);
        let usual = match self.backend.service {
            Service::Fixed(time) => time,
            Service::Exponential(mean) => exponential(mean, &mut draw),
            Service::Tail { usual, slow, share } => {
                if draw.happens(share) {
                    slow
                } else {
                    usual
                }
            }
            Service::Lognormal { mean, sigma } => lognormal(mean, sigma, &mut draw),
            Service::Pareto { mean, shape } => pareto(mean, shape, &mut draw),
        };
        let crowded = match &self.backend.workers {
            Some(rules) => self.stations[shard as usize].crowded(rules, usual),
            None => usual,
        };
        self.faults.stretched(crowded, shard, now, self.stations[shard as usize].up_from)
    }
}

/// A cache for each shard, if there is a rule for them.
fn caches(backend: &Backend, faults: &[Fault], seed: u64) -> Vec<CacheState> {
    let rule = backend.workers.as_ref().and_then(|rules| rules.cache.as_ref());
    let shards = 0..backend.shard_count();
    rule.into_iter()
        .flat_map(|rule| shards.clone().map(|shard| CacheState::new(rule, shard, faults, seed)))
        .collect()
}

/// Whether every attempt is answered as soon as it is made.
pub(crate) fn answers_at_once(backend: &Backend, faults: &[Fault]) -> bool {
    let keeps_waiting =
        |fault: &Fault| matches!(fault.trouble, Trouble::Hang | Trouble::Silence | Trouble::Stall);
    backend.workers.is_none()
        && backend.service == Service::Fixed(Span::ZERO)
        && !faults.iter().any(keeps_waiting)
}

fn turned_away(fault: &Fault, now: Instant) -> Admission {
    match fault.trouble {
        Trouble::Hang if fault.until == Instant::FAR => Admission::Silence,
        Trouble::Hang => Admission::Answer(fault.until, REFUSED),
        Trouble::Silence => Admission::Silence,
        _ => Admission::Answer(now, refusal(fault)),
    }
}

#[inline]
const fn refusal(fault: &Fault) -> Outcome {
    match fault.trouble {
        Trouble::RefuseFor(wait) => THROTTLED.with_hint(Hint::AtLeast(wait)),
        Trouble::PortClosed => PORT_CLOSED,
        Trouble::Forbid(_) => FORBIDDEN,
        _ => REFUSED,
    }
}
