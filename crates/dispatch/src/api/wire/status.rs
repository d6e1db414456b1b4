//! The state of an endpoint, in JSON.

use std::num::NonZeroU32;

use serde::Serialize;
use stagger::Instant;
use stagger::breaker::StateKind;
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{
    AttemptFailure, Disabled, Handshake, HandshakeResult, LastFailure, MessageId,
};
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::schema::{DisabledName, FailureName, MessageIdText, TimestampText};

/// The current state of an endpoint and of its open deliveries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EndpointStatus)]
pub(super) struct Status {
    state: StatusWord,
    /// Why it is disabled, if so.
    #[schema(value_type = Option<DisabledName>)]
    disabled_reason: Option<&'static str>,
    /// Since when all its attempts have failed.
    #[schema(value_type = Option<TimestampText>)]
    failing_since: Option<Timestamp>,
    /// Its last failed attempt, if it has had one. The delivery of its message has the reply.
    last_failure: Option<FailureView>,
    /// The last handshake with its present URL, if it wants one and there was one.
    handshake: Option<HandshakeView>,
    /// Until when it asked to be left alone.
    #[schema(value_type = Option<TimestampText>)]
    paused_until: Option<Timestamp>,
    /// The time at which the next probe may be sent, while its breaker is open.
    #[schema(value_type = Option<TimestampText>)]
    next_probe: Option<Timestamp>,
    /// Deliveries that could be attempted now.
    ready: usize,
    /// Deliveries that wait for their time.
    waiting: usize,
    /// Attempts in flight.
    in_flight: usize,
    /// Attempts a second that are allowed at this moment, if there is a bound.
    rate: Option<u64>,
}

/// The one word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = EndpointState)]
enum StatusWord {
    /// All is well.
    Active,
    /// All its attempts have failed lately; they are retried on schedule.
    Failing,
    /// It is not attempted at all; its deliveries wait.
    Disabled,
    /// It asked for a pause with Retry-After.
    Paused,
    /// Its breaker is open: only a probe now and then.
    Open,
    /// The next attempt is a probe, or one is in flight.
    HalfOpen,
    /// It is well again, and its backlog leaves slowly.
    Recovering,
}

/// A failed attempt to an endpoint.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LastFailure)]
pub(super) struct FailureView {
    /// The message that it carried.
    #[schema(value_type = MessageIdText)]
    message: MessageId,
    /// The time at which it was settled.
    #[schema(value_type = TimestampText)]
    at: Timestamp,
    /// The status, if there was a reply.
    status: Option<u16>,
    /// The kind of failure, if no reply came.
    #[schema(value_type = Option<FailureName>)]
    failure: Option<&'static str>,
}

impl From<&LastFailure> for FailureView {
    fn from(failure: &LastFailure) -> Self {
        let LastFailure { message, at, status, failure } = *failure;
        let failure = failure.map(AttemptFailure::name);
        Self { message, at: Timestamp(at), status, failure }
    }
}

/// A handshake with an endpoint.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Handshake)]
pub(super) struct HandshakeView {
    /// Whether it has consented to deliveries.
    granted: bool,
    /// The most deliveries a minute that it allows, if it bounds them.
    #[schema(minimum = 1)]
    rate: Option<u32>,
    /// The status with which it refused, if it answered.
    status: Option<u16>,
    /// Since when the result is the same.
    #[schema(value_type = TimestampText)]
    at: Timestamp,
}

impl From<&Handshake> for HandshakeView {
    fn from(handshake: &Handshake) -> Self {
        let status = match handshake.result {
            HandshakeResult::Granted { .. } => None,
            HandshakeResult::Refused { status } => status,
        };
        Self {
            granted: handshake.result.is_granted(),
            rate: handshake.result.rate().map(NonZeroU32::get),
            status,
            at: Timestamp(handshake.at),
        }
    }
}

impl Status {
    /// The status that a queue shows at `now`.
    pub(super) fn of(view: &QueueView, now: Instant) -> Self {
        let endpoint_state = view.endpoint_state;
        let paused_until = endpoint_state.paused_until.filter(|until| *until > now);
        Self {
            state: state(view, paused_until.is_some()),
            disabled_reason: endpoint_state.disabled.map(Disabled::name),
            failing_since: endpoint_state.failing_since.map(Timestamp),
            last_failure: endpoint_state.last_failure.as_ref().map(FailureView::from),
            handshake: endpoint_state.handshake.as_ref().map(HandshakeView::from),
            paused_until: paused_until.map(Timestamp),
            next_probe: view.next_probe.map(Timestamp),
            ready: view.ready,
            waiting: view.waiting,
            in_flight: view.in_flight,
            rate: view.rate,
        }
    }
}

/// The strongest reason for which attempts are held back.
const fn state(view: &QueueView, paused: bool) -> StatusWord {
    match view.breaker {
        _ if view.endpoint_state.disabled.is_some() => StatusWord::Disabled,
        StateKind::Open => StatusWord::Open,
        StateKind::HalfOpen => StatusWord::HalfOpen,
        _ if paused => StatusWord::Paused,
        StateKind::Ramp => StatusWord::Recovering,
        StateKind::Closed if view.endpoint_state.recovering_since.is_some() && view.has_open() => {
            StatusWord::Recovering
        }
        StateKind::Closed if view.endpoint_state.failing_since.is_some() => StatusWord::Failing,
        StateKind::Closed => StatusWord::Active,
    }
}
