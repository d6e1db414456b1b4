//! The next state of a delivery after an attempt: the engine's call, resumed for one outcome.

use std::num::NonZeroU32;

use stagger_core::retry::{Action, Call, Retry, Step, Stop, Wait};
use stagger_core::{Entropy, Hint, Instant, Outcome, Policy, Span};

use super::queued_delivery::{CallProgress, QueuedDelivery};
use super::rules::QueueRules;
use crate::model::DeliveryEnding;

/// The next state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// It has arrived.
    Delivered,
    /// It waits for its next attempt.
    Waiting,
    /// No attempt follows.
    Dead(DeliveryEnding),
}

/// Counts an attempt that began at `launched` and ended with `outcome` at `now`, and returns the
/// next state.
///
/// The limits of the policy are checked now and not at the launch: a delivery that was held back by
/// its queue, or by limits that were changed meanwhile, has had the attempt that it was promised.
pub(super) fn settle(
    queued: &mut QueuedDelivery,
    rules: &QueueRules,
    (launched, now): (Instant, Instant),
    (outcome, ending): (&Outcome, DeliveryEnding),
    entropy: &mut impl Entropy,
) -> Transition {
    let call = running(queued.progress, &rules.policy, launched);
    let (call, step) = after(call, &rules.policy, now, outcome, entropy);
    queued.attempts = queued.attempts.saturating_add(1);
    queued.changed_at = now;
    queued.progress = round_of(&call, now);
    match step {
        Step::Act(Action::Wait(Wait::Until(due))) => {
            let pause = outcome.hint.and_then(Hint::span).map_or(Span::ZERO, |it| rules.pause(it));
            queued.due = due.max(now + pause);
            Transition::Waiting
        }
        Step::Act(Action::Done(done)) if done.stop == Stop::Succeeded => Transition::Delivered,
        Step::Act(Action::Done(done)) => Transition::Dead(ending_of(done.stop, ending)),
        // A call without budget, breaker and copies asks for no permit, and has nothing else in
        // flight.
        Step::Ask(_)
        | Step::Act(Action::Attempt(_) | Action::Hedge(_) | Action::Wait(Wait::Copies { .. })) => {
            Transition::Waiting
        }
    }
}

/// The call after `outcome`, and its next step.
///
/// A hint asks for patience and never ends a delivery. One that forbids a retry, or that reaches past the
/// deadline, is dropped here; the delivery is then due at its own delay, or at the end of the hint where
/// that is later.
fn after(
    mut call: Retry,
    policy: &Policy,
    now: Instant,
    outcome: &Outcome,
    entropy: &mut impl Entropy,
) -> (Retry, Step) {
    let before = call;
    let step = call.on_outcome(policy, now, outcome, entropy);
    let ends = |stop| matches!(stop, Stop::HintForbids | Stop::HintPastDeadline);
    if !matches!(step, Step::Act(Action::Done(done)) if ends(done.stop)) {
        return (call, step);
    }
    let mut plain = *outcome;
    plain.hint = None;
    call = before;
    let step = call.on_outcome(policy, now, &plain, entropy);
    (call, step)
}

/// The call with its next attempt in flight since `launched`.
fn running(progress: Option<CallProgress>, policy: &Policy, launched: Instant) -> Retry {
    match progress {
        None => Retry::start(policy, Call::idempotent(), launched).0,
        Some(progress) => progress.saved(launched).resume(&boundless(policy), launched).0,
    }
}

/// A policy under which every call may go on: only a launch is asked of it.
fn boundless(policy: &Policy) -> Policy {
    let builder = Policy::builder().budget(*policy.budget()).max_attempts(u32::MAX);
    builder.build().unwrap_or(*policy)
}

fn round_of(call: &Retry, now: Instant) -> Option<CallProgress> {
    Some(CallProgress {
        started: Instant::from_nanos(now.as_nanos().saturating_sub(call.elapsed(now).as_nanos())),
        prev: call.last_delay(),
        attempts: NonZeroU32::new(call.attempts())?,
        retries: call.save(now).retries,
    })
}

const fn ending_of(stop: Stop, ending: DeliveryEnding) -> DeliveryEnding {
    match stop {
        Stop::AttemptsExhausted => DeliveryEnding::AttemptsExhausted,
        Stop::DeadlineExceeded => DeliveryEnding::DeadlineExceeded,
        // The others belong to hints, which end nothing here, and to budget, breaker and callers,
        // which a queue's call does not have.
        _ => ending,
    }
}
