//! The tasks of a running node, from their start to the shutdown, and changes that run to their end.

use std::future::Future;
use std::sync::Arc;

use stagger::{Instant, Sleep, Span, TokioTime};
use tokio::sync::{Mutex, watch};
use tokio::task::{AbortHandle, JoinHandle};

use super::clock::EngineClock;
use super::fleet::{FleetLinks, MemberTask, join, run};
use super::health::{HealthState, NodeHealth};
use super::inbox::Inbox;
use super::pruning::Pruner;
use super::runner::Runner;
use super::settler::Settler;
use crate::Error;
use crate::store::Notification;

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
        let joined = join(links).await?;
        let member = MemberTask::begin(links, joined).await?;
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
