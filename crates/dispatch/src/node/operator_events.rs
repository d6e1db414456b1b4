//! The events that the operator of the node is told, as messages to the endpoints of one application.
//!
//! An event is stored in the transaction that stores its change: either both are there or none, whichever node made the
//! change, and a node whose membership has ended stores neither. That application itself causes no events, so that they
//! do not go round in circles.

use std::sync::Arc;

use serde_json::{Value, json};
use stagger::Instant;
use stagger_scheduler::alerts::{ExhaustedAlerts, FailingAlerts};
use stagger_scheduler::model::{
    ApplicationId, AttemptFailure, DeliveryEnding, DeliveryState, Endpoint, EndpointId,
    EndpointState, MessageId, NewMessage,
};
use stagger_store::Settlement;
use stagger_text::Timestamp;

use super::health::NodeHealth;
use super::operational::{EventMaker, shown};
use crate::Error;
use crate::observe::Instruments;

const FAILING: &str = "endpoint.failing";
const RECOVERED: &str = "endpoint.recovered";
const DISABLED: &str = "endpoint.disabled";
const EXHAUSTED: &str = "delivery.exhausted";

/// Decides what the operator is told, and makes the messages.
#[derive(Debug)]
pub(super) struct OperatorEvents {
    /// The application that is told; nothing is told without one.
    application: Option<ApplicationId>,
    maker: EventMaker,
    health: Arc<NodeHealth>,
    /// The most open deliveries of the application.
    most_open: usize,
    instruments: Arc<Instruments>,
    failing: FailingAlerts,
    exhausted: ExhaustedAlerts<ExhaustedDelivery>,
}

/// The consequences of a change of an endpoint's state.
#[derive(Debug)]
pub(super) struct OperatorNotice {
    /// The message that is stored with the change.
    pub(super) message: Option<NewMessage>,
    /// Since when the operator knows that the endpoint fails.
    pub(super) alerted_since: Option<Instant>,
}

/// A delivery that is dead.
#[derive(Clone, Copy, Debug)]
struct ExhaustedDelivery {
    message: MessageId,
    reason: Option<DeliveryEnding>,
    attempts: u32,
    status: Option<u16>,
    failure: Option<AttemptFailure>,
}

impl OperatorEvents {
    pub(super) fn new(
        application: Option<ApplicationId>,
        maker: EventMaker,
        (health, most_open): (Arc<NodeHealth>, usize),
        instruments: Arc<Instruments>,
    ) -> Self {
        let (failing, exhausted) = (FailingAlerts::default(), ExhaustedAlerts::default());
        Self { application, maker, health, most_open, instruments, failing, exhausted }
    }

    /// Notes the state of an endpoint as the store has it.
    pub(super) fn remember(&mut self, now: Instant, id: EndpointId, state: &EndpointState) {
        if self.subject(id).is_some() {
            // It may fail already: that is told with its next change.
            _ = self.failing.note(now, id, state);
        }
    }

    pub(super) fn forget(&mut self, id: EndpointId) {
        self.failing.forget(id);
        self.exhausted.forget(id);
    }

    /// Notes a change of an endpoint's state.
    pub(super) fn on_change(
        &mut self,
        now: Instant,
        id: EndpointId,
        before: &EndpointState,
        after: &EndpointState,
    ) -> OperatorNotice {
        let unchanged = OperatorNotice { message: None, alerted_since: after.alerted_since };
        let Some((application, endpoint)) = self.subject(id) else { return unchanged };
        let fails = self.failing.note(now, id, after);
        let event = match after.disabled.filter(|why| before.disabled != Some(*why)) {
            Some(why) => {
                let mut data = about(&endpoint, after);
                data["reason"] = why.name().into();
                (DISABLED, data)
            }
            None if fails => (FAILING, about(&endpoint, after)),
            None => return unchanged,
        };
        let Some(message) = self.message(now, application, event) else { return unchanged };
        // An endpoint that an operator has disabled may be well.
        let alerted_since = after.failing_since.map(|_| now);
        let alerted_since = after.alerted_since.or(alerted_since);
        OperatorNotice { message: Some(message), alerted_since }
    }

    /// Notes a settled delivery; the message to store with it, if there is one.
    pub(super) fn on_settled(
        &mut self,
        now: Instant,
        settlement: &Settlement,
    ) -> Option<NewMessage> {
        let delivery = settlement.delivery.filter(|it| it.state == DeliveryState::Dead)?;
        let (application, endpoint) = self.subject(delivery.endpoint)?;
        let attempt = settlement.attempt.as_ref();
        let exhausted = ExhaustedDelivery {
            message: delivery.message,
            reason: delivery.ending,
            attempts: delivery.attempts,
            status: attempt.and_then(|attempt| attempt.status),
            failure: attempt.and_then(|attempt| attempt.failure),
        };
        let exhausted = self.exhausted.note(now, endpoint.id, exhausted)?;
        self.message(now, application, (EXHAUSTED, exhausted.data(&endpoint, 1)))
    }

    /// The time at which one of the next functions has something.
    pub(super) fn next(&self) -> Option<Instant> {
        self.failing.next().into_iter().chain(self.exhausted.next()).min()
    }

    /// Takes an endpoint that was well for long enough.
    pub(super) fn take_well(&mut self, now: Instant) -> Option<EndpointId> {
        self.failing.take_due(now)
    }

    /// Whether an endpoint that was taken has recovered, and the message about it.
    pub(super) fn recovered(
        &self,
        now: Instant,
        id: EndpointId,
        state: &EndpointState,
    ) -> Option<Option<NewMessage>> {
        let (application, endpoint) = self.subject(id)?;
        FailingAlerts::has_recovered(state).then(|| {
            let mut data = about(&endpoint, state);
            data["alerted_since"] = text(state.alerted_since);
            self.message(now, application, (RECOVERED, data))
        })
    }

    /// Takes the message about deliveries that were held back, if their second is over.
    pub(super) fn take_held(&mut self, now: Instant) -> Option<NewMessage> {
        loop {
            let (id, last, count) = self.exhausted.take_due(now)?;
            let message = self.subject(id).and_then(|(application, endpoint)| {
                self.message(now, application, (EXHAUSTED, last.data(&endpoint, count)))
            });
            if message.is_some() {
                return message;
            }
        }
    }

    /// The application that is told of an endpoint, and the endpoint; `None` if it is that application's own.
    fn subject(&self, id: EndpointId) -> Option<(ApplicationId, Arc<Endpoint>)> {
        let application = self.application?;
        let endpoint = self.maker.directory.endpoint(id)?;
        (endpoint.application != application).then_some((application, endpoint))
    }

    fn message(
        &self,
        now: Instant,
        application: ApplicationId,
        event: (&str, Value),
    ) -> Option<NewMessage> {
        let name = event.0.to_owned();
        let made = self.maker.message(now, application, event, None).and_then(|made| {
            if let Some(made) = &made {
                self.check_room(application, made.endpoints.len())?;
            }
            Ok(made)
        });
        made.inspect_err(|error| {
            self.instruments.event_dropped();
            tracing::debug!(%error, event = name, "operator event dropped");
        })
        .ok()?
    }

    /// The events wait for their receivers like all messages, and only as many as may.
    fn check_room(&self, application: ApplicationId, deliveries: usize) -> Result<(), Error> {
        self.health.reserve_of(application, deliveries, self.most_open).map(drop)
    }
}

impl ExhaustedDelivery {
    fn data(self, endpoint: &Endpoint, count: u64) -> Value {
        json!({
            "application": endpoint.application,
            "endpoint": endpoint.id,
            "url": shown(&endpoint.url),
            "message": self.message,
            "reason": self.reason.map(DeliveryEnding::name),
            "attempts": self.attempts,
            "status": self.status,
            "failure": self.failure.map(AttemptFailure::name),
            "count": count,
        })
    }
}

fn about(endpoint: &Endpoint, state: &EndpointState) -> Value {
    let last = state.last_failure;
    json!({
        "application": endpoint.application,
        "endpoint": endpoint.id,
        "url": shown(&endpoint.url),
        "failing_since": text(state.failing_since),
        "last_failure_at": text(last.map(|last| last.at)),
        "status": last.and_then(|last| last.status),
        "failure": last.and_then(|last| last.failure).map(AttemptFailure::name),
    })
}

fn text(at: Option<Instant>) -> Value {
    at.map(|at| Timestamp(at).to_string()).into()
}
