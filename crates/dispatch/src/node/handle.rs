//! The handle of a running dispatcher.

use std::sync::Arc;

use stagger::Span;
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, Endpoint, EndpointId, ExternalId, KeyHash, MessageId,
};
use stagger_sender::Sender;
use stagger_store::tokio_postgres;
use stagger_store::{
    Accepted, DeliveryFilter, DeliveryStore, EndpointCommand, ListPage, MessageFilter, PageRequest,
    ReplayRequest, Shards,
};

use tokio::sync::{Mutex, MutexGuard};

use super::directory::Directory;
use super::fleet::SettingsSync;
use super::health::NodeHealth;
use super::installation::Installation;
use super::intake::Intake;
use super::replay::Replayer;
use super::settings_writer::{EndpointControl, SettingsWriter};
use super::start::assemble;
use super::status::NodeStatus;
use super::tasks::NodeTasks;
use super::{AttemptRates, MinuteResults, NodeInfo, NodeOptions, SharedBudgets, Submission};
use crate::Error;
use crate::observe::Gauges;

/// The most pages of the store that are read for one full page: 200 000 deliveries, about a second.
const WALKS: usize = 20;

/// A running dispatcher. Clones are handles of the same one. When the last is dropped the node ends
/// immediately, as in a crash: nothing is lost, and attempts in flight are repeated.
#[derive(Clone, Debug)]
pub struct Node {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    store: Arc<dyn DeliveryStore>,
    sender: Sender,
    directory: Arc<Directory>,
    installation: Arc<Installation>,
    health: Arc<NodeHealth>,
    settings: Arc<SettingsSync>,
    settings_writer: SettingsWriter,
    endpoint_control: EndpointControl,
    intake: Intake,
    replayer: Replayer,
    status: NodeStatus,
    tasks: NodeTasks,
    changes: Mutex<()>,
    retention: Span,
    tenant_destinations: bool,
}

impl Node {
    /// Loads the open deliveries from `store` and delivers them. Runs until
    /// [`shutdown`](Self::shutdown).
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn start(
        store: Arc<dyn DeliveryStore>,
        sender: Sender,
        options: NodeOptions,
    ) -> Result<Self, Error> {
        Self::start_with(store, sender, options, None).await
    }

    /// The same, with retries to each destination within a budget that others share.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn start_with(
        store: Arc<dyn DeliveryStore>,
        sender: Sender,
        options: NodeOptions,
        budgets: Option<SharedBudgets>,
    ) -> Result<Self, Error> {
        let parts = assemble(&store, &sender, budgets, &options);
        let tasks = (parts.runner, parts.settler, parts.pruner);
        let handle = Handle {
            tasks: NodeTasks::start(tasks, parts.fleet).await?,
            store,
            sender,
            directory: parts.directory,
            installation: parts.installation,
            health: parts.health,
            settings: parts.settings,
            settings_writer: parts.settings_writer,
            endpoint_control: parts.endpoint_control,
            intake: parts.intake,
            replayer: parts.replayer,
            status: parts.status,
            changes: Mutex::default(),
            retention: options.retention,
            tenant_destinations: options.tenant_destinations,
        };
        Ok(Self { handle: Arc::new(handle) })
    }

    /// Stops launching, waits at most `grace` for attempts in flight, and stores their results. A
    /// second call returns when the first has ended.
    pub async fn shutdown(&self, grace: Span) {
        self.handle.tasks.shutdown(grace).await;
        if let Err(error) = self.handle.store.close().await {
            tracing::warn!(%error, "store not brought into one file; nothing is lost");
        }
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &dyn DeliveryStore {
        &*self.handle.store
    }

    /// The sender, which checks addresses and headers before they are saved.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.handle.sender
    }

    /// The time for which this node keeps finished messages.
    #[must_use]
    pub fn retention(&self) -> Span {
        self.handle.retention
    }

    /// Whether applications may set brokers as the destinations of their endpoints.
    pub(crate) fn allows_tenant_destinations(&self) -> bool {
        self.handle.tenant_destinations
    }

    /// An application, from memory.
    #[must_use]
    pub fn application(&self, id: ApplicationId) -> Option<Arc<Application>> {
        self.handle.directory.application(id)
    }

    /// The application whose key has this hash, from memory.
    #[must_use]
    pub fn application_of_key(&self, key: KeyHash) -> Option<Arc<Application>> {
        self.handle.directory.application_of_key(key)
    }

    /// All applications, oldest first, from memory.
    #[must_use]
    pub fn applications(&self) -> Vec<Arc<Application>> {
        self.handle.directory.applications()
    }

    /// An endpoint, from memory.
    #[must_use]
    pub fn endpoint(&self, id: EndpointId) -> Option<Arc<Endpoint>> {
        self.handle.directory.endpoint(id)
    }

    /// The application to which a caller gave this id, from memory.
    #[must_use]
    pub fn application_of_uid(&self, uid: &ExternalId) -> Option<Arc<Application>> {
        self.handle.directory.application_of_uid(uid)
    }

    /// The endpoint of an application to which a caller gave this id, from memory.
    #[must_use]
    pub fn endpoint_of_uid(
        &self,
        application: ApplicationId,
        uid: &ExternalId,
    ) -> Option<Arc<Endpoint>> {
        self.handle.directory.endpoint_of_uid(application, uid)
    }

    /// An application's endpoints, oldest first, from memory.
    #[must_use]
    pub fn endpoints(&self, application: ApplicationId) -> Vec<Arc<Endpoint>> {
        self.handle.directory.endpoints(application)
    }

    /// An application's deliveries that pass a filter (of all applications when `None`), newest messages
    /// first. Unlike a store's page, this one is full while there are more that pass, unless very many
    /// others lie between them.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        let mut found = self.store().deliveries(application, filter.clone(), page).await?;
        for _ in 1..WALKS {
            let Some(after) = found.next.filter(|_| found.items.len() < page.limit) else { break };
            let rest = PageRequest { after: Some(after), limit: page.limit - found.items.len() };
            let more = self.store().deliveries(application, filter.clone(), rest).await?;
            found.items.extend(more.items);
            found.next = more.next;
        }
        Ok(found)
    }

    /// The lock for reading, changing and writing settings: two concurrent changes would undo each
    /// other.
    pub(crate) async fn changing(&self) -> MutexGuard<'_, ()> {
        self.handle.changes.lock().await
    }

    pub(super) fn installation(&self) -> &Arc<Installation> {
        &self.handle.installation
    }

    pub(super) fn settings_writer(&self) -> &SettingsWriter {
        &self.handle.settings_writer
    }

    /// Writes an application, new or changed.
    ///
    /// # Errors
    /// The store did not do it.
    pub async fn put_application(&self, application: Application) -> Result<(), Error> {
        self.handle.settings_writer.put_application(application).await
    }

    /// Deletes an application and everything of it, with the API keys that are limited to it.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        self.handle.settings_writer.delete_application(id).await?;
        self.delete_keys_of(id).await;
        Ok(())
    }

    /// Writes the settings of an endpoint, new or changed.
    ///
    /// # Errors
    /// Its application is not there; a value is out of its bounds; the store did not do it.
    pub async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.handle.settings_writer.put_endpoint(endpoint).await
    }

    /// Deletes an endpoint; its open deliveries are cancelled.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn delete_endpoint(&self, id: EndpointId) -> Result<(), Error> {
        self.handle.settings_writer.delete_endpoint(id).await
    }

    /// Enables an endpoint: one probe first, then its backlog leaves slowly.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn enable(&self, id: EndpointId) -> Result<(), Error> {
        self.handle.endpoint_control.execute(id, EndpointCommand::Enable).await
    }

    /// Disables an endpoint by hand: its deliveries wait.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn disable(&self, id: EndpointId) -> Result<(), Error> {
        self.handle.endpoint_control.execute(id, EndpointCommand::Disable).await
    }

    /// Accepts messages, durably and fanned out. Answers in their order.
    ///
    /// Messages with 512 rows in all (messages and deliveries) are stored together, all or none. More are
    /// stored in steps, and an error tells how many are accepted.
    ///
    /// # Errors
    /// The application is not there; a type is operational; the catalogue of event types refuses a message; no room
    /// (busy), or the application has its share of open deliveries; the store did not do it.
    pub async fn accept(
        &self,
        application: ApplicationId,
        messages: Vec<Submission>,
    ) -> Result<Vec<Accepted>, Error> {
        self.handle.intake.accept(application, messages).await
    }

    /// Accepts messages as a part of a PostgreSQL transaction of the host, all or none: they are durable, and are delivered,
    /// once the host has committed. A rollback leaves nothing of them. With an error the transaction is as it was before,
    /// and can be used on. The commit notifies the nodes, so nothing is to be called after it.
    ///
    /// The transaction may be on any connection to the store's database, also of a pooler. Until it ends it delays changes
    /// and the deletion of the application and of the endpoints that get its messages, and calls with the same idempotency
    /// key. One call takes at most 1000 messages, and 10,000 messages and deliveries. An application's share of open
    /// deliveries is checked, but transactions that have not committed yet are not counted. The metrics count messages
    /// here, also those that are rolled back later.
    ///
    /// # Errors
    /// The store is not on PostgreSQL; the application is not there; a type is operational; the catalogue of
    /// event types refuses a message; an idempotency key is that of a message with other contents (a conflict); too many in one call; no room (busy), or the application has its share of
    /// open deliveries; the transaction conflicts with another one (busy), and is to be begun again.
    pub async fn accept_within(
        &self,
        transaction: &mut tokio_postgres::Transaction<'_>,
        application: ApplicationId,
        messages: Vec<Submission>,
    ) -> Result<Vec<Accepted>, Error> {
        let Handle { intake, store, .. } = &*self.handle;
        intake.accept_within(&**store, transaction, application, messages).await
    }

    /// The number of endpoints that subscribe to each of these messages now, before their filters.
    pub(crate) fn fan_out_sizes(
        &self,
        application: ApplicationId,
        messages: &[Submission],
    ) -> Vec<usize> {
        self.handle.directory.fan_out_sizes(application, messages.iter().map(Submission::routed))
    }

    /// Sends one message to one endpoint only, whatever it asked for: a test event, type
    /// `stagger.test`.
    ///
    /// # Errors
    /// The endpoint is not there; the store did not do it.
    pub async fn send_test(&self, endpoint: EndpointId) -> Result<MessageId, Error> {
        self.handle.intake.test(endpoint).await
    }

    /// Makes finished deliveries pending again, all that the request names, in bounded steps; they
    /// leave as after trouble. Answers how many.
    ///
    /// # Errors
    /// The one delivery is not there or is open; the store did not do it.
    pub async fn replay(&self, request: ReplayRequest) -> Result<usize, Error> {
        self.handle.replayer.replay(request).await
    }

    /// Attempts an open delivery now, before all others to its endpoint: also while the endpoint's
    /// breaker is open or it has asked for a pause. Answers with the delivery as it is then.
    ///
    /// # Errors
    /// It is not there; it is not open, or its endpoint is disabled; the store did not do it.
    pub async fn retry(&self, message: MessageId, endpoint: EndpointId) -> Result<Delivery, Error> {
        self.handle.endpoint_control.retry(message, endpoint).await
    }

    /// Makes all waiting deliveries of an application that pass a filter due now, in bounded steps.
    /// Each of their endpoints gets a probe first if its breaker is open, and its deliveries slowly at
    /// first in any case. Answers how many.
    ///
    /// # Errors
    /// The filter's endpoint is disabled; the store did not do it.
    pub async fn retry_many(
        &self,
        application: ApplicationId,
        filter: DeliveryFilter,
    ) -> Result<usize, Error> {
        if let Some(endpoint) = filter.endpoint {
            self.handle.endpoint_control.refuse_disabled(endpoint).await?;
        }
        self.handle.replayer.retry(application, filter).await
    }

    /// Makes deliveries to an endpoint of all messages of its application that it wants, that pass
    /// the filter and that have none to it: messages from before it was made. They leave slowly at
    /// first. Answers how many.
    ///
    /// # Errors
    /// The endpoint is not there; the store did not do it.
    pub async fn replay_missing(
        &self,
        endpoint: EndpointId,
        filter: MessageFilter,
    ) -> Result<usize, Error> {
        let endpoint = self.endpoint(endpoint).ok_or_else(|| Error::not_found("endpoint"))?;
        self.handle.replayer.replay_missing(endpoint, filter).await
    }

    /// Cancels an open delivery.
    ///
    /// # Errors
    /// It is not there; it is not open; the store did not do it.
    pub async fn cancel(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Delivery, Error> {
        self.handle.endpoint_control.cancel(message, endpoint).await
    }

    /// Deletes a message with its payload, deliveries and attempts. Its open deliveries are cancelled first.
    ///
    /// # Errors
    /// It is not there; a delivery became open again meanwhile; the store did not do it.
    pub async fn delete_message(&self, message: MessageId) -> Result<(), Error> {
        self.cancel_open(message).await?;
        match self.store().delete_message(message).await? {
            true => Ok(()),
            false => Err(Error::not_found("message")),
        }
    }

    /// Deletes the payload of a message, and the replies that its attempts have got, which may repeat it. The message,
    /// its deliveries and its attempts stay. Its open deliveries are cancelled first.
    ///
    /// # Errors
    /// It is not there; a delivery became open again meanwhile; the store did not do it.
    pub async fn delete_payload(&self, message: MessageId) -> Result<(), Error> {
        self.cancel_open(message).await?;
        match self.store().delete_payload(message).await? {
            true => Ok(()),
            false => Err(Error::not_found("message")),
        }
    }

    async fn cancel_open(&self, message: MessageId) -> Result<(), Error> {
        let deliveries = self.store().deliveries_of(message).await?;
        for delivery in deliveries.into_iter().filter(|delivery| delivery.state.is_open()) {
            match self.cancel(message, delivery.endpoint).await {
                Ok(_) => {}
                // It has just ended.
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The current state of an endpoint's queue. For an endpoint that another node leads, the state
    /// is read from the store.
    pub async fn view(&self, id: EndpointId) -> Option<QueueView> {
        self.handle.status.view(id).await
    }

    /// The nodes that work on the store, this one first; the others as of the last heartbeat.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeInfo> {
        self.handle.status.nodes()
    }

    /// The shards that this node leads: all with a store of one node.
    #[must_use]
    pub fn led(&self) -> Shards {
        self.handle.status.led()
    }

    /// Reads the settings that other nodes have changed, so that later calls see all earlier
    /// changes. Reads nothing with a store for one node.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn sync_settings(&self) -> Result<(), Error> {
        self.handle.settings.sync().await
    }

    /// The attempts of the last 5 minutes, of one endpoint or of all.
    #[must_use]
    pub fn attempt_rates(&self, endpoint: Option<EndpointId>) -> AttemptRates {
        self.handle.status.attempt_rates(endpoint)
    }

    /// The results of the attempts that this node has made to an endpoint in the last hour, by the
    /// minute, oldest first.
    #[must_use]
    pub fn results(&self, endpoint: EndpointId) -> Vec<MinuteResults> {
        self.handle.status.results(endpoint)
    }

    /// Whether messages can be accepted now: for readiness.
    ///
    /// # Errors
    /// The store cannot write; there is no room; it is stopping.
    pub async fn ready(&self) -> Result<(), Error> {
        self.handle.status.ready().await
    }

    /// The same as far as it is known without asking the store.
    pub(crate) fn check_accepting(&self) -> Result<(), Error> {
        self.handle.health.check()
    }

    /// Waits until the node has ended by itself, and returns the reason: another run took over the
    /// store. The caller should then stop too.
    pub async fn ended(&self) -> String {
        self.handle.health.ended().await
    }

    /// Its figures at this moment.
    pub(crate) async fn gauges(&self) -> Gauges {
        self.handle.status.gauges().await
    }
}
