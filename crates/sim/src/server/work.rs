//! Attempts at the workers of a backend: they ask for one, have their turn, and are done.

use stagger_core::{Instant, Span};

use super::backend::BackendState;
use super::station::{CrashLoss, QueueAdmission, WorkerTurn};
use super::waiting::QueuedAttempt;
use crate::plan::{CacheFill, Cancel, Full, Workers};

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

impl BackendState<'_> {
    /// An attempt that was [received](Self::receive) asks for a worker.
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
}
