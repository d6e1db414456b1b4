//! What the floor asks for, and what it answers with.

use stagger::Instant;

use crate::model::{ApplicationId, Disabled, EndpointId, MessageId};
use crate::store::Settlement;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Make this attempt now, and tell what came of it.
    Send(Launch),
    /// Nothing before this, unless something is told.
    Until(Instant),
    /// Nothing until something is told.
    Idle,
}

/// One attempt that is to be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What is sent.
    pub message: MessageId,
    /// Where to.
    pub endpoint: EndpointId,
    /// Whose it is.
    pub application: ApplicationId,
    /// The attempt's number, from 1, replays counted on.
    pub number: u32,
    /// Whether it repeats an attempt that failed.
    pub retry: bool,
    /// Whether the breaker sent it to see if the endpoint is well.
    pub probe: bool,
    /// When it was launched.
    pub at: Instant,
    /// Which of all attempts it is: so that its answer finds its permits.
    pub(super) serial: u64,
}

/// What an answer came to.
#[derive(Clone, Debug)]
pub struct Settled {
    /// What becomes durable.
    pub settlement: Settlement,
    /// What the application should hear of.
    pub event: Option<OperationalEvent>,
}

/// What an application is told by an operational webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationalEvent {
    /// An endpoint was disabled: `stagger.endpoint.disabled`.
    EndpointDisabled(EndpointId, Disabled),
    /// A delivery died: `stagger.delivery.dead`.
    DeliveryDead(EndpointId, MessageId),
}
