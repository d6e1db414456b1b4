//! One membership: the node sends heartbeats, evicts dead members, and moves shards.

use std::sync::Arc;

use stagger::{Instant, Sleep, Span, TokioTime};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::acquire::acquire;
use super::release::release;
use super::settings_sync::sync_settings;
use super::task::asked;
use super::work::Work;
use crate::Error;
use crate::leadership::Membership;
use crate::node::inbox::Command;
use crate::node::parts::Parts;
use crate::node::runner::Runner;
use crate::store::{ClusterView, Fence, Joined, Notification, Shards};

/// The share of the heartbeat interval after which a notification makes it check again.
const SOONER: u64 = 4;
/// The time limit of a call, in heartbeat intervals.
const ANSWER: u64 = 3;

/// The reason for which a membership ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MembershipEnd {
    /// It leads nothing any more, as it was asked to.
    Left,
    /// The others took it for dead.
    Evicted,
    /// The node does not know any more which shards it leads.
    Unconfirmed,
}

/// The result of a task of the membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskResult {
    Acquired(Shards),
    Released(Shards),
    Synced,
    /// It is not known whether the release took effect.
    Unconfirmed,
    /// Never: the work ends with the membership.
    Worked,
}

/// One membership.
#[derive(Debug)]
pub(super) struct MemberTask {
    parts: Arc<Parts>,
    fence: Fence,
    notifications: mpsc::UnboundedReceiver<Notification>,
    membership: Membership,
    work: Arc<Work>,
    tasks: JoinSet<TaskResult>,
    /// Shards that tasks are acquiring, and shards that they are releasing.
    acquiring: Shards,
    releasing: Shards,
    leaving: bool,
    last_heartbeat: Instant,
    next: Instant,
    /// Whether the last heartbeat was answered.
    answered: bool,
    /// Whether the log has reported that the store does not answer.
    outage_logged: bool,
}

impl MemberTask {
    pub(super) async fn begin(parts: &Arc<Parts>, joined: Joined) -> Self {
        let Joined { fence, notifications } = joined;
        parts.leadership.begin(fence);
        let begin = move |runner: &mut Runner| {
            runner.begin(fence);
            // Until the first heartbeat.
            runner.lead_until(Some(Instant::ORIGIN));
        };
        parts.scheduler.ask(begin).await;
        let now = parts.clock.now();
        let (work, mut tasks) = (Arc::new(Work::default()), JoinSet::new());
        let (theirs, its) = (Arc::clone(parts), Arc::clone(&work));
        tasks.spawn(async move {
            its.run(&theirs, theirs.cluster()).await;
            TaskResult::Worked
        });
        let theirs = Arc::clone(parts);
        tasks.spawn(async move { pass_on(&theirs).await });
        Self {
            parts: Arc::clone(parts),
            fence,
            notifications,
            membership: Membership::new(parts.options.lease),
            work,
            tasks,
            acquiring: Shards::NONE,
            releasing: Shards::NONE,
            leaving: false,
            last_heartbeat: now,
            next: now,
            answered: true,
            outage_logged: false,
        }
    }

    pub(super) const fn fence(&self) -> Fence {
        self.fence
    }

    /// Until it has left, or was taken for dead.
    pub(super) async fn live(&mut self, leave: &mut watch::Receiver<bool>) -> MembershipEnd {
        loop {
            let (parts, fence) = (Arc::clone(&self.parts), self.fence);
            tokio::select! {
                biased;
                () = lost(&parts, fence) => return MembershipEnd::Evicted,
                () = parts.clock.until(Some(self.next)) => {
                    if let Some(end) = self.heartbeat().await {
                        return end;
                    }
                }
                () = asked(leave), if !self.leaving => {
                    self.leaving = true;
                    self.next = self.last_heartbeat;
                }
                Some(on_task_result) = self.tasks.join_next() => match on_task_result {
                    Ok(on_task_result) if self.on_task_result(on_task_result) => {}
                    // The release was not confirmed, or the task panicked, which the log has.
                    _ => return MembershipEnd::Unconfirmed,
                },
                Some(notification) = self.notifications.recv() => self.on_notification(notification),
            }
        }
    }

    /// Ends all its tasks, and leads nothing.
    pub(super) async fn end(mut self) {
        self.parts.leadership.end(self.fence);
        self.tasks.shutdown().await;
        self.parts.scheduler.ask(|runner| runner.forget_all()).await;
        self.parts.leadership.begin(self.fence);
    }

    async fn heartbeat(&mut self) -> Option<MembershipEnd> {
        let parts = Arc::clone(&self.parts);
        let (sent, every) = (parts.clock.now(), self.membership.heartbeat_interval());
        (self.last_heartbeat, self.next) = (sent, sent + every);
        let cluster_view = self.within(self.ask()).await;
        self.answered = cluster_view.is_ok();
        match cluster_view {
            Ok(cluster_view) => {
                let until = Some(sent + self.membership.lease_validity());
                parts.scheduler.tell(Command::Do(Box::new(move |runner| runner.lead_until(until))));
                if std::mem::take(&mut self.outage_logged) {
                    tracing::info!("heartbeats of other nodes received again");
                }
                self.act(&cluster_view).await
            }
            Err(error) if error.is_conflict() => Some(MembershipEnd::Evicted),
            Err(error) => {
                if !std::mem::replace(&mut self.outage_logged, true) {
                    tracing::warn!(%error, "heartbeats of other nodes not received, retrying");
                }
                None
            }
        }
    }

    /// Sends a heartbeat. After one without an answer it makes another call first: heartbeats that
    /// arrive without answers coming back would keep the others from replacing a node that does not
    /// act.
    async fn ask(&self) -> Result<ClusterView, Error> {
        let cluster = self.parts.cluster();
        if !self.answered {
            cluster.changes_since(self.parts.settings_sync.settings_version()).await?;
        }
        cluster.heartbeat(self.fence, self.leaving).await
    }

    /// The result of a call, if it is answered before it would delay the heartbeats.
    async fn within<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let limit = self.membership.heartbeat_interval().saturating_mul(ANSWER);
        tokio::select! {
            biased;
            answer = call => answer,
            () = TokioTime.sleep(limit) => Err(Error::busy(format!("no answer within {limit}"))),
        }
    }

    async fn act(&mut self, cluster_view: &ClusterView) -> Option<MembershipEnd> {
        let parts = Arc::clone(&self.parts);
        parts.fleet.update(cluster_view);
        if cluster_view.settings_version > parts.settings_sync.settings_version() {
            self.sync_settings();
        }
        let actions = self.membership.on_cluster_view(parts.clock.now(), self.fence, cluster_view);
        let mut freed = false;
        for (fence, heartbeat) in actions.evict {
            freed |= self.evict(fence, heartbeat).await;
        }
        if freed {
            // The next heartbeat finds the free shards, here and on other nodes.
            self.next = self.last_heartbeat;
            parts.cluster().notify(Notification::Members).await;
        }
        let own = cluster_view.members.iter().find(|member| member.fence == self.fence);
        let own = own.map_or(Shards::NONE, |member| member.shards);
        self.begin_acquire(
            own.without(parts.leadership.shards()).without(self.acquiring).without(self.releasing),
        );
        if actions.acquire > 0 && !self.leaving {
            self.acquire_free(actions.acquire).await;
        }
        if self.acquiring.is_empty() {
            self.begin_release(actions.release.saturating_sub(self.releasing.len()));
        }
        (self.leaving && own.is_empty() && self.acquiring.is_empty()).then_some(MembershipEnd::Left)
    }

    /// Whether the membership can go on.
    fn on_task_result(&mut self, on_task_result: TaskResult) -> bool {
        match on_task_result {
            TaskResult::Acquired(shards) => self.acquiring = self.acquiring.without(shards),
            TaskResult::Released(shards) => self.releasing = self.releasing.without(shards),
            TaskResult::Synced | TaskResult::Worked => {}
            TaskResult::Unconfirmed => return false,
        }
        true
    }

    fn on_notification(&mut self, notification: Notification) {
        match notification {
            Notification::Work(shards)
                if shards.common(self.parts.leadership.shards()).is_empty() => {}
            Notification::Work(_) => self.work.wake(),
            Notification::Settings => self.sync_settings(),
            Notification::Members => {
                let every = self.membership.heartbeat_interval().as_nanos() / SOONER;
                self.next = self.next.min(self.last_heartbeat + Span::from_nanos(every));
            }
        }
    }

    async fn evict(&self, fence: Fence, heartbeat: u64) -> bool {
        match self.within(self.parts.cluster().evict(fence, heartbeat)).await {
            Ok(true) => {
                tracing::warn!(node = fence.0, "dead node evicted, its shards are free");
                true
            }
            Ok(false) => false,
            Err(error) => {
                tracing::warn!(%error, node = fence.0, "dead node not evicted, retrying");
                false
            }
        }
    }

    async fn acquire_free(&mut self, most: usize) {
        match self.within(self.parts.cluster().acquire(self.fence, most)).await {
            Ok(taken) => self.begin_acquire(taken),
            // Shards acquired by a call whose answer was lost are in the next cluster view.
            Err(error) => tracing::warn!(%error, "shards not acquired, retrying"),
        }
    }

    fn begin_acquire(&mut self, shards: Shards) {
        if shards.is_empty() {
            return;
        }
        self.acquiring = self.acquiring.union(shards);
        let (parts, work) = (Arc::clone(&self.parts), Arc::clone(&self.work));
        self.tasks.spawn(async move {
            acquire(&parts, parts.cluster(), &work, shards).await;
            tracing::info!(shards = shards.len(), "shards acquired");
            TaskResult::Acquired(shards)
        });
    }

    fn begin_release(&mut self, count: usize) {
        let shards: Vec<_> = self.parts.leadership.shards().iter().collect();
        let shards: Shards = shards.into_iter().rev().take(count).collect();
        if shards.is_empty() {
            return;
        }
        self.releasing = self.releasing.union(shards);
        let parts = Arc::clone(&self.parts);
        self.tasks.spawn(async move {
            match release(&parts, parts.cluster(), shards).await {
                Ok(()) => {
                    tracing::info!(shards = shards.len(), "shards released");
                    TaskResult::Released(shards)
                }
                Err(error) => {
                    tracing::warn!(%error, "shard release not confirmed");
                    TaskResult::Unconfirmed
                }
            }
        });
    }

    fn sync_settings(&mut self) {
        let parts = Arc::clone(&self.parts);
        self.tasks.spawn(async move {
            if let Err(error) = sync_settings(&parts).await {
                tracing::debug!(%error, "changed settings not read, retrying");
            }
            TaskResult::Synced
        });
    }
}

/// Ready once a settlement of this membership was refused.
async fn lost(parts: &Parts, fence: Fence) {
    // It cannot close: the parts hold its sender.
    _ = parts.lost.subscribe().wait_for(|lost| *lost == Some(fence)).await;
}

/// Notifies other nodes of the work that settlements of this one have created.
async fn pass_on(parts: &Parts) -> TaskResult {
    loop {
        let shards = parts.notifications.next().await;
        parts.cluster().notify(Notification::Work(shards)).await;
    }
}
