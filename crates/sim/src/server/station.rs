//! Workers and the queue before them.

use std::collections::VecDeque;

use stagger_core::{Instant, Ratio, Span};

use crate::plan::{Full, QueueDiscipline, Workers};

/// An attempt that waits for a worker or has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedAttempt {
    /// The call.
    pub(crate) id: u32,
    /// The slot that keeps its caller.
    pub(crate) slot: u32,
    /// The attempt's number in its call.
    pub(crate) number: u32,
    /// The instant at which its caller gives up.
    pub(crate) give_up: Instant,
}

/// The place of an attempt that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueAdmission {
    /// A worker is free: start it.
    Start,
    /// It waits.
    Wait,
    /// The queue is full.
    Refuse,
    /// The queue is full, and the attempt is dropped without an answer.
    Drop,
}

/// One shard's workers and queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Station {
    queue: VecDeque<QueuedAttempt>,
    busy: u32,
}

impl Station {
    pub(super) fn enter(
        &mut self,
        rules: &Workers,
        job: QueuedAttempt,
        stalled: bool,
    ) -> QueueAdmission {
        if !stalled && self.busy < rules.count {
            self.busy += 1;
            return QueueAdmission::Start;
        }
        let waiting = self.queue.len();
        if rules.queue.is_some_and(|bound| waiting >= bound as usize) {
            return match rules.full {
                Full::Refuse => QueueAdmission::Refuse,
                Full::Drop => QueueAdmission::Drop,
            };
        }
        self.queue.push_back(job);
        QueueAdmission::Wait
    }

    /// A worker is free again.
    pub(super) const fn leave(&mut self) {
        self.busy -= 1;
    }

    /// The next attempt, if a worker is free for it. The caller starts it or drops it.
    pub(super) fn next(&mut self, rules: &Workers) -> Option<QueuedAttempt> {
        if self.busy >= rules.count {
            return None;
        }
        match rules.order {
            QueueDiscipline::OldestFirst => self.queue.pop_front(),
            QueueDiscipline::NewestFirst => self.queue.pop_back(),
        }
    }

    /// The attempt that was taken is started.
    pub(super) const fn start(&mut self) {
        self.busy += 1;
    }

    /// The time that work of this length takes in the crowd of now.
    pub(super) fn crowded(&self, rules: &Workers, usual: Span) -> Span {
        if rules.collapse == Ratio::ZERO {
            return usual;
        }
        let extra = rules.collapse.of_span(usual);
        usual + extra.saturating_mul(self.queue.len() as u64)
    }
}
