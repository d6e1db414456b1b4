//! One membership: the node sends heartbeats, evicts dead members, and moves shards.

use std::sync::Arc;

use stagger::{Instant, Sleep, Span, TokioTime};
use stagger_scheduler::leadership::Membership;
use stagger_store::{ClusterMember, ClusterView, Fence, Joined, Notification, Shards};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::shard_mover::FleetLinks;
use crate::Error;
use crate::node::scheduler_state::{Command, SchedulerState};

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
pub(in crate::node) struct MemberTask {
    links: Arc<FleetLinks>,
    fence: Fence,
    /// Whether it has to send heartbeats.
    heartbeats: bool,
    notifications: mpsc::UnboundedReceiver<Notification>,
    membership: Membership,
    tasks: JoinSet<TaskResult>,
    /// Shards that tasks are acquiring, and shards that they are releasing.
    acquiring: Shards,
    releasing: Shards,
    leaving: bool,
    last_heartbeat: Instant,
    /// The time of the next heartbeat, if it sends one by itself.
    next: Option<Instant>,
    /// Whether the last heartbeat was answered.
    answered: bool,
    /// The heartbeats of this node that the store had counted at the last answer.
    counted: u64,
    /// Whether the log has reported that the store does not answer.
    outage_logged: bool,
}

impl MemberTask {
    /// Begins a membership. Shards that it leads from the start are loaded when this returns.
    ///
    /// # Errors
    /// These shards cannot be loaded.
    pub(in crate::node) async fn begin(
        links: &Arc<FleetLinks>,
        joined: Joined,
    ) -> Result<Self, Error> {
        let Joined { fence, shards, heartbeats, notifications } = joined;
        links.leadership.begin(fence);
        links.work.begin();
        let begin = move |state: &mut SchedulerState| {
            state.begin(fence);
            // Until the first heartbeat.
            state.lead_until(Some(Instant::ORIGIN));
        };
        links.inbox.ask(begin).await;
        if !shards.is_empty() {
            links.mover.try_acquire(&links.work, shards).await?;
        }
        if !heartbeats {
            links.inbox.ask(|state| state.lead_until(None)).await;
        }
        let now = links.clock.now();
        let mut member = Self {
            links: Arc::clone(links),
            fence,
            heartbeats,
            notifications,
            membership: Membership::new(links.lease),
            tasks: JoinSet::new(),
            acquiring: Shards::NONE,
            releasing: Shards::NONE,
            leaving: false,
            last_heartbeat: now,
            next: heartbeats.then_some(now),
            answered: true,
            counted: 0,
            outage_logged: false,
        };
        member.begin_work();
        Ok(member)
    }

    fn begin_work(&mut self) {
        let (every, heartbeats) = (self.membership.heartbeat_interval(), self.heartbeats);
        let links = Arc::clone(&self.links);
        self.tasks.spawn(async move {
            links.work.run(every, heartbeats).await;
            TaskResult::Worked
        });
        let links = Arc::clone(&self.links);
        self.tasks.spawn(async move { pass_on(&links).await });
    }

    pub(super) const fn fence(&self) -> Fence {
        self.fence
    }

    /// Until it has left, or was taken for dead.
    pub(super) async fn live(&mut self, leave: &mut watch::Receiver<bool>) -> MembershipEnd {
        loop {
            let (links, fence) = (Arc::clone(&self.links), self.fence);
            tokio::select! {
                biased;
                () = lost(&links, fence) => return MembershipEnd::Evicted,
                () = links.clock.until(self.next) => {
                    if let Some(end) = self.heartbeat().await {
                        return end;
                    }
                }
                () = asked(leave), if !self.leaving => {
                    self.leaving = true;
                    self.next = Some(self.last_heartbeat);
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
        self.links.leadership.end(self.fence);
        self.tasks.shutdown().await;
        self.links.inbox.ask(SchedulerState::forget_all).await;
        self.links.leadership.begin(self.fence);
    }

    async fn heartbeat(&mut self) -> Option<MembershipEnd> {
        let links = Arc::clone(&self.links);
        let (sent, every) = (links.clock.now(), self.membership.heartbeat_interval());
        (self.last_heartbeat, self.next) = (sent, self.heartbeats.then(|| sent + every));
        let cluster_view = self.within(self.ask()).await;
        self.answered = cluster_view.is_ok();
        match cluster_view {
            Ok(cluster_view) => {
                if self.heartbeats {
                    let until = Some(sent + self.membership.lease_validity());
                    links.inbox.tell(Command::Do(Box::new(move |state| state.lead_until(until))));
                }
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
        let cluster = &self.links.cluster;
        if !self.answered {
            cluster.changes_since(self.links.settings.version()).await?;
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
        let links = Arc::clone(&self.links);
        links.view.update(links.clock.now(), cluster_view);
        if cluster_view.settings_version > links.settings.version() {
            self.sync_settings();
        }
        let actions = self.membership.on_cluster_view(links.clock.now(), self.fence, cluster_view);
        let mut freed = false;
        for (fence, heartbeat) in actions.evict {
            freed |= self.evict(fence, heartbeat).await;
        }
        if freed {
            // The next heartbeat finds the free shards, here and on other nodes.
            self.next = Some(self.last_heartbeat);
            links.cluster.notify(Notification::Members).await;
        }
        let own = cluster_view.members.iter().find(|member| member.fence == self.fence);
        if own.is_some_and(|own| self.was_restored(own)) {
            tracing::error!("the store was restored to an earlier moment, reading it again");
            return Some(MembershipEnd::Unconfirmed);
        }
        let own = own.map_or(Shards::NONE, |member| member.shards);
        self.begin_acquire(
            own.without(links.leadership.shards()).without(self.acquiring).without(self.releasing),
        );
        if actions.acquire > 0 && !self.leaving {
            self.acquire_free(actions.acquire).await;
        }
        if self.acquiring.is_empty() {
            self.begin_release(actions.release.saturating_sub(self.releasing.len()));
        }
        (self.leaving && own.is_empty() && self.acquiring.is_empty()).then_some(MembershipEnd::Left)
    }

    /// Whether the store has forgotten what it had confirmed: a heartbeat of this node, or a shard
    /// that this node leads. Another node may lead that shard by now, and deliveries that ended may
    /// be open again.
    fn was_restored(&mut self, own: &ClusterMember) -> bool {
        let before = std::mem::replace(&mut self.counted, own.heartbeat);
        let forgot_shards = !self.links.leadership.shards().without(own.shards).is_empty();
        self.heartbeats && (own.heartbeat <= before || forgot_shards)
    }

    /// Whether the membership can go on.
    fn on_task_result(&mut self, on_task_result: TaskResult) -> bool {
        match on_task_result {
            TaskResult::Acquired(shards) => self.acquiring = self.acquiring.without(shards),
            TaskResult::Released(shards) => {
                self.releasing = self.releasing.without(shards);
                if self.leaving {
                    // The answer to the next heartbeat ends the membership.
                    self.next = Some(self.last_heartbeat);
                }
            }
            TaskResult::Synced | TaskResult::Worked => {}
            TaskResult::Unconfirmed => return false,
        }
        true
    }

    fn on_notification(&mut self, notification: Notification) {
        match notification {
            Notification::Work(shards) => {
                self.links.work.wake(shards.common(self.links.leadership.shards()));
            }
            Notification::Settings => self.sync_settings(),
            Notification::Members => {
                let every = self.membership.heartbeat_interval().as_nanos() / SOONER;
                let soon = self.last_heartbeat + Span::from_nanos(every);
                self.next = self.next.map(|next| next.min(soon));
            }
        }
    }

    async fn evict(&self, fence: Fence, heartbeat: u64) -> bool {
        match self.within(self.links.cluster.evict(fence, heartbeat)).await {
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
        match self.within(self.links.cluster.acquire(self.fence, most)).await {
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
        let links = Arc::clone(&self.links);
        self.tasks.spawn(async move {
            links.mover.acquire(&links.work, shards).await;
            tracing::info!(shards = shards.len(), "shards acquired");
            TaskResult::Acquired(shards)
        });
    }

    fn begin_release(&mut self, count: usize) {
        let shards: Vec<_> = self.links.leadership.shards().iter().collect();
        let shards: Shards = shards.into_iter().rev().take(count).collect();
        if shards.is_empty() {
            return;
        }
        self.releasing = self.releasing.union(shards);
        let links = Arc::clone(&self.links);
        self.tasks.spawn(async move {
            match links.mover.release(shards).await {
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
        let links = Arc::clone(&self.links);
        self.tasks.spawn(async move {
            if let Err(error) = links.settings.sync().await {
                tracing::debug!(%error, "changed settings not read, retrying");
            }
            TaskResult::Synced
        });
    }
}

/// Ready once a settlement of this membership was refused.
async fn lost(links: &FleetLinks, fence: Fence) {
    // It cannot close: the links hold a sender.
    _ = links.lost.subscribe().wait_for(|lost| *lost == Some(fence)).await;
}

/// Notifies other nodes of the work that settlements of this one have created.
async fn pass_on(links: &FleetLinks) -> TaskResult {
    loop {
        let shards = links.notifications.next().await;
        links.cluster.notify(Notification::Work(shards)).await;
    }
}

/// Completes once the node is told to leave; never, if all senders are gone.
pub(super) async fn asked(leave: &mut watch::Receiver<bool>) {
    let asked = leave.wait_for(|leaves| *leaves).await.is_ok();
    if !asked {
        std::future::pending::<()>().await;
    }
}
