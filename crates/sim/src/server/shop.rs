//! The backend of a run: shards with their limits, workers and queues.

use stagger_core::{Cause, Entropy, Hint, Instant, Outcome, Ratio, Span, Verdict};

use super::faults::Faults;
use super::limiter::Limiter;
use super::station::{Entry, Job, Station};
use crate::dist::exponential;
use crate::plan::{Backend, Cancel, Fault, Service, Trouble};
use crate::streams::{Purpose, Stream};

/// What an attempt that reaches the backend meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// It is answered so, at this instant.
    Answer(Instant, Outcome),
    /// It is to be handed to [`Shop::enter`].
    Enter,
    /// Nothing will ever be heard of it.
    Silence,
}

/// What happens to an attempt that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// A worker is done with it at this instant.
    Started(Instant),
    /// It waits.
    Queued,
    /// It is refused.
    Refused,
    /// It is dropped in silence.
    Dropped,
}

/// The backend at work.
#[derive(Debug)]
pub(crate) struct Shop<'p> {
    backend: &'p Backend,
    faults: Faults<'p>,
    limiters: Vec<Limiter>,
    stations: Vec<Station>,
    services: Stream,
    failures: Stream,
    shards: Stream,
}

/// The 503 of an outage.
pub(crate) const REFUSED: Outcome = Outcome::new(Verdict::Transient);
/// A refused connection.
const PORT_CLOSED: Outcome = Outcome::new(Verdict::Unprocessed).with_cause(Cause::Transport);
/// A 429, and a 503 that says when to come back.
const THROTTLED: Outcome = Outcome::new(Verdict::Throttled);

impl<'p> Shop<'p> {
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
            services: Stream::new(seed, Purpose::Service),
            failures: Stream::new(seed, Purpose::Failure),
            shards: Stream::new(seed, Purpose::Shard),
        }
    }

    /// The shard of a call.
    #[inline]
    pub(crate) fn shard_of(&self, id: u32) -> u32 {
        let shards = self.backend.shard_count();
        if shards == 1 {
            return 0;
        }
        let word = u128::from(self.shards.at(id, 0).next_u64());
        // OK because the high half of the product is below `shards`.
        u32::try_from((word * u128::from(shards)) >> 64).unwrap_or(0)
    }

    /// Time goes on.
    #[inline]
    pub(crate) fn now_is(&mut self, now: Instant) {
        self.faults.now_is(now);
    }

    /// An attempt reaches the door.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant, shard: u32, id: u32, number: u32) -> Receipt {
        if let Some(fault) = self.faults.at_the_door(shard) {
            return turned_away(fault, now);
        }
        if let Some(throttled) = self.throttle(now, shard) {
            return Receipt::Answer(now, throttled);
        }
        if self.backend.workers.is_some() {
            return Receipt::Enter;
        }
        let Some(start) = self.faults.end_of_stall(shard, now) else { return Receipt::Silence };
        let done = start + self.work(start, shard, id, number);
        Receipt::Answer(done, self.result(shard, id, number))
    }

    /// The answer to an attempt, in a backend that [`answers_at_once`].
    #[inline]
    pub(crate) fn answer(&mut self, now: Instant, shard: u32, id: u32, number: u32) -> Outcome {
        if let Some(fault) = self.faults.at_the_door(shard) {
            return refusal(fault);
        }
        let throttled = self.throttle(now, shard);
        throttled.unwrap_or_else(|| self.result(shard, id, number))
    }

    /// An attempt that [`receive`](Self::receive) let in asks for a worker.
    pub(crate) fn enter(&mut self, now: Instant, shard: u32, job: Job) -> Handed {
        let Some(rules) = &self.backend.workers else { return Handed::Refused };
        let stalled = self.faults.stalled(shard);
        match self.stations[shard as usize].enter(rules, job, stalled) {
            Entry::Start => Handed::Started(now + self.work(now, shard, job.id, job.number)),
            Entry::Wait => Handed::Queued,
            Entry::Refuse => Handed::Refused,
            Entry::Drop => Handed::Dropped,
        }
    }

    /// A worker of this shard is done: it is free.
    pub(crate) fn leave(&mut self, shard: u32) {
        self.stations[shard as usize].leave();
    }

    /// The next attempt to start in this shard, with its end; `drop` hears of those that are taken
    /// out of the queue and not started. `None` when nothing can start.
    pub(crate) fn start_next(
        &mut self,
        now: Instant,
        shard: u32,
        waited_for: impl Fn(&Job) -> bool,
        mut drop: impl FnMut(Job),
    ) -> Option<(Job, Instant)> {
        let rules = self.backend.workers.as_ref()?;
        if self.faults.stalled(shard) {
            return None;
        }
        loop {
            let job = self.stations[shard as usize].next(rules)?;
            let end = now + self.work(now, shard, job.id, job.number);
            let hopeless = match rules.cancel {
                Cancel::Never => false,
                Cancel::Expired => !waited_for(&job),
                Cancel::Hopeless => !waited_for(&job) || end > job.give_up,
            };
            if !hopeless {
                self.stations[shard as usize].start();
                return Some((job, end));
            }
            drop(job);
        }
    }

    /// What the work on an attempt comes to when it is done at `now`.
    #[inline]
    pub(crate) fn result(&self, shard: u32, id: u32, number: u32) -> Outcome {
        let share = self.faults.failing(shard);
        if share == Ratio::ZERO {
            return Outcome::OK;
        }
        if self.failures.at(id, number).happens(share) { REFUSED } else { Outcome::OK }
    }

    /// When shards start work again after stalls.
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
    fn work(&self, now: Instant, shard: u32, id: u32, number: u32) -> Span {
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
        };
        let crowded = match &self.backend.workers {
            Some(rules) => self.stations[shard as usize].crowded(rules, usual),
            None => usual,
        };
        self.faults.stretched(crowded, shard, now)
    }
}

/// Whether every attempt is answered as soon as it is made.
pub(crate) fn answers_at_once(backend: &Backend, faults: &[Fault]) -> bool {
    let keeps_waiting =
        |fault: &Fault| matches!(fault.trouble, Trouble::Hang | Trouble::Silence | Trouble::Stall);
    backend.workers.is_none()
        && backend.service == Service::Fixed(Span::ZERO)
        && !faults.iter().any(keeps_waiting)
}

fn turned_away(fault: &Fault, now: Instant) -> Receipt {
    match fault.trouble {
        Trouble::Hang if fault.until == Instant::FAR => Receipt::Silence,
        Trouble::Hang => Receipt::Answer(fault.until, REFUSED),
        Trouble::Silence => Receipt::Silence,
        _ => Receipt::Answer(now, refusal(fault)),
    }
}

#[inline]
const fn refusal(fault: &Fault) -> Outcome {
    match fault.trouble {
        Trouble::RefuseFor(wait) => THROTTLED.with_hint(Hint::AtLeast(wait)),
        Trouble::PortClosed => PORT_CLOSED,
        _ => REFUSED,
    }
}
