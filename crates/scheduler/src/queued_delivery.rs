//! An open delivery in a queue: as small as possible, because a backlog has millions.

use std::num::NonZeroU32;

use stagger_core::retry::Saved;
use stagger_core::{Instant, Span};

use crate::model::{ApplicationId, Delivery, DeliveryState, EndpointId, MessageId};

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

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

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
