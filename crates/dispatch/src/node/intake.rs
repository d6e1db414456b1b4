//! The way in: messages become durable, and only then is anything sent.

use std::sync::Arc;

use stagger::{Sleep, Span, TokioTime};
use stagger_scheduler::model::{
    ApplicationId, Delivery, EndpointId, EventType, Message, MessageId, NewMessage,
};
use stagger_store::{Accepted, ClusterAccept, ClusterHandle, Fence, Notification, ShardId, Shards};

use super::NodeOptions;
use super::attempt::{CachedMessage, PayloadCache};
use super::clock::EngineClock;
use super::fleet::{FleetView, LeadGuard, Leadership};
use super::health::{ApplicationReservation, NodeHealth, Reservation};
use super::installation::Installation;
use super::operational::JSON;
use super::scheduler_state::{Command, Inbox};
use super::submission::{IntakeRequest, ReceiverChoice, Receivers, Submission};
use super::tasks::run_to_completion;
use super::uncommitted::{UncommittedBytes, UncommittedReservation};
use crate::Error;
use crate::observe::Instruments;

/// The most tries to accept messages while settings change at the same time.
pub(super) const MOST_TRIES: usize = 10;

/// The longest time that a caller waits for the store. A commit that was interrupted is answered
/// only once its result is known, which may be long after; by then its caller has asked again,
/// under the same key.
const ANSWER: Span = Span::from_secs(20);

/// The type of a test event.
const TEST: &str = "stagger.test";

/// Accepts messages.
#[derive(Clone, Debug)]
pub(super) struct Intake {
    pub(super) room: IntakeRoom,
    pub(super) receivers: ReceiverChoice,
    pub(super) installation: Arc<Installation>,
    pub(super) cluster: ClusterHandle,
    pub(super) leadership: Arc<Leadership>,
    pub(super) payloads: Arc<PayloadCache>,
    pub(super) inbox: Inbox,
    pub(super) instruments: Arc<Instruments>,
    pub(super) clock: EngineClock,
}

/// The bounds on messages and deliveries that the node takes on.
#[derive(Clone, Debug)]
pub(super) struct IntakeRoom {
    health: Arc<NodeHealth>,
    fleet: Arc<FleetView>,
    uncommitted: UncommittedBytes,
    max_open: usize,
    app_max_open: usize,
}

impl Intake {
    /// Accepts messages of an application, in steps of bounded size: all of a step or none.
    pub(super) async fn accept(
        &self,
        application: ApplicationId,
        messages: Vec<Submission>,
    ) -> Result<Vec<Accepted>, Error> {
        self.check(application, &messages).await?;
        let total = messages.len();
        let mut accepted = Vec::with_capacity(total);
        for step in self.receivers.steps(application, messages) {
            let stored = accepted.len();
            let answer = self.commit(Receivers::Of(application), step).await;
            accepted.extend(answer.map_err(|error| after_some(error, stored, total))?);
        }
        Ok(accepted)
    }

    /// Whether it accepts at all, and these messages: the one place that decides it, whatever way they come in.
    pub(super) async fn check(
        &self,
        application: ApplicationId,
        messages: &[Submission],
    ) -> Result<(), Error> {
        self.room.health.check()?;
        if let Some(own) = messages.iter().find(|message| message.event_type.is_operational()) {
            let bound = "a type that does not begin with `stagger.`";
            return Err(Error::invalid("event_type", &own.event_type, bound));
        }
        match self.check_events(application, messages.iter()).await {
            // Another node may have changed the catalogue, or the setting of the application, a moment ago.
            Err(refused) if refused.as_rejected().is_some() => {
                self.receivers.settings.sync().await?;
                self.check_events(application, messages.iter()).await
            }
            checked => checked,
        }
    }

    /// Checks messages against the catalogue of event types, as this node knows it.
    async fn check_events<'m>(
        &self,
        application: ApplicationId,
        messages: impl Iterator<Item = &'m Submission>,
    ) -> Result<(), Error> {
        let own = self.receivers.directory.application(application);
        let own = own.and_then(|application| application.event_validation);
        let messages = messages.map(|it| (&it.event_type, &it.payload));
        self.installation.catalogue.check(own, messages).await
    }

    /// Follows changed settings, and checks messages against the catalogue once more.
    pub(super) async fn check_again(&self, wanted: &IntakeRequest) -> Result<(), Error> {
        self.receivers.settings.sync().await?;
        match wanted.application() {
            Some(application) => self.check_events(application, wanted.submissions()).await,
            None => Ok(()),
        }
    }

    /// Sends a test event to one endpoint.
    pub(super) async fn test(&self, id: EndpointId) -> Result<MessageId, Error> {
        self.room.health.check()?;
        let text = format!(r#"{{"type":"{TEST}","data":{{"endpoint":"{id}"}}}}"#);
        let event_type: EventType = TEST.parse()?;
        let content_type = JSON.to_owned();
        let message = Submission { content_type, ..Submission::json(event_type, text) };
        let accepted = self.commit(Receivers::Only(id), vec![message]).await?;
        accepted
            .first()
            .map(|accepted| accepted.id)
            .ok_or_else(|| Error::store("the store accepted no message"))
    }

    /// Stores messages, then schedules their deliveries.
    async fn commit(
        &self,
        to: Receivers,
        messages: Vec<Submission>,
    ) -> Result<Vec<Accepted>, Error> {
        let wanted = self.receivers.request(to, messages, self.clock.now())?;
        let waiting = self.room.uncommitted.reserve(to.application(), wanted.weight())?;
        let this = self.clone();
        let work = run_to_completion(async move {
            let began = this.clock.now();
            let accepted = this.store(&wanted, waiting).await?;
            this.instruments.accepted(accepted.len(), this.clock.now() - began);
            Ok(accepted)
        });
        tokio::select! {
            biased;
            accepted = work => accepted,
            // The work goes on: messages that turn out to be stored are delivered.
            () = TokioTime.sleep(ANSWER) => Err(Error::busy("the store did not answer in time")),
        }
    }

    /// Counts a failure of the store. Until it works again, readiness says so.
    fn count_failure(&self, error: Option<&Error>) {
        match error {
            None => self.room.health.set_accept_failing(None),
            Some(error) if error.is_store_failure() => {
                self.instruments.commit_failed();
                self.room.health.set_accept_failing(Some(error));
            }
            Some(_) => {}
        }
    }

    /// Stores messages, and schedules the deliveries that this node leads; the other leaders find
    /// theirs in the store.
    async fn store(
        &self,
        wanted: &IntakeRequest,
        waiting: UncommittedReservation,
    ) -> Result<Vec<Accepted>, Error> {
        self.room.check_fleet()?;
        let mut looked = false;
        for _ in 0..MOST_TRIES {
            // In this order: a change during the fan-out costs another try, but is never missed.
            let settings_version = self.receivers.settings.version();
            let messages = match self.receivers.addressed(wanted) {
                // Another node may just have made it.
                Err(error) if error.is_not_found() && !looked => {
                    looked = true;
                    self.check_again(wanted).await?;
                    continue;
                }
                made => made?,
            };
            let _room = self.room.reserve(&messages)?;
            let fresh: Vec<_> = messages.iter().map(NewDeliveries::of).collect();
            let held = self.leadership.hold();
            let answer = self.cluster.accept(held.lead(), settings_version, messages).await;
            self.count_failure(answer.as_ref().err());
            match answer? {
                ClusterAccept::Stored(accepted) => {
                    drop(waiting);
                    let new = fresh.into_iter().zip(&accepted).filter(|(_, it)| !it.repeated);
                    self.hand_over(new.map(|(fresh, _)| fresh).collect(), &held).await;
                    return Ok(accepted);
                }
                ClusterAccept::Outdated => self.check_again(wanted).await?,
                ClusterAccept::NotLeading => self.leadership.end(held.lead().fence),
            }
        }
        Err(Error::busy("settings changed during each of 10 tries"))
    }

    /// Schedules the deliveries that this node leads, and notifies the leaders of the others.
    async fn hand_over(&self, new: Vec<NewDeliveries>, held: &LeadGuard) {
        let others = others(&new, held);
        let own = new.into_iter().map(|fresh| fresh.of_lead(held)).collect();
        self.schedule(held.lead().fence, own);
        if !others.is_empty() {
            self.cluster.notify(Notification::Work(others)).await;
        }
    }

    /// Caches the payloads and schedules the deliveries, unless the membership has ended: then the
    /// current leader has loaded them, and may have finished.
    fn schedule(&self, fence: Fence, fresh: Vec<NewDeliveries>) {
        let deliveries: Vec<_> = fresh.iter().flat_map(NewDeliveries::deliveries).collect();
        self.payloads.keep(fresh.into_iter().map(|fresh| (fresh.cached, fresh.endpoints.len())));
        if !deliveries.is_empty() {
            self.inbox.tell(Command::Do(Box::new(move |state| {
                if state.is_under(fence) {
                    state.add(&deliveries);
                }
            })));
        }
    }
}

impl IntakeRoom {
    pub(super) fn new(
        health: Arc<NodeHealth>,
        fleet: Arc<FleetView>,
        options: &NodeOptions,
    ) -> Self {
        let (max_open, app_max_open) = (options.max_open, options.app_max_open());
        Self { health, fleet, uncommitted: UncommittedBytes::default(), max_open, app_max_open }
    }

    /// Whether all nodes together have room for more.
    pub(super) fn check_fleet(&self) -> Result<(), Error> {
        self.fleet.check_room(self.max_open)
    }

    /// Room for the deliveries of these messages, of which all belong to one application.
    pub(super) fn reserve(
        &self,
        messages: &[NewMessage],
    ) -> Result<(Reservation<'_>, Option<ApplicationReservation<'_>>), Error> {
        let deliveries = messages.iter().map(|message| message.endpoints.len()).sum();
        let of = messages.first().map(|first| first.message.application);
        let own = |of| self.health.reserve_of(of, deliveries, self.app_max_open);
        // Its own share first: another application's use is no business of a caller without room.
        let own = of.map(own).transpose()?;
        Ok((self.health.reserve(deliveries, self.max_open)?, own))
    }
}

/// The error of a batch of which the first messages are stored.
fn after_some(error: Error, stored: usize, total: usize) -> Error {
    if stored == 0 {
        return error;
    }
    let note = format!(
        "the first {stored} of {total} messages are accepted: send the batch again, with the same \
         idempotency keys"
    );
    error.after_messages(stored).with_note(&note)
}

/// The shards of deliveries that others lead.
fn others(fresh: &[NewDeliveries], held: &LeadGuard) -> Shards {
    let endpoints = fresh.iter().flat_map(|fresh| &fresh.endpoints);
    endpoints.filter(|it| !held.leads(**it)).map(|it| ShardId::of(*it)).collect()
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
