//! The backend of a run: shards with their limits, workers and queues.

use stagger_core::{Cause, Entropy, Hint, Instant, Outcome, Ratio, Span, Verdict};

use super::faults::Faults;
use super::station::Limiter;
use super::station::{QueueAdmission, QueuedAttempt, Station};
use crate::dist::{exponential, lognormal, pareto};
use crate::plan::{Backend, Cancel, Fault, Service, Trouble};
use crate::streams::{Purpose, RandomStream};

/// The answer to an attempt that reaches the backend, before any work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The attempt is answered so, at this instant.
    Answer(Instant, Outcome),
    /// The attempt goes on to [`BackendState::enter`].
    Enter,
    /// The attempt is never answered.
    Silence,
}

/// The place of an attempt that asks for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// A worker starts the attempt and ends it at this instant.
    Started(Instant),
    /// The attempt waits in the queue.
    Queued,
    /// The queue is full, and the attempt is refused.
    Refused,
    /// The queue is full, and a worker refuses the attempt when it is free.
    RefusedLater,
    /// The queue is full, and the attempt is never answered.
    Dropped,
}

/// The backend of a plan while a run is played.
#[derive(Debug)]
pub(crate) struct BackendState<'p> {
    backend: &'p Backend,
    faults: Faults<'p>,
    limiters: Vec<Limiter>,
    stations: Vec<Station>,
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
            services: RandomStream::new(seed, Purpose::Service),
            failures: RandomStream::new(seed, Purpose::Failure),
            shards: RandomStream::new(seed, Purpose::Shard),
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
            return Admission::Enter;
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

    /// An attempt that [`receive`](Self::receive) let in asks for a worker.
    pub(crate) fn enter(&mut self, now: Instant, shard: u32, job: QueuedAttempt) -> Placement {
        let Some(rules) = &self.backend.workers else { return Placement::Refused };
        let stalled = self.faults.stalled(shard);
        match self.stations[shard as usize].enter(rules, job, stalled) {
            QueueAdmission::Start => {
                Placement::Started(now + self.work(now, shard, job.id, job.number))
            }
            QueueAdmission::Wait => Placement::Queued,
            QueueAdmission::WaitForRefusal => Placement::RefusedLater,
            QueueAdmission::Refuse => Placement::Refused,
            QueueAdmission::Drop => Placement::Dropped,
        }
    }

    /// Whether an attempt that asks for a worker now is refused immediately.
    #[inline]
    pub(crate) fn refuses_at_once(&self, shard: u32) -> bool {
        let Some(rules) = &self.backend.workers else { return false };
        let stalled = self.faults.stalled(shard);
        self.stations[shard as usize].refuses_at_once(rules, stalled)
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
        waited_for: impl Fn(&QueuedAttempt) -> bool,
        mut drop: impl FnMut(QueuedAttempt),
    ) -> Option<(QueuedAttempt, Instant)> {
        let rules = self.backend.workers.as_ref()?;
        if self.faults.stalled(shard) {
            return None;
        }
        loop {
            let job = self.stations[shard as usize].next(rules)?;
            if job.refused {
                self.stations[shard as usize].start();
                return Some((job, now + rules.refusal));
            }
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
            Service::Lognormal { mean, sigma } => lognormal(mean, sigma, &mut draw),
            Service::Pareto { mean, shape } => pareto(mean, shape, &mut draw),
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
