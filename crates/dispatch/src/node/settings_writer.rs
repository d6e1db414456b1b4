//! Changes to applications and endpoints: settings, and commands to their leaders.

use std::collections::BTreeSet;
use std::sync::Arc;

use stagger::{Sleep, Span, TokioTime};
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryState, Endpoint, EndpointId, MessageId,
};
use stagger_sender::Sender;
use stagger_store::{
    ClusterHandle, DeliveryStore, EndpointCommand, Notification, SettingWrite, ShardId, Shards,
};
use tokio::sync::Mutex;

use super::clock::EngineClock;
use super::directory::Directory;
use super::fleet::{Leadership, SettingsSync, apply};
use super::health::NodeHealth;
use super::scheduler_state::Inbox;
use super::tasks::run_to_completion;
use crate::Error;

/// Writes settings.
#[derive(Clone, Debug)]
pub(super) struct SettingsWriter {
    pub(super) cluster: ClusterHandle,
    pub(super) settings: Arc<SettingsSync>,
    pub(super) directory: Arc<Directory>,
    pub(super) sender: Sender,
    pub(super) clock: EngineClock,
    /// Held during a change, so that no other change of this node comes between its checks and the
    /// store.
    pub(super) turn: Arc<Mutex<DeletedSettings>>,
}

/// The applications and endpoints whose deletion has begun. It takes seconds to delete much, and other changes
/// do not wait for it; a change that began earlier must not make one of them again. Ids are never used twice.
#[derive(Debug, Default)]
pub(super) struct DeletedSettings {
    applications: BTreeSet<ApplicationId>,
    endpoints: BTreeSet<EndpointId>,
}

impl SettingsWriter {
    pub(super) async fn put_application(&self, application: Application) -> Result<(), Error> {
        let this = self.clone();
        run_to_completion(async move {
            let turn = this.turn.lock().await;
            this.settings.sync().await?;
            if turn.applications.contains(&application.id) {
                return Err(Error::not_found("application"));
            }
            this.directory.check_keys(&application)?;
            this.directory.check_application_uid(&application)?;
            this.write(SettingWrite::PutApplication(application)).await
        })
        .await
    }

    pub(super) async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        let this = self.clone();
        run_to_completion(async move {
            let mut turn = this.turn.lock().await;
            this.settings.sync().await?;
            this.directory.application(id).ok_or_else(|| Error::not_found("application"))?;
            turn.applications.insert(id);
            drop(turn);
            let deleted = this.write(SettingWrite::DeleteApplication(id)).await;
            if deleted.is_err() {
                this.turn.lock().await.applications.remove(&id);
            }
            deleted
        })
        .await
    }

    pub(super) async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.check(&endpoint)?;
        let this = self.clone();
        run_to_completion(async move {
            let turn = this.turn.lock().await;
            this.settings.sync().await?;
            if turn.endpoints.contains(&endpoint.id) {
                return Err(Error::not_found("endpoint"));
            }
            let owner = this.directory.application(endpoint.application);
            owner.ok_or_else(|| Error::not_found("application"))?;
            this.directory.check_endpoint_uid(&endpoint)?;
            this.write(SettingWrite::PutEndpoint(endpoint)).await
        })
        .await
    }

    pub(super) async fn delete_endpoint(&self, id: EndpointId) -> Result<(), Error> {
        let this = self.clone();
        run_to_completion(async move {
            let mut turn = this.turn.lock().await;
            this.settings.sync().await?;
            this.directory.endpoint(id).ok_or_else(|| Error::not_found("endpoint"))?;
            turn.endpoints.insert(id);
            drop(turn);
            let deleted = this.write(SettingWrite::DeleteEndpoint(id, this.clock.now())).await;
            if deleted.is_err() {
                this.turn.lock().await.endpoints.remove(&id);
            }
            deleted
        })
        .await
    }

    /// Changes a document of the installation as `change` says, once this node has followed all changes before it.
    pub(super) async fn change_document<T: Send + 'static>(
        &self,
        change: impl FnOnce() -> Result<(SettingWrite, T), Error> + Send + 'static,
    ) -> Result<T, Error> {
        let this = self.clone();
        run_to_completion(async move {
            let _turn = this.turn.lock().await;
            this.settings.sync().await?;
            let (write, done) = change()?;
            this.write(write).await?;
            Ok(done)
        })
        .await
    }

    /// Makes a change visible: this node reads it before it answers, and notifies the others.
    async fn write(&self, write: SettingWrite) -> Result<(), Error> {
        self.cluster.change_setting(write).await?;
        self.cluster.notify(Notification::Settings).await;
        self.settings.sync().await
    }

    /// Rejects settings that the sender would refuse at every attempt.
    fn check(&self, endpoint: &Endpoint) -> Result<(), Error> {
        self.sender.check(endpoint)?;
        if endpoint.timeout.is_zero() {
            return Err(Error::invalid("endpoint.timeout", endpoint.timeout, "above zero"));
        }
        Ok(())
    }
}

/// The first and the longest pause between two checks whether a command is done.
const FIRST_LOOK: Span = Span::from_millis(5);
const LOOK: Span = Span::from_millis(100);
/// The time for which a caller waits for a command: longer than the default time in which a dead
/// leader is replaced. The command is executed later all the same.
const COMMAND_TIMEOUT: Span = Span::from_secs(15);

/// Enables and disables endpoints, and cancels and retries deliveries.
#[derive(Debug)]
pub(super) struct EndpointControl {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) cluster: ClusterHandle,
    pub(super) leadership: Arc<Leadership>,
    pub(super) health: Arc<NodeHealth>,
    pub(super) inbox: Inbox,
    pub(super) clock: EngineClock,
}

impl EndpointControl {
    /// Executes a command here, or by the endpoint's leader.
    pub(super) async fn execute(
        &self,
        id: EndpointId,
        command: EndpointCommand,
    ) -> Result<(), Error> {
        if !self.leadership.leads(id) {
            return self.send(id, command).await;
        }
        self.health.check()?;
        let commit = self.inbox.ask(move |state| apply(state, id, command)).await;
        let stopped = || Error::busy("the dispatcher has stopped");
        let commit = commit.ok_or_else(stopped)?.ok_or_else(|| Error::not_found("endpoint"))?;
        commit.wait().await
    }

    pub(super) async fn cancel(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Delivery, Error> {
        self.health.check()?;
        let cancelled = self.inbox.ask(move |state| state.cancel(message, endpoint)).await;
        if let Some((delivery, commit)) = cancelled.flatten() {
            commit.wait().await?;
            return Ok(delivery);
        }
        let known = self.store.delivery(message, endpoint).await?;
        if !known.is_some_and(|delivery| delivery.state.is_open()) {
            return Err(not_open(known));
        }
        // Another node leads it, or it has not arrived here yet.
        self.send(endpoint, EndpointCommand::Cancel(message)).await?;
        match self.store.delivery(message, endpoint).await? {
            Some(delivery) if delivery.state == DeliveryState::Cancelled => Ok(delivery),
            other => Err(not_open(other)),
        }
    }

    /// Makes an open delivery due and the next of its endpoint, here or by the endpoint's leader.
    pub(super) async fn retry(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Delivery, Error> {
        self.health.check()?;
        self.refuse_disabled(endpoint).await?;
        let retried = self.inbox.ask(move |state| state.retry(message, endpoint)).await;
        if let Some((delivery, commit)) = retried.flatten() {
            commit.wait().await?;
            return delivery.ok_or_else(|| Error::not_found("delivery"));
        }
        let known = self.store.delivery(message, endpoint).await?;
        if !known.is_some_and(|delivery| delivery.state.is_open()) {
            return Err(not_open(known));
        }
        // Another node leads it, or it has not arrived here yet.
        self.send(endpoint, EndpointCommand::Retry(message)).await?;
        let now = self.store.delivery(message, endpoint).await?;
        now.ok_or_else(|| Error::not_found("delivery"))
    }

    /// # Errors
    /// The endpoint is disabled, so that nothing is sent to it.
    pub(super) async fn refuse_disabled(&self, endpoint: EndpointId) -> Result<(), Error> {
        let now = self.clock.now();
        let here = self.inbox.ask(move |state| state.scheduler.view(now, endpoint)).await.flatten();
        let state = match here {
            Some(view) => Some(view.endpoint_state),
            None => self.cluster.endpoint_state(endpoint).await?,
        };
        if state.is_some_and(|state| state.disabled.is_some()) {
            return Err(Error::conflict("the endpoint is disabled; enable it first"));
        }
        Ok(())
    }

    /// Sends a command to the endpoint's leader, and waits until it is done.
    async fn send(&self, endpoint: EndpointId, command: EndpointCommand) -> Result<(), Error> {
        let number = self.cluster.send_command(endpoint, command).await?;
        let shards = Shards::of(ShardId::of(endpoint));
        self.cluster.notify(Notification::Work(shards)).await;
        let until = self.clock.now() + COMMAND_TIMEOUT;
        let mut pause = FIRST_LOOK;
        while !self.cluster.is_command_done(number).await? {
            if self.clock.now() >= until {
                return Err(Error::busy(
                    "the endpoint's leader has not executed the command yet; it will",
                ));
            }
            TokioTime.sleep(pause).await;
            pause = (pause + pause).min(LOOK);
        }
        Ok(())
    }
}

/// The reason for which a delivery that is not scheduled cannot be cancelled or retried.
fn not_open(delivery: Option<Delivery>) -> Error {
    delivery.map_or_else(
        || Error::not_found("delivery"),
        |delivery| Error::conflict(format!("the delivery is already {}", delivery.state.name())),
    )
}
