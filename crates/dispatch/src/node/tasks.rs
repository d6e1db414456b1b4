//! The tasks of a node, its clock, and pruning.

use std::future::Future;
use std::sync::Arc;

use stagger::{Entropy, Instant, OsEntropy, Sleep, Span, TokioTime};
use stagger_scheduler::model::ApplicationId;
use stagger_store::{DeliveryStore, Notification, ShardId, Shards};
use tokio::sync::{Mutex, watch};
use tokio::task::{AbortHandle, JoinHandle};

use super::clock::EngineClock;
use super::directory::Directory;
use super::fleet::{FleetLinks, Leadership, join, run};
use super::health::{HealthState, NodeHealth};
use super::runner::Runner;
use super::scheduler_state::Inbox;
use super::settler::Settler;
use crate::Error;

/// The time for which a shutdown waits for a store that fails; the next run repeats attempts that
/// were not stored.
const LAST_TRIES: Span = Span::from_secs(2);

/// The tasks of a node. They end when this is dropped.
#[derive(Debug)]
pub(super) struct NodeTasks {
    running: Mutex<Option<RunningTasks>>,
    aborts: Vec<AbortHandle>,
    links: Arc<FleetLinks>,
    health: Arc<NodeHealth>,
    inbox: Inbox,
    clock: EngineClock,
}

#[derive(Debug)]
struct RunningTasks {
    runner: JoinHandle<()>,
    settler: JoinHandle<()>,
    pruner: JoinHandle<()>,
    membership: MembershipHandle,
}

#[derive(Debug)]
struct MembershipHandle {
    task: JoinHandle<()>,
    leave: watch::Sender<bool>,
}

impl NodeTasks {
    /// Starts them, and joins the cluster. Shards that the node leads from the start are loaded when
    /// this returns.
    pub(super) async fn start(
        (runner, settler, pruner): (Runner, Settler, Pruner),
        links: Arc<FleetLinks>,
    ) -> Result<Self, Error> {
        let (inbox, health, clock) = (links.inbox.clone(), Arc::clone(&links.health), links.clock);
        let runner = tokio::spawn(runner.run());
        let settler = tokio::spawn(settler.run());
        let pruner = tokio::spawn(pruner.run());
        let mut aborts: Vec<_> = [&runner, &settler, &pruner].map(JoinHandle::abort_handle).into();
        let membership = MembershipHandle::begin(&links).await.inspect_err(|_| {
            aborts.iter().for_each(AbortHandle::abort);
        })?;
        aborts.push(membership.task.abort_handle());
        let running = Mutex::new(Some(RunningTasks { runner, settler, pruner, membership }));
        Ok(Self { running, aborts, links, health, inbox, clock })
    }

    /// Stops launching, waits at most `grace` for attempts in flight, and stores their results. A
    /// second call returns when the first has ended.
    pub(super) async fn shutdown(&self, grace: Span) {
        self.health.turn(HealthState::Stopping);
        // Held to the end, so that nothing takes a shutdown that has begun for one that is done.
        let mut held = self.running.lock().await;
        let Some(tasks) = held.take() else { return };
        tasks.pruner.abort();
        let deadline = self.clock.now() + grace;
        tasks.membership.leave(self.clock, deadline).await;
        self.inbox.ask(move |state| state.end(deadline)).await;
        // A task that panicked has said so, and its deliveries are safe in the store.
        _ = tasks.runner.await;
        tokio::select! {
            _ = tasks.settler => {}
            () = self.clock.until(Some(deadline + LAST_TRIES)) => {
                let unsettled = self.health.unsettled();
                tracing::warn!(unsettled, "store unavailable at shutdown, the next run repeats these attempts");
            }
        }
        self.end_membership().await;
    }

    /// Frees the shards that the node still leads. If that fails, the other nodes detect that this
    /// one is gone.
    async fn end_membership(&self) {
        let cluster = &self.links.cluster;
        let fence = self.links.leadership.hold().lead().fence;
        tokio::select! {
            left = cluster.leave(fence) => match left {
                Ok(()) => cluster.notify(Notification::Members).await,
                Err(error) => tracing::warn!(%error, "leave not stored, the other nodes will evict this one"),
            },
            () = TokioTime.sleep(LAST_TRIES) => {}
        }
    }
}

impl MembershipHandle {
    async fn begin(links: &Arc<FleetLinks>) -> Result<Self, Error> {
        let member = join(links).await?;
        let (leave, left) = watch::channel(false);
        let task = tokio::spawn(run(Arc::clone(links), member, left));
        Ok(Self { task, leave })
    }

    /// Gives everything up, as far as that is done by `deadline`.
    async fn leave(mut self, clock: EngineClock, deadline: Instant) {
        self.leave.send_replace(true);
        tokio::select! {
            // If it panicked, it has said so.
            _ = &mut self.task => {}
            () = clock.until(Some(deadline)) => self.task.abort(),
        }
    }
}

impl Drop for NodeTasks {
    fn drop(&mut self) {
        self.aborts.iter().for_each(AbortHandle::abort);
    }
}

/// Runs `work` to its end even if its caller stops waiting: otherwise store and memory could
/// differ.
pub(super) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let cut_off = |_| Err(Error::busy("the dispatcher stopped during the change"));
    tokio::spawn(work).await.unwrap_or_else(cut_off)
}

/// From one round to the next: messages are kept for days, so an hour more is nothing.
const MEAN: Span = Span::from_secs(60 * 60);

/// Messages in one call of the store: short enough that messages are accepted in between.
const STEP: usize = 200;

/// The shard whose leader prunes.
const ONE: Shards = Shards::of(ShardId(0));

/// Deletes finished messages that are older than the retention.
#[derive(Debug)]
pub(super) struct Pruner {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) directory: Arc<Directory>,
    pub(super) leadership: Arc<Leadership>,
    pub(super) clock: EngineClock,
    pub(super) retention: Span,
}

impl Pruner {
    /// Prunes every hour or so, spread so that nodes started together do not prune together.
    pub(super) async fn run(self) {
        loop {
            let half = Span::from_nanos(MEAN.as_nanos() / 2);
            TokioTime.sleep(OsEntropy.draw(half, MEAN + half)).await;
            // Of several nodes one prunes.
            if self.leadership.shards().common(ONE).is_empty() {
                continue;
            }
            match self.round().await {
                Ok(0) => {}
                Ok(messages) => tracing::info!(messages, "old messages pruned"),
                Err(error) => tracing::warn!(%error, "pruning failed, next try in about an hour"),
            }
        }
    }

    /// Prunes by the retention of the node, then by those of applications that keep their messages for less time.
    pub(super) async fn round(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        let mut messages = self.prune(None, before(now, self.retention)).await?;
        for application in self.directory.applications() {
            let shorter = application.retention.filter(|retention| *retention < self.retention);
            if let Some(retention) = shorter {
                messages += self.prune(Some(application.id), before(now, retention)).await?;
            }
        }
        Ok(messages)
    }

    async fn prune(&self, of: Option<ApplicationId>, before: Instant) -> Result<usize, Error> {
        let mut messages = 0;
        loop {
            let pruned = self.store.prune(of, before, STEP).await?;
            messages += pruned.messages;
            if pruned.messages < STEP {
                return Ok(messages);
            }
            tokio::task::yield_now().await;
        }
    }
}

/// The time before which messages of this retention are old.
fn before(now: Instant, retention: Span) -> Instant {
    Instant::ORIGIN + (now - Instant::ORIGIN - retention)
}
