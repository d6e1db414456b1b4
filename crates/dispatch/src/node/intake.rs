//! The way in: messages become durable, and only then is anything sent.

use std::sync::Arc;

use stagger::{Instant, Sleep, Span, TokioTime};
use tokio::sync::OwnedSemaphorePermit;

use super::Submission;
use super::fleet::{LeadGuard, sync_settings};
use super::inbox::Command;
use super::parts::{Parts, UNCOMMITTED, run_to_completion};
use super::payloads::CachedMessage;
use crate::Error;
use crate::model::{
    ApplicationId, Delivery, EndpointId, EventType, Message, MessageId, NewMessage,
};
use crate::store::{Accepted, Cluster, ClusterAccept, Fence, Notification, ShardId, Shards};

/// The memory of a message besides its payload while it waits for the store, in bytes.
const OVERHEAD: usize = 1024;

/// The most tries to accept messages in a cluster whose settings change at the same time.
const MOST_TRIES: usize = 10;

/// The longest time that a caller waits for the store. A commit that was interrupted is answered
/// only once its result is known, which may be long after; by then its caller has asked again,
/// under the same key.
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
    commit(parts, IntakeRequest::new(parts, Receivers::Of(application), messages)?).await
}

/// Sends a test event to one endpoint.
pub(super) async fn test(parts: &Arc<Parts>, id: EndpointId) -> Result<MessageId, Error> {
    parts.health.check()?;
    let text = format!(r#"{{"type":"{TEST}","data":{{"endpoint":"{id}"}}}}"#);
    let event_type: EventType = TEST.parse()?;
    let message =
        Submission { event_type, payload: text.into(), content_type: JSON.to_owned(), key: None };
    let accepted =
        commit(parts, IntakeRequest::new(parts, Receivers::Only(id), vec![message])?).await?;
    accepted
        .first()
        .map(|accepted| accepted.id)
        .ok_or_else(|| Error::store("the store accepted no message"))
}

/// The content type of the dispatcher's own messages.
pub(super) const JSON: &str = "application/json";
/// The type of a test event.
const TEST: &str = "stagger.test";

/// The receivers of messages.
#[derive(Clone, Copy, Debug)]
enum Receivers {
    /// All endpoints of an application that want their types.
    Of(ApplicationId),
    /// One endpoint.
    Only(EndpointId),
}

/// Messages to accept, before their receivers are known.
#[derive(Debug)]
struct IntakeRequest {
    to: Receivers,
    messages: Vec<(MessageId, Submission)>,
    now: Instant,
}

impl IntakeRequest {
    /// # Errors
    /// The operating system has no randomness for their names.
    fn new(parts: &Parts, to: Receivers, messages: Vec<Submission>) -> Result<Self, Error> {
        let now = parts.clock.now();
        let ids = parts.message_ids.messages(messages.len(), now)?;
        Ok(Self { to, messages: ids.into_iter().zip(messages).collect(), now })
    }

    /// The messages with their receivers, as the directory has them now.
    fn made(&self, parts: &Parts) -> Result<Vec<NewMessage>, Error> {
        let (application, receivers) = match self.to {
            Receivers::Of(application) => {
                let types = self.messages.iter().map(|(_, message)| &message.event_type);
                let receivers = parts.directory.fan_out(application, types);
                (application, receivers.ok_or_else(|| Error::not_found("application"))?)
            }
            Receivers::Only(id) => {
                let endpoint = parts.directory.endpoint(id);
                let endpoint = endpoint.ok_or_else(|| Error::not_found("endpoint"))?;
                (endpoint.application, vec![vec![id]; self.messages.len()])
            }
        };
        let made = self.messages.iter().zip(receivers);
        Ok(made.map(|((id, message), to)| message.named(*id, application, self.now, to)).collect())
    }

    /// The memory of its payloads while they wait for the store, in bytes.
    fn weight(&self) -> usize {
        self.messages.iter().map(|(_, message)| message.payload.len() + OVERHEAD).sum()
    }
}

impl Submission {
    fn named(
        &self,
        id: MessageId,
        application: ApplicationId,
        now: Instant,
        endpoints: Vec<EndpointId>,
    ) -> NewMessage {
        let Self { event_type, payload, content_type, key } = self.clone();
        let size = payload.len();
        let message =
            Message { id, application, event_type, key, content_type, size, created_at: now };
        NewMessage { message, payload, endpoints }
    }
}

/// Stores messages, then schedules their deliveries.
async fn commit(parts: &Arc<Parts>, wanted: IntakeRequest) -> Result<Vec<Accepted>, Error> {
    let waiting = admit(parts, wanted.weight())?;
    let parts = Arc::clone(parts);
    let work = run_to_completion(async move {
        let began = parts.clock.now();
        let accepted = match parts.store.cluster() {
            Some(cluster) => accept_in_cluster(&parts, cluster, &wanted, waiting).await?,
            None => accept_alone(&parts, &wanted, waiting).await?,
        };
        parts.instruments.accepted(accepted.len(), parts.clock.now() - began);
        Ok(accepted)
    });
    tokio::select! {
        biased;
        accepted = work => accepted,
        // The work goes on: messages that turn out to be stored are delivered.
        () = TokioTime.sleep(ANSWER) => Err(Error::busy("the store did not answer in time")),
    }
}

/// All of it is this node's to deliver.
async fn accept_alone(
    parts: &Parts,
    wanted: &IntakeRequest,
    waiting: OwnedSemaphorePermit,
) -> Result<Vec<Accepted>, Error> {
    let messages = wanted.made(parts)?;
    let _room = parts.health.reserve(deliveries(&messages), parts.options.max_open)?;
    let fresh: Vec<_> = messages.iter().map(NewDeliveries::of).collect();
    let accepted = parts.store.accept(messages).await?;
    drop(waiting);
    let new = fresh.into_iter().zip(&accepted).filter(|(_, accepted)| !accepted.repeated);
    hand_over(parts, new.map(|(fresh, _)| fresh).collect());
    Ok(accepted)
}

/// Schedules the deliveries that this node leads; the other leaders find theirs in the store.
async fn accept_in_cluster(
    parts: &Parts,
    cluster: &dyn Cluster,
    wanted: &IntakeRequest,
    waiting: OwnedSemaphorePermit,
) -> Result<Vec<Accepted>, Error> {
    parts.fleet.check_room(parts.options.max_open)?;
    let mut looked = false;
    for _ in 0..MOST_TRIES {
        // In this order: a change during the fan-out costs another try, but is never missed.
        let settings_version = parts.settings_sync.settings_version();
        let messages = match wanted.made(parts) {
            // Another node may just have made it.
            Err(error) if error.is_not_found() && !looked => {
                looked = true;
                sync_settings(parts).await?;
                continue;
            }
            made => made?,
        };
        let _room = parts.health.reserve(deliveries(&messages), parts.options.max_open)?;
        let fresh: Vec<_> = messages.iter().map(NewDeliveries::of).collect();
        let held = parts.leadership.hold();
        match cluster.accept(held.lead(), settings_version, messages).await? {
            ClusterAccept::Stored(accepted) => {
                drop(waiting);
                let new = fresh.into_iter().zip(&accepted).filter(|(_, it)| !it.repeated);
                let new: Vec<_> = new.map(|(fresh, _)| fresh).collect();
                let others = others(&new, &held);
                let own = new.into_iter().map(|fresh| fresh.of_lead(&held)).collect();
                hand_over_under(parts, held.lead().fence, own);
                if !others.is_empty() {
                    cluster.notify(Notification::Work(others)).await;
                }
                return Ok(accepted);
            }
            ClusterAccept::Outdated => sync_settings(parts).await?,
            ClusterAccept::NotLeading => parts.leadership.end(held.lead().fence),
        }
    }
    Err(Error::busy("settings changed during each of 10 tries"))
}

fn deliveries(messages: &[NewMessage]) -> usize {
    messages.iter().map(|message| message.endpoints.len()).sum()
}

/// The shards of deliveries that others lead.
fn others(fresh: &[NewDeliveries], held: &LeadGuard) -> Shards {
    let endpoints = fresh.iter().flat_map(|fresh| &fresh.endpoints);
    endpoints.filter(|it| !held.leads(**it)).map(|it| ShardId::of(*it)).collect()
}

/// A reservation in the memory of messages that wait for the store.
fn admit(parts: &Parts, bytes: usize) -> Result<OwnedSemaphorePermit, Error> {
    // A batch larger than all room waits alone.
    let bytes = u32::try_from(bytes.min(UNCOMMITTED)).unwrap_or(u32::MAX);
    let full = |_| Error::busy("the messages that wait for the store reach the memory limit");
    Arc::clone(&parts.uncommitted).try_acquire_many_owned(bytes).map_err(full)
}

/// The deliveries of a message that has become durable.
struct NewDeliveries {
    cached: CachedMessage,
    endpoints: Vec<EndpointId>,
}

impl NewDeliveries {
    fn of(new: &NewMessage) -> Self {
        let message = Arc::new(new.message.clone());
        let cached = CachedMessage { message, payload: new.payload.clone() };
        Self { cached, endpoints: new.endpoints.clone() }
    }

    /// Only the deliveries that this node leads.
    fn of_lead(mut self, held: &LeadGuard) -> Self {
        self.endpoints.retain(|endpoint| held.leads(*endpoint));
        self
    }

    fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        let Message { id, application, created_at, .. } = &*self.cached.message;
        let (id, application, created_at) = (*id, *application, *created_at);
        self.endpoints
            .iter()
            .map(move |endpoint| Delivery::new(id, *endpoint, application, created_at))
    }
}

fn hand_over(parts: &Parts, fresh: Vec<NewDeliveries>) {
    let deliveries = kept(parts, fresh);
    if !deliveries.is_empty() {
        parts.scheduler.tell(Command::Add(deliveries));
    }
}

/// The same, unless the membership has ended: then the current leader has loaded them, and may have
/// finished.
fn hand_over_under(parts: &Parts, fence: Fence, fresh: Vec<NewDeliveries>) {
    let deliveries = kept(parts, fresh);
    if !deliveries.is_empty() {
        parts.scheduler.tell(Command::Do(Box::new(move |runner| {
            if runner.is_under(fence) {
                runner.add(&deliveries);
            }
        })));
    }
}

/// The deliveries of messages, after caching their payloads.
fn kept(parts: &Parts, fresh: Vec<NewDeliveries>) -> Vec<Delivery> {
    let deliveries = fresh.iter().flat_map(NewDeliveries::deliveries).collect();
    parts.payloads.keep(fresh.into_iter().map(|fresh| (fresh.cached, fresh.endpoints.len())));
    deliveries
}
