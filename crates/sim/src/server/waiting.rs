//! The attempts that wait before the workers of one shard, and the order of their turns.

use std::collections::VecDeque;

use stagger_core::{Instant, Span};

use crate::plan::{Criticality, QueueDiscipline};

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
    /// The instant at which it came.
    pub(crate) since: Instant,
    /// The instant after which it is shed at its turn.
    pub(crate) shed_at: Instant,
    /// How much its call matters.
    pub(crate) criticality: Criticality,
    /// Whether it waits for its refusal, which takes a worker's time.
    pub(crate) refused: bool,
}

/// The queue of one shard: a row for every rank, of which the lowest goes first.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    ranks: [VecDeque<QueuedAttempt>; RANKS],
    /// The instant since when it is not empty.
    filled_since: Option<Instant>,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.ranks.iter().map(VecDeque::len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranks.iter().all(VecDeque::is_empty)
    }

    /// Whether it has not been empty for so long.
    pub(super) fn stands(&self, now: Instant, interval: Span) -> bool {
        self.filled_since.is_some_and(|since| now - since >= interval)
    }

    pub(super) fn push(&mut self, now: Instant, order: QueueDiscipline, job: QueuedAttempt) {
        self.filled_since.get_or_insert(now);
        self.ranks[rank(order, &job)].push_back(job);
    }

    /// Takes the attempt whose turn it is.
    pub(super) fn pop(&mut self, now: Instant, order: QueueDiscipline) -> Option<QueuedAttempt> {
        let newest = match order {
            QueueDiscipline::NewestFirst => true,
            QueueDiscipline::Adaptive => self.stands(now, ADAPTIVE_AFTER),
            _ => false,
        };
        let row = self.ranks.iter_mut().find(|row| !row.is_empty())?;
        let job = if newest { row.pop_back() } else { row.pop_front() };
        if self.is_empty() {
            self.filled_since = None;
        }
        job
    }

    /// Makes room for this attempt: takes the last one of the lowest rank below its own.
    pub(super) fn evict_for(
        &mut self,
        order: QueueDiscipline,
        job: &QueuedAttempt,
    ) -> Option<QueuedAttempt> {
        let own = rank(order, job);
        let lower = self.ranks.iter_mut().skip(own + 1).rev();
        lower.filter_map(VecDeque::pop_back).next()
    }

    /// Takes all of them.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = QueuedAttempt> {
        self.filled_since = None;
        std::mem::take(&mut self.ranks).into_iter().flatten()
    }
}

/// The rank of an attempt: the lowest goes first.
fn rank(order: QueueDiscipline, job: &QueuedAttempt) -> usize {
    match order {
        QueueDiscipline::FirstTriesFirst => usize::from(job.number > 1),
        QueueDiscipline::ByCriticality => job.criticality as usize,
        QueueDiscipline::OldestFirst | QueueDiscipline::NewestFirst | QueueDiscipline::Adaptive => {
            0
        }
    }
}

/// As many as there are criticalities.
const RANKS: usize = 4;

/// An adaptive queue turns around once it has stood for 100 ms (Maurer, "Fail at Scale", 2015).
const ADAPTIVE_AFTER: Span = Span::from_millis(100);
