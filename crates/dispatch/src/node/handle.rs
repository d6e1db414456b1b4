//! The handle of a running dispatcher.

use std::sync::Arc;

use stagger::Span;

use super::directory::Directory;
use super::endpoint_control::EndpointControl;
use super::fleet::SettingsSync;
use super::health::NodeHealth;
use super::intake::Intake;
use super::replay::Replayer;
use super::settings_writer::SettingsWriter;
use super::start::assemble;
use super::status::NodeStatus;
use super::tasks::NodeTasks;
use super::{AttemptRates, NodeOptions, SharedBudgets, Submission};
use crate::Error;
use crate::model::{
    Application, ApplicationId, Delivery, Endpoint, EndpointId, KeyHash, MessageId,
};
use crate::observe::Gauges;
use crate::scheduler::QueueView;
use crate::send::Sender;
use crate::store::{Accepted, DeliveryStore, EndpointCommand, ReplayRequest, Shards};

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
    health: Arc<NodeHealth>,
    settings: Arc<SettingsSync>,
    settings_writer: SettingsWriter,
    endpoint_control: EndpointControl,
    intake: Intake,
    replayer: Replayer,
    status: NodeStatus,
    tasks: NodeTasks,
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
            health: parts.health,
            settings: parts.settings,
            settings_writer: parts.settings_writer,
            endpoint_control: parts.endpoint_control,
            intake: parts.intake,
            replayer: parts.replayer,
            status: parts.status,
        };
        Ok(Self { handle: Arc::new(handle) })
    }

    /// Stops launching, waits at most `grace` for attempts in flight, and stores their results. A
    /// second call returns when the first has ended.
    pub async fn shutdown(&self, grace: Span) {
        self.handle.tasks.shutdown(grace).await;
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

    /// An application's endpoints, oldest first, from memory.
    #[must_use]
    pub fn endpoints(&self, application: ApplicationId) -> Vec<Arc<Endpoint>> {
        self.handle.directory.endpoints(application)
    }

    /// Writes an application, new or changed.
    ///
    /// # Errors
    /// The store did not do it.
    pub async fn put_application(&self, application: Application) -> Result<(), Error> {
        self.handle.settings_writer.put_application(application).await
    }

    /// Deletes an application and everything of it.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        self.handle.settings_writer.delete_application(id).await
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

    /// Accepts messages: all of them, durably and fanned out, or none. Answers in their order.
    ///
    /// # Errors
    /// The application is not there; a type is operational; no room (busy); the store did not do it.
    pub async fn accept(
        &self,
        application: ApplicationId,
        messages: Vec<Submission>,
    ) -> Result<Vec<Accepted>, Error> {
        self.handle.intake.accept(application, messages).await
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

    /// The current state of an endpoint's queue. For an endpoint that another node leads, the state
    /// is read from the store.
    pub async fn view(&self, id: EndpointId) -> Option<QueueView> {
        self.handle.status.view(id).await
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

    /// Whether messages can be accepted now: for readiness.
    ///
    /// # Errors
    /// The store cannot write; there is no room; it is stopping.
    pub async fn ready(&self) -> Result<(), Error> {
        self.handle.status.ready().await
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
