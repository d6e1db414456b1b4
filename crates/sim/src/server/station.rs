//! The workers of one shard with what waits before them: an attempt comes in, has its turn, and leaves.

use std::collections::VecDeque;

use stagger_core::{Instant, Ratio, Span};

use super::scaling::Scaler;
use super::shedding::SheddingState;
use super::waiting::{QueuedAttempt, Waiting};
use crate::plan::{Full, QueueDiscipline, Shedding, Workers};

/// The place of an attempt that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueueAdmission {
    /// A worker is free: start it.
    Start,
    /// It waits.
    Wait,
    /// It waits in the place of another one, which is refused.
    Replace(QueuedAttempt),
    /// The queue is full, and it waits for a worker that refuses it.
    WaitForRefusal,
    /// The queue is full.
    Refuse,
    /// The queue is full, and the attempt is dropped without an answer.
    Drop,
}

/// The next turn of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerTurn {
    /// The attempt may be worked on.
    Work(QueuedAttempt),
    /// The attempt is refused, by a worker if that takes time.
    Refuse(QueuedAttempt),
}

/// The attempts that a crash loses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CrashLoss {
    /// All of them.
    pub(crate) attempts: Vec<QueuedAttempt>,
    /// The number of those that waited for work.
    pub(crate) waited: u64,
}

/// One shard's workers and queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Station {
    waiting: Waiting,
    /// Attempts that found the queue full and wait for their refusal.
    refusals: VecDeque<QueuedAttempt>,
    busy: u32,
    shedding: SheddingState,
    scaler: Scaler,
    /// The attempts that workers have, where a crash loses them or their latency decides.
    running: Vec<QueuedAttempt>,
    /// Crashes so far: work that was begun before one of them is never done.
    pub(super) crashes: u32,
    /// The instant at which its port is open again.
    pub(super) up_from: Instant,
}

impl Station {
    pub(super) fn enter(
        &mut self,
        rules: &Workers,
        now: Instant,
        mut job: QueuedAttempt,
        stalled: bool,
    ) -> QueueAdmission {
        if self.shedding.is_full(&rules.shedding, rules.count, self.held()) {
            return self.turn_away(rules, job);
        }
        if !stalled && self.busy < self.workers(rules) {
            self.start(rules, now, job);
            return QueueAdmission::Start;
        }
        if let Shedding::FailFast { target, interval } = rules.shedding {
            let stands = self.waiting.stands(now, interval);
            job.shed_at = now + if stands { target } else { interval };
        }
        let full = rules.queue.is_some_and(|bound| self.waiting.len() >= bound as usize);
        if full {
            let evicts = rules.order == QueueDiscipline::ByCriticality;
            let evicted = if evicts { self.waiting.evict_for(rules.order, &job) } else { None };
            let Some(evicted) = evicted else { return self.turn_away(rules, job) };
            self.waiting.push(now, rules.order, job);
            return match self.turn_away(rules, evicted) {
                QueueAdmission::Refuse => QueueAdmission::Replace(evicted),
                // The evicted one waits for its refusal, or is gone in silence: as many wait as before.
                other => other,
            };
        }
        self.waiting.push(now, rules.order, job);
        QueueAdmission::Wait
    }

    /// Refuses an attempt as the rules have it.
    fn turn_away(&mut self, rules: &Workers, job: QueuedAttempt) -> QueueAdmission {
        match rules.full {
            Full::Refuse if rules.refusal > Span::ZERO => {
                self.refusals.push_back(QueuedAttempt { refused: true, ..job });
                QueueAdmission::WaitForRefusal
            }
            Full::Refuse => QueueAdmission::Refuse,
            Full::Drop => QueueAdmission::Drop,
        }
    }

    /// Whether an attempt that comes now is refused, and that costs nothing.
    #[inline]
    pub(super) fn refuses_at_once(&self, rules: &Workers, stalled: bool) -> bool {
        let free = rules.full == Full::Refuse && rules.refusal == Span::ZERO;
        let full = || {
            let busy = stalled || self.busy >= self.workers(rules);
            busy && rules.order != QueueDiscipline::ByCriticality
                && rules.queue.is_some_and(|bound| self.waiting.len() >= bound as usize)
        };
        free && (full() || self.shedding.is_full(&rules.shedding, rules.count, self.held()))
    }

    /// Attempts that are worked on or wait for work; those that wait for a refusal are not among them.
    pub(super) fn held(&self) -> usize {
        self.waiting.len() + self.busy as usize
    }

    /// A worker is done with an attempt.
    pub(super) fn leave(&mut self, rules: &Workers, now: Instant, (id, number): (u32, u32)) {
        self.note(rules, now);
        self.busy -= 1;
        let mut running = self.running.iter();
        if let Some(place) = running.position(|job| (job.id, job.number) == (id, number)) {
            let job = self.running.swap_remove(place);
            if !job.refused {
                self.shedding.over(&rules.shedding, rules.count, now, job.since);
            }
        }
    }

    /// The next attempt, if a worker is free for it. The caller starts it, refuses it or drops it.
    pub(super) fn next(&mut self, rules: &Workers, now: Instant) -> Option<WorkerTurn> {
        if self.busy >= self.workers(rules) {
            return None;
        }
        if let Some(refused) = self.refusals.pop_front() {
            return Some(WorkerTurn::Refuse(refused));
        }
        let job = self.waiting.pop(now, rules.order)?;
        let last = self.waiting.is_empty();
        match self.shedding.sheds(&rules.shedding, now, &job, last) {
            true => Some(WorkerTurn::Refuse(job)),
            false => Some(WorkerTurn::Work(job)),
        }
    }

    /// The attempt that was taken is started.
    pub(super) fn start(&mut self, rules: &Workers, now: Instant, job: QueuedAttempt) {
        self.note(rules, now);
        self.busy += 1;
        if rules.crash.is_some() || rules.shedding.limits() {
            self.running.push(job);
        }
    }

    /// The time that work of this length takes in the crowd of now.
    pub(super) fn crowded(&self, rules: &Workers, usual: Span) -> Span {
        if rules.collapse == Ratio::ZERO {
            return usual;
        }
        let extra = rules.collapse.of_span(usual);
        usual + extra.saturating_mul(self.waiting.len() as u64)
    }
}

/// What the load does to a shard.
impl Station {
    /// Falls over if it holds too much, and loses that.
    pub(super) fn crash(&mut self, rules: &Workers, now: Instant) -> Option<CrashLoss> {
        let rule = rules.crash.filter(|rule| self.held() >= rule.at as usize)?;
        self.note(rules, now);
        let waited = self.waiting.len() as u64;
        let mut attempts = std::mem::take(&mut self.running);
        attempts.extend(self.refusals.drain(..));
        attempts.extend(self.waiting.clear());
        (self.busy, self.shedding) = (0, SheddingState::default());
        self.crashes += 1;
        self.up_from = now + rule.restart;
        Some(CrashLoss { attempts, waited })
    }

    /// Looks at the load: when workers come that were ordered.
    pub(super) fn scale(&mut self, rules: &Workers, now: Instant) -> Option<Instant> {
        let rule = rules.scaling.as_ref()?;
        self.note(rules, now);
        self.scaler.arrive(now);
        self.scaler.look(rule, now, rules.count)
    }

    fn note(&mut self, rules: &Workers, now: Instant) {
        if rules.scaling.is_some() {
            self.scaler.note(now, self.busy, rules.count + self.scaler.extra());
        }
    }

    const fn workers(&self, rules: &Workers) -> u32 {
        rules.count + self.scaler.extra()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Criticality;

    #[test]
    fn first_attempts_go_before_retries_and_refusals_before_both() {
        let mut rules = Workers::new(1, Some(4));
        (rules.order, rules.refusal) = (QueueDiscipline::FirstTriesFirst, Span::from_millis(1));
        let mut station = Station::default();
        let now = Instant::ORIGIN;
        let job = |id, number| QueuedAttempt {
            id,
            slot: 0,
            number,
            give_up: Instant::FAR,
            since: now,
            shed_at: Instant::FAR,
            criticality: Criticality::default(),
            refused: false,
        };
        assert_eq!(station.enter(&rules, now, job(0, 1), false), QueueAdmission::Start);
        for (id, number) in [(1, 2), (2, 1), (3, 3), (4, 1)] {
            assert_eq!(station.enter(&rules, now, job(id, number), false), QueueAdmission::Wait);
        }
        let sixth = station.enter(&rules, now, job(5, 1), false);
        assert_eq!(sixth, QueueAdmission::WaitForRefusal);
        station.leave(&rules, now, (0, 1));
        let order = std::iter::from_fn(|| station.next(&rules, now));
        let order = order.map(|turn| match turn {
            WorkerTurn::Work(job) | WorkerTurn::Refuse(job) => job.id,
        });
        assert_eq!(order.collect::<Vec<_>>(), [5, 2, 4, 1, 3]);
    }
}
