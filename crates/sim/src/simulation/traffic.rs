//! Attempts on their way to the backend over the connections of each process, and answers on their way back.

use std::collections::VecDeque;

use stagger_core::{Hint, Instant, Outcome, Span, Verdict};

use super::slab::Ticket;
use crate::dist::exponential;
use crate::plan::{Backend, Criticality, Fleet, Hop, RunPlan};
use crate::queue::{CallerEvent, Class};
use crate::server::{BackendState, QueuedAttempt, StartedWork};
use crate::streams::{Purpose, RandomStream};

/// The work that a worker is done with, as its event tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FinishedWork {
    pub(super) shard: u32,
    /// Whether it was a refusal.
    pub(super) refused: bool,
    /// Whether the attempt missed the cache.
    pub(super) miss: bool,
    /// The crashes of the shard before it began.
    pub(super) crashes: u32,
}

/// The network and what is at its far end.
#[derive(Debug)]
pub(super) struct Traffic<'p> {
    pub(super) backend: BackendState<'p>,
    hop: Hop,
    there: RandomStream,
    back: RandomStream,
}

impl<'p> Traffic<'p> {
    pub(super) fn new(plan: &'p RunPlan, seed: u64) -> Self {
        Self {
            backend: BackendState::new(&plan.backend, &plan.faults, seed),
            hop: plan.hop,
            there: RandomStream::new(seed, Purpose::There),
            back: RandomStream::new(seed, Purpose::Back),
        }
    }

    /// The time that this attempt is under way to the backend.
    #[inline]
    pub(super) fn there(&self, id: u32, number: u32) -> Span {
        Self::take(self.hop, &self.there, id, number)
    }

    /// The time that its answer is under way back.
    #[inline]
    pub(super) fn back(&self, id: u32, number: u32) -> Span {
        Self::take(self.hop, &self.back, id, number)
    }

    #[inline]
    fn take(hop: Hop, draws: &RandomStream, id: u32, number: u32) -> Span {
        match hop {
            Hop::None => Span::ZERO,
            Hop::Fixed(time) => time,
            Hop::Exponential(mean) => exponential(mean, &mut draws.at(id, number)),
        }
    }

    /// The event of an attempt that sets out now and arrives at `at`: in this shard of the backend,
    /// or one layer further in. `other` marks those of bystanders.
    pub(super) fn reach(
        at: Instant,
        ticket: Ticket,
        shard: Option<u32>,
        give_up: Instant,
        (other, criticality): (bool, Criticality),
    ) -> CallerEvent {
        let mark = if other { OF_OTHERS } else { 0 };
        // The usual criticality is no mark, so that the order of events does not depend on it.
        let class = (criticality as u32 ^ Criticality::Critical as u32) << CLASS_SHIFT;
        let tag = shard.map_or(INWARD, |shard| (shard + 1) | mark | class);
        CallerEvent::new(at, Class::Reach, ticket.id).with(tag, [pack(ticket), give_up.as_nanos()])
    }

    /// The shard at which an attempt arrives.
    #[inline]
    pub(super) const fn shard(event: CallerEvent) -> Option<u32> {
        (event.tag() & !(OF_OTHERS | CLASS_MASK)).checked_sub(INWARD + 1)
    }

    /// Whether an attempt that arrives is a bystander's.
    #[inline]
    pub(super) const fn is_of_others(event: CallerEvent) -> bool {
        event.tag() & OF_OTHERS != 0
    }

    /// The criticality of an attempt that arrives.
    #[inline]
    pub(super) const fn criticality(event: CallerEvent) -> Criticality {
        match ((event.tag() & CLASS_MASK) >> CLASS_SHIFT) ^ Criticality::Critical as u32 {
            0 => Criticality::CriticalPlus,
            1 => Criticality::Critical,
            2 => Criticality::SheddablePlus,
            _ => Criticality::Sheddable,
        }
    }

    /// The event of an attempt whose patience ends at `at`.
    pub(super) fn timeout(at: Instant, ticket: Ticket) -> CallerEvent {
        CallerEvent::new(at, Class::Timeout, ticket.id).with(0, [pack(ticket), 0])
    }

    /// The event of a further copy that is due at `at`.
    pub(super) fn hedge(at: Instant, id: u32, slot: u32) -> CallerEvent {
        let ticket = Ticket { id, slot, number: 0 };
        CallerEvent::new(at, Class::Hedge, id).with(0, [pack(ticket), 0])
    }

    /// The event of a worker that is done with `job`.
    pub(super) fn finish(work: &StartedWork, job: &QueuedAttempt, shard: u32) -> CallerEvent {
        let refusal = if job.refused { OF_REFUSAL } else { 0 };
        let miss = if work.miss { OF_MISS } else { 0 };
        let words = [pack(Self::ticket_of(job)), u64::from(work.crashes)];
        CallerEvent::new(work.end, Class::Finish, job.id).with(shard | refusal | miss, words)
    }

    /// The work that a worker is done with.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "as `finish` stored it")]
    pub(super) const fn finished(event: CallerEvent) -> FinishedWork {
        let tag = event.tag();
        FinishedWork {
            shard: tag & !(OF_REFUSAL | OF_MISS),
            refused: tag & OF_REFUSAL != 0,
            miss: tag & OF_MISS != 0,
            // OK because it was a number of 32 bits.
            crashes: event.words()[1] as u32,
        }
    }

    /// The event of an answer of an inner layer, which takes no time.
    pub(super) fn inner_reply(at: Instant, ticket: Ticket, succeeded: bool) -> CallerEvent {
        let class = if succeeded { Class::Served } else { Class::Failed };
        CallerEvent::new(at, class, ticket.id).with(OF_INNER, [pack(ticket), 0])
    }

    /// Whether an answer is the backend's.
    #[inline]
    pub(super) const fn is_of_backend(event: CallerEvent) -> bool {
        event.tag() != OF_INNER
    }

    /// The event of an answer of the backend that reaches its caller at `at`.
    pub(super) fn reply(at: Instant, ticket: Ticket, outcome: &Outcome) -> CallerEvent {
        let class = if outcome.verdict == Verdict::Ok { Class::Served } else { Class::Failed };
        let tag = match outcome.verdict {
            Verdict::Throttled => OF_LIMIT,
            Verdict::Unprocessed => OF_PORT,
            Verdict::Permanent => OF_OPERATOR,
            _ => 0,
        };
        // A hint of no time at all is still a hint, so zero stands for none.
        let hint = outcome.hint.and_then(Hint::span);
        let hint = hint.map_or(0, |hint| hint.as_nanos().saturating_add(1));
        CallerEvent::new(at, class, ticket.id).with(tag, [pack(ticket), hint])
    }

    /// The outcome that an answer brings.
    #[inline]
    pub(super) fn outcome(event: CallerEvent) -> Outcome {
        let outcome = Outcome::new(match (event.class(), event.tag()) {
            (Class::Served, _) => Verdict::Ok,
            (_, OF_LIMIT) => Verdict::Throttled,
            (_, OF_PORT) => Verdict::Unprocessed,
            (_, OF_OPERATOR) => Verdict::Permanent,
            _ => Verdict::Transient,
        });
        match event.words()[1] {
            0 => outcome,
            hint => outcome.with_hint(Hint::AtLeast(Span::from_nanos(hint - 1))),
        }
    }

    /// The attempt that an event is about.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "two halves of one word")]
    pub(super) const fn ticket(id: u32, word: u64) -> Ticket {
        // OK because `pack` put the number above the slot.
        Ticket { id, slot: word as u32, number: (word >> 32) as u32 }
    }

    pub(super) const fn ticket_of(job: &QueuedAttempt) -> Ticket {
        Ticket { id: job.id, slot: job.slot, number: job.number }
    }
}

/// The tag of an attempt on its way to an inner layer; one more than the shard for the others.
const INWARD: u32 = 0;

/// Beside the shard, where the attempt is a bystander's: more than there are shards.
const OF_OTHERS: u32 = Backend::MAX_SHARDS << 1;

/// The tag of an answer that is a throttle.
const OF_LIMIT: u32 = 1;

/// The tag of an answer from an inner layer.
const OF_INNER: u32 = 2;

/// The tag of a refused connection.
const OF_PORT: u32 = 3;

/// The tag of a refusal that is not retried.
const OF_OPERATOR: u32 = 4;

/// Beside the shard, where a worker is done with a refusal.
const OF_REFUSAL: u32 = Backend::MAX_SHARDS << 1;

/// Beside the shard, where a worker is done with what was not in the cache.
const OF_MISS: u32 = Backend::MAX_SHARDS << 2;

/// Beside the shard, two bits for the criticality of an attempt.
const CLASS_SHIFT: u32 = (Backend::MAX_SHARDS << 2).trailing_zeros();
const CLASS_MASK: u32 = 3 << CLASS_SHIFT;
const _: () = assert!(CLASS_MASK <= CallerEvent::MAX_TAG && OF_MISS < CLASS_MASK);

const fn pack(ticket: Ticket) -> u64 {
    ((ticket.number as u64) << 32) | ticket.slot as u64
}

/// Pools by process; none when connections are without limit.
#[derive(Debug)]
pub(super) struct Connections {
    pools: Vec<ConnectionPool>,
    count: u32,
}

#[derive(Clone, Debug, Default)]
struct ConnectionPool {
    taken: u32,
    waiting: VecDeque<(Ticket, Instant)>,
}

impl Connections {
    pub(super) fn new(fleet: &Fleet) -> Self {
        let count = fleet.connections.map(|rule| rule.count);
        let pools = count.map_or(0, |_| fleet.processes.max(1)) as usize;
        Self { pools: vec![ConnectionPool::default(); pools], count: count.unwrap_or(u32::MAX) }
    }

    /// Whether connections are without limit.
    #[inline]
    pub(super) const fn are_free(&self) -> bool {
        self.pools.is_empty()
    }

    /// Takes a connection if one is left.
    pub(super) fn take(&mut self, process: u32) -> bool {
        let Some(pool) = self.pools.get_mut(process as usize) else { return true };
        let left = pool.taken < self.count;
        pool.taken += u32::from(left);
        left
    }

    /// An attempt waits for its turn.
    pub(super) fn wait(&mut self, process: u32, ticket: Ticket, give_up: Instant) {
        if let Some(pool) = self.pools.get_mut(process as usize) {
            pool.waiting.push_back((ticket, give_up));
        }
    }

    /// A connection is free: it goes to the first attempt that takes it, or back to the pool.
    pub(super) fn release(
        &mut self,
        process: u32,
        mut takes: impl FnMut(Ticket) -> bool,
    ) -> Option<(Ticket, Instant)> {
        let pool = self.pools.get_mut(process as usize)?;
        while let Some((ticket, give_up)) = pool.waiting.pop_front() {
            if takes(ticket) {
                return Some((ticket, give_up));
            }
        }
        pool.taken -= 1;
        None
    }
}
