//! The way in: messages become durable, and only then is anything sent.

use std::sync::Arc;

use stagger::{Instant, Sleep, Span, TokioTime};
use tokio::sync::OwnedSemaphorePermit;

use super::Submission;
use super::inbox::Command;
use super::parts::{Parts, UNCOMMITTED, to_the_end};
use super::payloads::Parcel;
use crate::Error;
use crate::model::{
    ApplicationId, Delivery, EndpointId, EventType, Message, MessageId, NewMessage,
};
use crate::store::Accepted;

/// What a message takes besides its payload while it waits for the store, in bytes.
const OVERHEAD: usize = 1024;

/// How long a caller waits for the store. One that broke in the middle of a commit answers only once it is
/// known what holds, which may be long after; by then its caller has asked again, under the same key.
const ANSWER: Span = Span::from_secs(20);

/// Accepts messages of an application: all of them or none.
pub(super) async fn accept(
    parts: &Arc<Parts>,
    application: ApplicationId,
    messages: Vec<Submission>,
) -> Result<Vec<Accepted>, Error> {
    parts.health.check()?;
    if let Some(own) = messages.iter().find(|message| message.event_type.is_operational()) {
        let bound = "a type that does not begin with `stagger.`";
        return Err(Error::invalid("event_type", &own.event_type, bound));
    }
    let types = messages.iter().map(|message| &message.event_type);
    let receivers = parts
        .directory
        .fan_out(application, types)
        .ok_or_else(|| Error::not_found("application"))?;
    let now = parts.clock.now();
    let ids = parts.names.messages(messages.len(), now);
    let made = ids.into_iter().zip(messages).zip(receivers);
    let made =
        made.map(|((id, message), endpoints)| message.named(id, application, now, endpoints));
    commit(parts, made.collect()).await
}

/// Sends a test event to one endpoint.
pub(super) async fn test(parts: &Arc<Parts>, id: EndpointId) -> Result<MessageId, Error> {
    parts.health.check()?;
    let endpoint = parts.directory.endpoint(id).ok_or_else(|| Error::not_found("endpoint"))?;
    let now = parts.clock.now();
    let text = format!(r#"{{"type":"{TEST}","data":{{"endpoint":"{id}"}}}}"#);
    let event_type: EventType = TEST.parse()?;
    let message =
        Submission { event_type, payload: text.into(), content_type: JSON.to_owned(), key: None };
    let ids = parts.names.messages(1, now);
    let messages = ids.into_iter().zip([message]);
    let named = |(id, message): (_, Submission)| {
        message.named(id, endpoint.application, now, vec![endpoint.id])
    };
    let accepted = commit(parts, messages.map(named).collect()).await?;
    accepted.first().map(|accepted| accepted.id).ok_or_else(|| Error::store("it took no message"))
}

/// The content type of the dispatcher's own messages.
pub(super) const JSON: &str = "application/json";
/// The type of a test event.
const TEST: &str = "stagger.test";

impl Submission {
    fn named(
        self,
        id: MessageId,
        application: ApplicationId,
        now: Instant,
        endpoints: Vec<EndpointId>,
    ) -> NewMessage {
        let Self { event_type, payload, content_type, key } = self;
        let size = payload.len();
        let message =
            Message { id, application, event_type, key, content_type, size, created_at: now };
        NewMessage { message, payload, endpoints }
    }
}

/// Stores messages, then puts their deliveries on the floor.
async fn commit(parts: &Arc<Parts>, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
    let waiting = admit(parts, &messages)?;
    let parts = Arc::clone(parts);
    let work = to_the_end(async move {
        let deliveries = messages.iter().map(|message| message.endpoints.len()).sum();
        let _room = parts.health.room(deliveries, parts.options.max_open)?;
        let fresh: Vec<_> = messages.iter().map(Fresh::of).collect();
        let began = parts.clock.now();
        let accepted = parts.store.accept(messages).await?;
        drop(waiting);
        let new = fresh.into_iter().zip(&accepted).filter(|(_, accepted)| !accepted.repeated);
        hand_over(&parts, new.map(|(fresh, _)| fresh).collect());
        parts.figures.accepted(accepted.len(), parts.clock.now() - began);
        Ok(accepted)
    });
    tokio::select! {
        biased;
        accepted = work => accepted,
        // The work goes on: what turns out to be stored is delivered.
        () = TokioTime.sleep(ANSWER) => Err(Error::busy("the store has not answered in time")),
    }
}

/// A place among those that wait for the store.
fn admit(parts: &Parts, messages: &[NewMessage]) -> Result<OwnedSemaphorePermit, Error> {
    let bytes: usize = messages.iter().map(|message| message.payload.len() + OVERHEAD).sum();
    // A batch larger than all room waits alone.
    let bytes = u32::try_from(bytes.min(UNCOMMITTED)).unwrap_or(u32::MAX);
    let full = |_| Error::busy("too many messages wait for the store");
    Arc::clone(&parts.uncommitted).try_acquire_many_owned(bytes).map_err(full)
}

/// What is needed of a message once it is durable.
struct Fresh {
    parcel: Parcel,
    endpoints: Vec<EndpointId>,
}

impl Fresh {
    fn of(new: &NewMessage) -> Self {
        let message = Arc::new(new.message.clone());
        let parcel = Parcel { message, payload: new.payload.clone() };
        Self { parcel, endpoints: new.endpoints.clone() }
    }

    fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        let Message { id, application, created_at, .. } = &*self.parcel.message;
        let (id, application, created_at) = (*id, *application, *created_at);
        self.endpoints
            .iter()
            .map(move |endpoint| Delivery::new(id, *endpoint, application, created_at))
    }
}

fn hand_over(parts: &Parts, fresh: Vec<Fresh>) {
    let deliveries: Vec<_> = fresh.iter().flat_map(Fresh::deliveries).collect();
    if deliveries.is_empty() {
        return;
    }
    parts.payloads.keep(fresh.into_iter().map(|fresh| (fresh.parcel, fresh.endpoints.len())));
    parts.floor.tell(Command::Add(deliveries));
}
