//! An open delivery in a queue, and its next state after an attempt: the engine's call, resumed for one
//! outcome.
//!
//! A queued delivery is as small as possible, because a backlog has millions.

use std::num::NonZeroU32;

use stagger_core::retry::{Action, Call, Retry, Saved, Step, Stop, Wait};
use stagger_core::{Entropy, Hint, Instant, Outcome, Policy, Span};

use super::rules::QueueRules;
use crate::model::{ApplicationId, Delivery, DeliveryEnding, DeliveryState, EndpointId, MessageId};

/// A delivery without the fields that its queue has, or that follow from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuedDelivery {
    pub(super) message: MessageId,
    /// The next attempt is not made before this.
    pub(super) due: Instant,
    pub(super) changed_at: Instant,
    /// Attempts made in all.
    pub(super) attempts: u32,
    pub(super) replays: u32,
    pub(super) progress: Option<CallProgress>,
    pub(super) state: QueueState,
}

/// The attempts since the last replay, once one of them has failed: the engine's call.
///
/// The flags of [`Saved`] are left out. No delivery has remedies, copies, or calls that must not be
/// repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallProgress {
    pub(super) started: Instant,
    pub(super) prev: Span,
    pub(super) attempts: NonZeroU32,
    pub(super) retries: u32,
}

/// The position of a delivery in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueState {
    /// Its time has come.
    Ready,
    /// Its time will come.
    Waiting,
    /// It is being attempted.
    UnderWay,
}

impl QueuedDelivery {
    pub(super) fn of(delivery: &Delivery) -> Self {
        Self {
            message: delivery.message,
            due: delivery.due,
            changed_at: delivery.updated_at,
            attempts: delivery.attempts,
            replays: delivery.replays,
            progress: delivery.call.and_then(|saved| CallProgress::of(&saved, delivery.updated_at)),
            state: QueueState::Waiting,
        }
    }

    /// The delivery, open.
    pub(super) fn to_delivery(self, endpoint: EndpointId, application: ApplicationId) -> Delivery {
        let call = self.progress.map(|progress| Saved {
            wait: self.due - self.changed_at,
            ..progress.saved(self.changed_at)
        });
        Delivery {
            message: self.message,
            endpoint,
            application,
            state: if call.is_none() { DeliveryState::Pending } else { DeliveryState::Waiting },
            due: self.due,
            attempts: self.attempts,
            replays: self.replays,
            call,
            ending: None,
            updated_at: self.changed_at,
        }
    }

    /// Whether its next attempt repeats one.
    pub(super) const fn is_retry(&self) -> bool {
        self.progress.is_some()
    }
}

impl CallProgress {
    /// The call as it was saved at `at`, if it has made an attempt.
    pub(super) fn of(saved: &Saved, at: Instant) -> Option<Self> {
        Some(Self {
            started: Instant::from_nanos(at.as_nanos().saturating_sub(saved.elapsed.as_nanos())),
            prev: saved.prev,
            attempts: NonZeroU32::new(saved.attempts)?,
            retries: saved.retries,
        })
    }

    /// The call as it stands at `at`, with nothing left to wait for.
    pub(super) fn saved(self, at: Instant) -> Saved {
        Saved {
            attempts: self.attempts.get(),
            retries: self.retries,
            elapsed: at - self.started,
            wait: Span::ZERO,
            prev: self.prev,
            spent: 0,
            under_way: false,
            idempotent: true,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_million_waiting_deliveries_are_not_half_a_gigabyte() {
        assert_eq!(size_of::<Option<QueuedDelivery>>(), 72);
    }

    #[test]
    fn a_queued_delivery_remembers_all_of_its_delivery() {
        let (endpoint, app) =
            (EndpointId::from_uuid(Uuid::nil()), ApplicationId::from_uuid(Uuid::nil()));
        let now = Instant::ORIGIN + Span::from_secs(1_700_000_000);
        let fresh = Delivery::new(MessageId::from_uuid(Uuid::max()), endpoint, app, now);
        let failed = Delivery {
            state: DeliveryState::Waiting,
            due: now + Span::from_secs(9),
            attempts: 14,
            replays: 1,
            call: Some(Saved {
                attempts: 4,
                retries: 4,
                elapsed: Span::from_secs(100),
                wait: Span::from_secs(9),
                prev: Span::from_secs(9),
                spent: 0,
                under_way: false,
                idempotent: true,
            }),
            ..fresh
        };
        for delivery in [fresh, failed] {
            assert_eq!(QueuedDelivery::of(&delivery).to_delivery(endpoint, app), delivery);
        }
    }
}
