//! Storage for callers: with attempts under way in a slab, waiting ones inside the event that wakes them, so
//! that nothing else is kept for them.

use stagger_core::budget::BudgetPlan;
use stagger_core::retry::{Detached, Launched, Parked};
use stagger_core::{Instant, Policy, Span};

use crate::plan::{Hop, LedgerModel, MOST_PARKED_ATTEMPTS, RunPlan, Users};
use crate::queue::{CallerEvent, Class};
use crate::server::answers_at_once;

/// The identity of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallIdentity {
    pub(super) id: u32,
    /// The client, which decides the process; the id where each call has its own.
    pub(super) client: u32,
    /// The slot of the caller; [`NOWHERE`] while it is not kept.
    pub(super) slot: u32,
    pub(super) layer: u8,
    /// The number of the source of arrivals that it came from.
    pub(super) source: u8,
    pub(super) shard: u32,
    pub(super) ledger: u32,
    /// The attempt of the caller one layer further out that this call is made for.
    pub(super) parent: Option<Ticket>,
    /// The server that a balancer chose for the last attempt.
    pub(super) last_server: Option<u32>,
    /// The clicks of its user before it.
    pub(super) clicks: u32,
}

/// One attempt of one caller that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) id: u32,
    pub(super) slot: u32,
    pub(super) number: u32,
}

/// No slot.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A caller in the middle of its call.
#[derive(Clone, Debug)]
pub(super) struct StoredCall {
    pub(super) who: CallIdentity,
    pub(super) call: Detached,
    /// The instant at which the next copy is due, if an event says so.
    pub(super) hedge_at: Option<Instant>,
    /// Attempts under way: nearly always one.
    pub(super) flights: Vec<AttemptInFlight>,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptInFlight {
    pub(super) launched: Launched,
    pub(super) since: Instant,
    /// The instant at which its caller gives it up.
    pub(super) give_up: Instant,
    /// Whether it holds a connection of its process: not while it waits for one, nor on its way to
    /// an inner layer.
    pub(super) connected: bool,
    /// The server that a balancer chose for it.
    pub(super) server: Option<u32>,
}

/// Callers by slot; slots are used again.
#[derive(Debug, Default)]
pub(super) struct Slab {
    kept: Vec<Option<StoredCall>>,
    free: Vec<u32>,
    /// Lists of flights to use again.
    spare: Vec<Vec<AttemptInFlight>>,
}

impl Slab {
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.free.clear();
    }

    /// Keeps a caller, where it was kept before if it was.
    #[inline]
    pub(super) fn keep(&mut self, who: &mut CallIdentity, call: Detached) {
        if who.slot != NOWHERE {
            if let Some(kept) = &mut self.kept[who.slot as usize] {
                kept.call = call;
                kept.who.last_server = who.last_server;
            }
            return;
        }
        let slot = self.free.pop();
        let last = self.kept.len();
        who.slot = slot.unwrap_or_else(|| u32::try_from(last).expect("fewer slots than ids"));
        let flights = self.spare.pop().unwrap_or_default();
        let kept = Some(StoredCall { who: *who, call, hedge_at: None, flights });
        match slot {
            Some(slot) => self.kept[slot as usize] = kept,
            None => self.kept.push(kept),
        }
    }

    /// The caller of this id, if it is still in this slot.
    #[inline]
    pub(super) fn get(&mut self, slot: u32, id: u32) -> Option<&mut StoredCall> {
        self.kept.get_mut(slot as usize)?.as_mut().filter(|kept| kept.who.id == id)
    }

    /// Whether the caller still waits for this attempt.
    #[inline]
    pub(super) fn waits_for(&self, ticket: Ticket) -> bool {
        let kept = self.kept.get(ticket.slot as usize).and_then(Option::as_ref);
        kept.is_some_and(|kept| {
            kept.who.id == ticket.id
                && kept.flights.iter().any(|flight| flight.launched.attempt.number == ticket.number)
        })
    }

    /// The instant at which the caller of this attempt gives it up; the origin when it waits no longer.
    pub(super) fn give_up(&mut self, ticket: Ticket) -> Instant {
        let kept = self.get(ticket.slot, ticket.id);
        let mut flights = kept.iter().flat_map(|kept| &kept.flights);
        let flight = flights.find(|flight| flight.launched.attempt.number == ticket.number);
        flight.map_or(Instant::ORIGIN, |flight| flight.give_up)
    }

    /// Whether the caller has no attempt under way.
    pub(super) fn is_idle(&mut self, ticket: Ticket) -> bool {
        self.get(ticket.slot, ticket.id).is_none_or(|kept| kept.flights.is_empty())
    }

    /// A balancer chose this server for an attempt, and `last` is to be avoided by the next one; false when
    /// its caller waits for it no longer.
    pub(super) fn place(&mut self, ticket: Ticket, server: u32, last: Option<u32>) -> bool {
        let Some(kept) = self.get(ticket.slot, ticket.id) else { return false };
        kept.who.last_server = last;
        let mut flights = kept.flights.iter_mut();
        let flight = flights.find(|flight| flight.launched.attempt.number == ticket.number);
        flight.map(|flight| flight.server = Some(server)).is_some()
    }

    /// Whether the outermost caller still waits for the call that this attempt belongs to.
    pub(super) fn is_wanted(&self, ticket: Ticket) -> bool {
        let mut next = Some(ticket);
        while let Some(ticket) = next {
            if !self.waits_for(ticket) {
                return false;
            }
            let kept = self.kept.get(ticket.slot as usize).and_then(Option::as_ref);
            next = kept.and_then(|kept| kept.who.parent);
        }
        true
    }

    /// An attempt that waited for a connection has one; false when its caller waits no longer.
    pub(super) fn connect(&mut self, ticket: Ticket) -> bool {
        let Some(kept) = self.get(ticket.slot, ticket.id) else { return false };
        let mut flights = kept.flights.iter_mut();
        let flight = flights.find(|flight| flight.launched.attempt.number == ticket.number);
        flight.map(|flight| flight.connected = true).is_some()
    }

    /// Lets a caller go, and gives the attempts that are still under way.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) -> Vec<AttemptInFlight> {
        self.free.push(slot);
        self.kept[slot as usize].take().map_or_else(Vec::new, |kept| kept.flights)
    }

    /// Takes a list of flights back for its memory.
    #[inline]
    pub(super) fn recycle(&mut self, mut flights: Vec<AttemptInFlight>) {
        flights.clear();
        self.spare.push(flights);
    }
}

/// Whether all callers of this plan are plain: events are all that is kept of them.
pub(super) fn are_plain(plan: &RunPlan) -> bool {
    let [caller] = plan.callers.as_slice() else { return false };
    let policy = &caller.policy;
    let parks = policy.limits().max_attempts().is_some_and(|most| most <= MAX_ATTEMPTS);
    let at_once = answers_at_once(&plan.backend, &plan.faults);
    let sources = plan.arrivals.len() == 1 && plan.bystanders.is_empty();
    parks && sources && at_once && ask_nothing(plan)
}

/// Whether the outermost callers of this plan call the backend, without a way to it, and decide by their own
/// state alone: those that are refused need not be kept, see [`plain`](super::plain).
pub(super) fn ask_nothing(plan: &RunPlan) -> bool {
    let [caller] = plan.callers.as_slice() else { return false };
    let policy = &caller.policy;
    let asks = *policy.budget() != BudgetPlan::Unlimited
        || policy.breaker().is_some()
        || policy.hints().is_shared()
        || policy.adaptive().is_some()
        || policy.concurrency_limit().is_some()
        || policy.rate_limit().is_some();
    let alone = plan.fleet.ledger == LedgerModel::Engine && plan.fleet.connections.is_none();
    let alone = alone && plan.backend.balancer.is_none() && plan.users == Users::default();
    !asks && policy.hedge().is_none() && alone && plan.hop == Hop::None
}

/// The event that wakes this call at `at`; `None` when it has made too many attempts for one.
///
/// The last delay is left out unless a law of the policy draws from it, because a word that is zero
/// need not be stored.
#[inline]
pub(super) fn wake(at: Instant, id: u32, call: &Parked, policy: &Policy) -> Option<CallerEvent> {
    let fits = (1..=MAX_ATTEMPTS).contains(&call.attempts) && call.retries <= MAX_RETRIES;
    let tag = (call.attempts << RETRY_BITS) | call.retries;
    let prev = if draws_from_last(policy) { call.prev } else { Span::ZERO };
    let words = [call.started.as_nanos(), prev.as_nanos()];
    fits.then(|| CallerEvent::new(at, Class::Wake, id).with(tag, words))
}

/// Whether a call came along with this event.
#[inline]
pub(super) const fn carries_call(event: CallerEvent) -> bool {
    event.tag() > 0
}

/// The call that came along.
#[inline]
pub(super) const fn call(event: CallerEvent) -> Parked {
    let [started, prev] = event.words();
    Parked {
        started: Instant::from_nanos(started),
        wake: event.at(),
        prev: Span::from_nanos(prev),
        attempts: event.tag() >> RETRY_BITS,
        retries: event.tag() & MAX_RETRIES,
    }
}

#[inline]
fn draws_from_last(policy: &Policy) -> bool {
    policy.backoff().jitter().is_decorrelated()
        || policy.throttled_backoff().jitter().is_decorrelated()
}

/// Retry numbers have the lower half of a tag, attempts the upper one.
const RETRY_BITS: u32 = 12;

const MAX_RETRIES: u32 = (1 << RETRY_BITS) - 1;

/// The most attempts that a call in an event can have made.
pub(super) const MAX_ATTEMPTS: u32 = CallerEvent::MAX_TAG >> RETRY_BITS;
const _: () = assert!(MAX_ATTEMPTS == MOST_PARKED_ATTEMPTS);
