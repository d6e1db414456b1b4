//! A waiting call inside the event that wakes it, so that nothing is kept for it elsewhere.

use stagger_core::budget::BudgetPlan;
use stagger_core::retry::Parked;
use stagger_core::{Instant, Policy, Span};

use crate::plan::{Hop, LedgerModel, RunPlan};
use crate::queue::{CallerEvent, Class};
use crate::server::answers_at_once;

/// Whether all callers of this plan are plain: events are all that is kept of them.
pub(super) fn are_plain(plan: &RunPlan) -> bool {
    let [caller] = plan.callers.as_slice() else { return false };
    let policy = &caller.policy;
    let asks = *policy.budget() != BudgetPlan::Unlimited
        || policy.breaker().is_some()
        || policy.hints().is_shared();
    let parks = policy.limits().max_attempts().is_some_and(|most| most <= MAX_ATTEMPTS);
    let alone = plan.fleet.ledger == LedgerModel::Engine && plan.fleet.connections.is_none();
    let at_once = plan.hop == Hop::None && answers_at_once(&plan.backend, &plan.faults);
    let sources = plan.arrivals.len() == 1 && plan.bystanders.is_empty();
    parks && sources && !asks && policy.hedge().is_none() && alone && at_once
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
