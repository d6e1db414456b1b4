//! The backend of a run: shards with their limits, workers and queues.

use stagger_core::{Cause, Entropy, Hint, Instant, Outcome, Ratio, Span, Verdict};

use super::balancer::BalancerState;
use super::cache::CacheState;
use super::faults::Faults;
use super::limiter::Limiter;
<<<<<<< HEAD
use super::station::Station;
=======
use super::station::{CrashLoss, QueueAdmission, Station, WorkerTurn};
use super::waiting::QueuedAttempt;
>>>>>>> h-review
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

<<<<<<< HEAD
=======
/// The place of an attempt that asks for a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// A worker starts the attempt.
    Started(StartedWork),
    /// The attempt waits in the queue.
    Queued,
    /// The attempt waits in the place of another one, which is refused.
    Replaced(QueuedAttempt),
    /// The server falls over, and the attempt is lost with all others.
    Crashed(CrashLoss),
    /// The queue is full, and the attempt is refused.
    Refused,
    /// The queue is full, and a worker refuses the attempt when it is free.
    RefusedLater,
    /// The queue is full, and the attempt is never answered.
    Dropped,
}

/// Work on an attempt that a worker has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StartedWork {
    /// The instant at which it is done.
    pub(crate) end: Instant,
    /// Whether the attempt missed the cache.
    pub(crate) miss: bool,
    /// The crashes of its server before it: after another one the work is lost.
    pub(crate) crashes: u32,
    /// Whether the attempt waited for work before, and not for its refusal.
    pub(crate) waited: bool,
}

/// The turn of an attempt that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueTurn {
    /// A worker starts it, or its refusal.
    Started(QueuedAttempt, StartedWork),
    /// It is refused, which takes no time.
    Refused(QueuedAttempt),
}

>>>>>>> h-review
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

<<<<<<< HEAD
=======
    /// An attempt that [`receive`](Self::receive) let in asks for a worker.
    pub(crate) fn enter(&mut self, now: Instant, shard: u32, job: QueuedAttempt) -> Placement {
        let Some(rules) = &self.backend.workers else { return Placement::Refused };
        let stalled = self.faults.stalled(shard);
        let station = &mut self.stations[shard as usize];
        let admission = station.enter(rules, now, job, stalled);
        if let Some(mut loss) = station.crash(rules, now) {
            // The attempt that was one too many never waited.
            loss.waited -= u64::from(admission == QueueAdmission::Wait);
            if let Some(cache) = self.caches.get_mut(shard as usize) {
                cache.clear();
            }
            return Placement::Crashed(loss);
        }
        match admission {
            QueueAdmission::Start => Placement::Started(self.begin(rules, now, shard, &job)),
            QueueAdmission::Wait => Placement::Queued,
            QueueAdmission::Replace(other) => Placement::Replaced(other),
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

    /// Whether an attempt that comes now meets nothing but a full queue, and is refused immediately.
    #[inline]
    pub(crate) fn only_refuses(&self, shard: u32) -> bool {
        let open = self.faults.at_arrival(shard).is_none() && self.limiters.is_empty();
        let crashes = self.backend.workers.is_some_and(|rules| rules.crash.is_some());
        open && !crashes && self.refuses_at_once(shard)
    }

    /// Whether work that began after so many crashes of this shard was lost.
    #[inline]
    pub(crate) fn has_lost(&self, shard: u32, crashes: u32) -> bool {
        self.stations[shard as usize].crashes != crashes
    }

    /// A worker of this shard is done with an attempt: it is free.
    pub(crate) fn leave(&mut self, now: Instant, shard: u32, id: u32, number: u32) {
        if let Some(rules) = &self.backend.workers {
            self.stations[shard as usize].leave(rules, now, (id, number));
        }
    }

    /// An attempt that missed the cache was worked on; `answered` if its caller still waits.
    pub(crate) fn fill(&mut self, now: Instant, shard: u32, answered: bool) {
        let rule = self.backend.workers.as_ref().and_then(|rules| rules.cache.as_ref());
        let (Some(rule), Some(cache)) = (rule, self.caches.get_mut(shard as usize)) else { return };
        if answered || rule.fill == CacheFill::Worked {
            cache.fill(rule, now);
        }
    }

    /// The load of this shard has changed: the instant at which more workers will be there, if they were
    /// ordered now.
    #[inline]
    pub(crate) fn scale(&mut self, now: Instant, shard: u32) -> Option<Instant> {
        let rules = self.backend.workers.as_ref().filter(|rules| rules.scaling.is_some())?;
        self.stations[shard as usize].scale(rules, now)
    }

    /// The next attempt to start or refuse in this shard; `drop` hears of those that are taken out of the
    /// queue and get no answer. `None` when nothing can start.
    pub(crate) fn start_next(
        &mut self,
        now: Instant,
        shard: u32,
        waited_for: impl Fn(&QueuedAttempt) -> bool,
        mut drop: impl FnMut(QueuedAttempt),
    ) -> Option<QueueTurn> {
        let rules = self.backend.workers.as_ref()?;
        if self.faults.stalled(shard) {
            return None;
        }
        loop {
            match self.stations[shard as usize].next(rules, now)? {
                WorkerTurn::Refuse(job) if !job.refused && rules.full == Full::Drop => drop(job),
                WorkerTurn::Refuse(job) if job.refused || rules.refusal > Span::ZERO => {
                    return Some(self.begin_refusal(rules, now, shard, job));
                }
                WorkerTurn::Refuse(job) => return Some(QueueTurn::Refused(job)),
                WorkerTurn::Work(job) => {
                    let work = self.begin(rules, now, shard, &job);
                    let hopeless = match rules.cancel {
                        Cancel::Never => false,
                        Cancel::Expired => !waited_for(&job),
                        Cancel::Hopeless => !waited_for(&job) || work.end > job.give_up,
                    };
                    if !hopeless {
                        self.stations[shard as usize].start(rules, now, job);
                        return Some(QueueTurn::Started(job, work));
                    }
                    drop(job);
                }
            }
        }
    }

    /// A worker begins to refuse an attempt.
    fn begin_refusal(
        &mut self,
        rules: &Workers,
        now: Instant,
        shard: u32,
        job: QueuedAttempt,
    ) -> QueueTurn {
        let station = &mut self.stations[shard as usize];
        let crashes = station.crashes;
        let refused = QueuedAttempt { refused: true, ..job };
        station.start(rules, now, refused);
        QueueTurn::Started(
            refused,
            StartedWork { end: now + rules.refusal, miss: false, crashes, waited: !job.refused },
        )
    }

    /// The work on an attempt that begins now.
    fn begin(
        &mut self,
        rules: &Workers,
        now: Instant,
        shard: u32,
        job: &QueuedAttempt,
    ) -> StartedWork {
        let usual = self.work(now, shard, job.id, job.number);
        let crashes = self.stations[shard as usize].crashes;
        let (Some(rule), Some(cache)) = (&rules.cache, self.caches.get_mut(shard as usize)) else {
            return StartedWork { end: now + usual, miss: false, crashes, waited: true };
        };
        let miss = cache.misses(rule, now, job.id, job.number);
        let more = if miss { rule.miss } else { Span::ZERO };
        StartedWork { end: now + usual + more, miss, crashes, waited: true }
    }

>>>>>>> h-review
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
