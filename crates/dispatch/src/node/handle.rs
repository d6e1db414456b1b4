//! The handle of a running dispatcher.

use std::sync::Arc;

use stagger::{Instant, Sleep, Span, TokioTime};
use tokio::sync::{Mutex, watch};
use tokio::task::{AbortHandle, JoinHandle};

use super::health::HealthState;
use super::parts::Parts;
use super::start::{Loaded, load};
use super::{
    AttemptRates, NodeOptions, SharedBudgets, Submission, changes, fleet, gauges, intake, pruning,
    replay,
};
use crate::Error;
use crate::model::{
    Application, ApplicationId, Delivery, Endpoint, EndpointId, KeyHash, MessageId,
};
use crate::observe::Gauges;
use crate::scheduler::QueueView;
use crate::send::Sender;
use crate::store::{Accepted, DeliveryStore, Notification, ReplayRequest, Shards};

/// The time for which a shutdown waits for a store that fails; the next run repeats attempts that
/// were not stored.
const LAST_TRIES: Span = Span::from_secs(2);

/// A running dispatcher. Clones are handles of the same one. When the last is dropped the node ends
/// immediately, as in a crash: nothing is lost, and attempts in flight are repeated.
#[derive(Clone, Debug)]
pub struct Node {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    parts: Arc<Parts>,
    tasks: Mutex<Option<Tasks>>,
    aborts: Vec<AbortHandle>,
}

#[derive(Debug)]
struct Tasks {
    runner: JoinHandle<()>,
    settler: JoinHandle<()>,
    pruning: JoinHandle<()>,
    /// Among others.
    membership: Option<MembershipHandle>,
}

#[derive(Debug)]
struct MembershipHandle {
    task: JoinHandle<()>,
    leave: watch::Sender<bool>,
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
        let Loaded { parts, runner, settler } = load(store, (sender, budgets), options).await?;
        let (runner, settler) = (tokio::spawn(runner.run()), tokio::spawn(settler.run()));
        let pruning = tokio::spawn(pruning::run(Arc::clone(&parts)));
        let mut aborts: Vec<_> = [&runner, &settler, &pruning].map(JoinHandle::abort_handle).into();
        let membership = MembershipHandle::begin(&parts).await.inspect_err(|_| {
            aborts.iter().for_each(AbortHandle::abort);
        })?;
        aborts.extend(membership.iter().map(|membership| membership.task.abort_handle()));
        let tasks = Tasks { runner, settler, pruning, membership };
        let handle = Handle { parts, tasks: Mutex::new(Some(tasks)), aborts };
        Ok(Self { handle: Arc::new(handle) })
    }

    /// Stops launching, waits at most `grace` for attempts in flight, and stores their results. A
    /// second call returns when the first has ended.
    pub async fn shutdown(&self, grace: Span) {
        let parts = self.parts();
        parts.health.turn(HealthState::Stopping);
        // Held to the end, so that nothing takes a shutdown that has begun for one that is done.
        let mut held = self.handle.tasks.lock().await;
        let Some(tasks) = held.take() else { return };
        tasks.pruning.abort();
        let deadline = parts.clock.now() + grace;
        if let Some(membership) = tasks.membership {
            membership.leave(parts, deadline).await;
        }
        parts.scheduler.ask(move |runner| runner.end(deadline)).await;
        // A task that panicked has said so, and its deliveries are safe in the store.
        _ = tasks.runner.await;
        tokio::select! {
            _ = tasks.settler => {}
            () = parts.clock.until(Some(deadline + LAST_TRIES)) => {
                let unsettled = parts.health.unsettled();
                tracing::warn!(unsettled, "store unavailable at shutdown, the next run repeats these attempts");
            }
        }
        end_membership(parts).await;
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &dyn DeliveryStore {
        &*self.parts().store
    }

    /// The sender, which checks addresses and headers before they are saved.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.parts().sender
    }

    /// An application, from memory.
    #[must_use]
    pub fn application(&self, id: ApplicationId) -> Option<Arc<Application>> {
        self.parts().directory.application(id)
    }

    /// The application whose key has this hash, from memory.
    #[must_use]
    pub fn application_of_key(&self, key: KeyHash) -> Option<Arc<Application>> {
        self.parts().directory.application_of_key(key)
    }

    /// All applications, oldest first, from memory.
    #[must_use]
    pub fn applications(&self) -> Vec<Arc<Application>> {
        self.parts().directory.applications()
    }

    /// An endpoint, from memory.
    #[must_use]
    pub fn endpoint(&self, id: EndpointId) -> Option<Arc<Endpoint>> {
        self.parts().directory.endpoint(id)
    }

    /// An application's endpoints, oldest first, from memory.
    #[must_use]
    pub fn endpoints(&self, application: ApplicationId) -> Vec<Arc<Endpoint>> {
        self.parts().directory.endpoints(application)
    }

    /// Writes an application, new or changed.
    ///
    /// # Errors
    /// The store did not do it.
    pub async fn put_application(&self, application: Application) -> Result<(), Error> {
        changes::put_application(Arc::clone(self.parts()), application).await
    }

    /// Deletes an application and everything of it.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        changes::delete_application(Arc::clone(self.parts()), id).await
    }

    /// Writes the settings of an endpoint, new or changed.
    ///
    /// # Errors
    /// Its application is not there; a value is out of its bounds; the store did not do it.
    pub async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        changes::put_endpoint(Arc::clone(self.parts()), endpoint).await
    }

    /// Deletes an endpoint; its open deliveries are cancelled.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn delete_endpoint(&self, id: EndpointId) -> Result<(), Error> {
        changes::delete_endpoint(Arc::clone(self.parts()), id).await
    }

    /// Enables an endpoint: one probe first, then its backlog leaves slowly.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn enable(&self, id: EndpointId) -> Result<(), Error> {
        changes::enable(self.parts(), id).await
    }

    /// Disables an endpoint by hand: its deliveries wait.
    ///
    /// # Errors
    /// It is not there; the store did not do it.
    pub async fn disable(&self, id: EndpointId) -> Result<(), Error> {
        changes::disable(self.parts(), id).await
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
        intake::accept(self.parts(), application, messages).await
    }

    /// Sends one message to one endpoint only, whatever it asked for: a test event, type
    /// `stagger.test`.
    ///
    /// # Errors
    /// The endpoint is not there; the store did not do it.
    pub async fn send_test(&self, endpoint: EndpointId) -> Result<MessageId, Error> {
        intake::test(self.parts(), endpoint).await
    }

    /// Makes finished deliveries pending again, all that the request names, in bounded steps; they
    /// leave as after trouble. Answers how many.
    ///
    /// # Errors
    /// The one delivery is not there or is open; the store did not do it.
    pub async fn replay(&self, request: ReplayRequest) -> Result<usize, Error> {
        replay::replay(Arc::clone(self.parts()), request).await
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
        changes::cancel(self.parts(), message, endpoint).await
    }

    /// The current state of an endpoint's queue. For an endpoint that another node leads, the state
    /// is read from the store.
    pub async fn view(&self, id: EndpointId) -> Option<QueueView> {
        let parts = self.parts();
        let now = parts.clock.now();
        let here =
            parts.scheduler.ask(move |runner| runner.scheduler.view(now, id)).await.flatten();
        match parts.store.cluster().filter(|_| here.is_none()) {
            // While the store is away nothing is known of it.
            Some(cluster) => fleet::view(parts, cluster, id).await.ok().flatten(),
            None => here,
        }
    }

    /// The shards that this node leads: all with a store of one node.
    #[must_use]
    pub fn led(&self) -> Shards {
        self.parts().leadership.shards()
    }

    /// Reads the settings that other nodes have changed, so that later calls see all earlier
    /// changes. Does nothing with a store for one node.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn sync_settings(&self) -> Result<(), Error> {
        fleet::sync_settings(self.parts()).await
    }

    /// The attempts of the last 5 minutes, of one endpoint or of all.
    #[must_use]
    pub fn attempt_rates(&self, endpoint: Option<EndpointId>) -> AttemptRates {
        let parts = self.parts();
        parts.attempts.read(endpoint, parts.clock.now())
    }

    /// Whether messages can be accepted now: for readiness.
    ///
    /// # Errors
    /// The store cannot write; there is no room; it is stopping.
    pub async fn ready(&self) -> Result<(), Error> {
        let parts = self.parts();
        parts.health.check()?;
        drop(parts.health.reserve(1, parts.options.max_open)?);
        parts.store.check().await
    }

    /// Waits until the node has ended by itself, and returns the reason: another run took over the
    /// store. The caller should then stop too.
    pub async fn ended(&self) -> String {
        self.parts().health.ended().await
    }

    /// Its figures at this moment.
    pub(crate) async fn gauges(&self) -> Gauges {
        gauges::gauges(self.parts()).await
    }

    fn parts(&self) -> &Arc<Parts> {
        &self.handle.parts
    }
}

impl MembershipHandle {
    /// Joins the other nodes of the store, if it can have any.
    async fn begin(parts: &Arc<Parts>) -> Result<Option<Self>, Error> {
        if parts.store.cluster().is_none() {
            return Ok(None);
        }
        let joined = fleet::join(parts).await?;
        let (leave, left) = watch::channel(false);
        let task = tokio::spawn(fleet::run(Arc::clone(parts), joined, left));
        Ok(Some(Self { task, leave }))
    }

    /// Gives everything up to others, as far as that is done by `patience`.
    async fn leave(mut self, parts: &Parts, deadline: Instant) {
        self.leave.send_replace(true);
        tokio::select! {
            // If it panicked, it has said so.
            _ = &mut self.task => {}
            () = parts.clock.until(Some(deadline)) => self.task.abort(),
        }
    }
}

/// Frees the shards that the node still leads. If that fails, the other nodes detect that this one
/// is gone.
async fn end_membership(parts: &Parts) {
    let Some(cluster) = parts.store.cluster() else { return };
    let fence = parts.leadership.hold().lead().fence;
    tokio::select! {
        left = cluster.leave(fence) => match left {
            Ok(()) => cluster.notify(Notification::Members).await,
            Err(error) => tracing::warn!(%error, "leave not stored, the other nodes will evict this one"),
        },
        () = TokioTime.sleep(LAST_TRIES) => {}
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.aborts.iter().for_each(AbortHandle::abort);
    }
}
