//! Work for the leader: arrivals and commands.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::leadership::{BacklogCounter, Leadership};
use super::settings_sync::SettingsSync;
use crate::Error;
use crate::node::attempt::{CachedMessage, PayloadCache};
use crate::node::directory::Directory;
use crate::node::health::NodeHealth;
use crate::node::scheduler_state::{Command, Inbox, SchedulerState};
use crate::node::settle_queue::{PendingCommit, PendingNotifications};
use stagger::{Clock, Instant, Sleep, Span, TokioTime};
use stagger_scheduler::Scheduler;
use stagger_scheduler::model::{
    Delivery, DeliveryState, Disabled, EndpointId, EndpointState, MessageId,
};
use stagger_store::{Arrival, ClusterHandle, DeliveryStore, EndpointCommand, Shards};

/// The most arrivals in one read: 8 MiB of small payloads at most.
const BATCH: usize = 512;

/// The least time from one read to the next, unless the first found so many that more are probably there. Each
/// read is a transaction, so that arrivals that come one by one would cost much more than together.
const PAUSE: Span = Span::from_millis(10);
const MANY: usize = 64;

/// Takes the work of a membership.
#[derive(Debug)]
pub(in crate::node) struct Work {
    commands: CommandExecutor,
    leadership: Arc<Leadership>,
    payloads: Arc<PayloadCache>,
    health: Arc<NodeHealth>,
    max_open: usize,
    /// Arrivals that are scheduled here, and not deleted from the store yet.
    done: Mutex<Vec<u64>>,
    /// The shards that may have work.
    woken: PendingNotifications,
    /// Whether the log has reported that arrivals cannot be read.
    outage_logged: AtomicBool,
}

/// The work that a round has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// There was no room for more, or a command has to wait.
    Some,
}

/// The next look at all shards: a notification may be lost, however many others come.
#[derive(Debug)]
struct FullLook {
    every: Span,
    at: Instant,
}

impl FullLook {
    fn new(every: Span) -> Self {
        Self { every, at: TokioTime.now() + every }
    }

    /// Waits until it is due.
    async fn due(&self) {
        TokioTime.sleep(self.at.since(TokioTime.now())).await;
    }

    /// The shards to look at now: those that were woken, or all when a full look is due.
    fn shards(&mut self, woken: Shards) -> Shards {
        let now = TokioTime.now();
        if now < self.at {
            return woken;
        }
        self.at = now + self.every;
        Shards::ALL
    }
}

impl Work {
    pub(in crate::node) fn new(
        commands: CommandExecutor,
        leadership: Arc<Leadership>,
        payloads: Arc<PayloadCache>,
        (health, max_open): (Arc<NodeHealth>, usize),
    ) -> Self {
        Self {
            commands,
            leadership,
            payloads,
            health,
            max_open,
            done: Mutex::default(),
            woken: PendingNotifications::default(),
            outage_logged: AtomicBool::new(false),
        }
    }

    /// A membership begins. The arrivals of an earlier one are another node's.
    pub(super) fn begin(&self) {
        self.drain();
    }

    /// There may be work for these shards.
    pub(super) fn wake(&self, shards: Shards) {
        self.woken.add(shards);
    }

    /// Records that these arrivals are scheduled, or have ended.
    pub(super) fn done(&self, numbers: Vec<u64>) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).extend(numbers);
    }

    /// Does the pending work repeatedly: when it is woken; and after each interval `every` if
    /// notifications may be lost, or if the last round has left something.
    pub(super) async fn run(&self, every: Span, notifications_may_be_lost: bool) {
        let (mut rest, mut full) = (Rest::Nothing, FullLook::new(every));
        loop {
            let looks_again = notifications_may_be_lost || rest == Rest::Some;
            let woken = tokio::select! {
                woken = self.woken.next() => woken,
                () = full.due(), if looks_again => Shards::NONE,
            };
            rest = match self.round(woken, &mut full).await {
                Ok(rest) => {
                    self.outage_logged.store(false, Ordering::Relaxed);
                    rest
                }
                Err(error) => {
                    self.on_outage(&error);
                    Rest::Some
                }
            };
        }
    }

    fn on_outage(&self, error: &Error) {
        if self.outage_logged.swap(true, Ordering::Relaxed) {
            tracing::debug!(%error, "arrivals still not read");
        } else {
            tracing::warn!(%error, "arrivals not read, retrying");
        }
    }

    /// Does the work of `woken` shards, and of those that are woken meanwhile.
    async fn round(&self, mut woken: Shards, full: &mut FullLook) -> Result<Rest, Error> {
        let mut rest = Rest::Nothing;
        loop {
            let began = TokioTime.now();
            woken = full.shards(woken.union(self.woken.take()));
            let limit = BATCH.min(self.max_open.saturating_sub(self.health.open()));
            let (found, left) = self.step(woken, limit).await?;
            if limit == 0 || left == Rest::Some {
                rest = Rest::Some;
            }
            if found == 0 {
                return Ok(rest);
            }
            if found < limit {
                // Later ones wake their shards again.
                woken = Shards::NONE;
            }
            if found < MANY {
                TokioTime.sleep(PAUSE - (TokioTime.now() - began)).await;
            }
        }
    }

    /// Takes up to `limit` arrivals, and executes the commands; returns how many arrivals there were, and whether
    /// commands have to wait.
    async fn step(&self, woken: Shards, limit: usize) -> Result<(usize, Rest), Error> {
        // Held until the arrivals are scheduled: the release of a shard waits for it.
        let held = self.leadership.hold();
        let shards = held.lead().shards.common(woken);
        if shards.is_empty() && self.is_nothing_done() {
            return Ok((0, Rest::Nothing));
        }
        let found = self.take(shards, limit).await?;
        let some_wait = !shards.is_empty() && self.commands.execute(shards).await?;
        Ok((found, if some_wait { Rest::Some } else { Rest::Nothing }))
    }

    fn is_nothing_done(&self) -> bool {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Takes some arrivals of shards that this node leads; returns their number.
    async fn take(&self, shards: Shards, limit: usize) -> Result<usize, Error> {
        let CommandExecutor { cluster, directory, settings, .. } = &self.commands;
        let done = self.drain();
        let taken = match cluster.arrivals(shards, &done, limit).await {
            Ok(taken) => taken,
            Err(error) => {
                // They may have been forgotten: that can be said twice.
                self.done(done);
                return Err(error);
            }
        };
        let unknown = |arrival: &Arrival| {
            arrival.delivery.is_some_and(|it| directory.endpoint(it.endpoint).is_none())
        };
        if taken.iter().any(unknown) {
            settings.sync().await?;
        }
        let numbers = taken.iter().map(|arrival| arrival.number).collect::<Vec<_>>();
        self.hand_over(taken);
        let found = numbers.len();
        self.done(numbers);
        Ok(found)
    }

    fn drain(&self) -> Vec<u64> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Skips deliveries that have ended; many to one endpoint that were replayed or made due start a
    /// recovery.
    fn hand_over(&self, taken: Vec<Arrival>) {
        let mut messages = BTreeMap::<MessageId, (CachedMessage, usize)>::new();
        let mut deliveries: Vec<Delivery> = Vec::with_capacity(taken.len());
        for Arrival { delivery, content, .. } in taken {
            let Some(delivery) = delivery else { continue };
            deliveries.push(delivery);
            if let Some((message, payload)) = content {
                let cached = CachedMessage { message: Arc::new(message), payload };
                messages.entry(delivery.message).or_insert((cached, 0)).1 += 1;
            }
        }
        let inbox = &self.commands.inbox;
        let by_hand = |it: &&Delivery| it.replays > 0 || it.state == DeliveryState::Waiting;
        let replayed = deliveries.iter().filter(by_hand);
        BacklogCounter::default().count(replayed, inbox);
        self.payloads.keep(messages.into_values());
        inbox.tell(Command::Add(deliveries));
    }
}

/// Executes the commands of the store.
#[derive(Debug)]
pub(in crate::node) struct CommandExecutor {
    pub(in crate::node) store: Arc<dyn DeliveryStore>,
    pub(in crate::node) cluster: ClusterHandle,
    pub(in crate::node) settings: Arc<SettingsSync>,
    pub(in crate::node) directory: Arc<Directory>,
    pub(in crate::node) inbox: Inbox,
}

impl CommandExecutor {
    /// Executes the commands for this node; returns whether some have to wait.
    pub(super) async fn execute(&self, shards: Shards) -> Result<bool, Error> {
        let commands = self.cluster.commands(shards).await?;
        if commands.iter().any(|(_, endpoint, _)| self.directory.endpoint(*endpoint).is_none()) {
            self.settings.sync().await?;
        }
        let mut some_wait = false;
        for (number, endpoint, command) in commands {
            match self.inbox.ask(move |state| apply(state, endpoint, command)).await.flatten() {
                Some(commit) => commit.wait().await?,
                None if self.is_coming(endpoint, command).await? => {
                    some_wait = true;
                    continue;
                }
                None => {}
            }
            self.cluster.complete_commands(&[number]).await?;
        }
        Ok(some_wait)
    }

    /// Whether the delivery to cancel or to retry is open, and has not reached the scheduler yet.
    async fn is_coming(
        &self,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<bool, Error> {
        let (EndpointCommand::Cancel(message) | EndpointCommand::Retry(message)) = command else {
            return Ok(false);
        };
        let delivery = self.store.delivery(message, endpoint).await?;
        Ok(delivery.is_some_and(|delivery| delivery.state.is_open()))
    }
}

/// Executes a command in the scheduler. `None` where it has no effect: the endpoint is gone, the
/// delivery has ended.
pub(in crate::node) fn apply(
    state: &mut SchedulerState,
    endpoint: EndpointId,
    command: EndpointCommand,
) -> Option<PendingCommit> {
    match command {
        EndpointCommand::Cancel(message) => {
            state.cancel(message, endpoint).map(|(_, commit)| commit)
        }
        EndpointCommand::Enable => {
            state.change(endpoint, |scheduler, now| scheduler.enable(now, endpoint))
        }
        EndpointCommand::Disable => {
            state.change(endpoint, |scheduler, now| disable(scheduler, now, endpoint))
        }
        EndpointCommand::Retry(message) => state.retry(message, endpoint).map(|(_, commit)| commit),
        EndpointCommand::Probe => {
            state.change(endpoint, |scheduler, now| scheduler.probe(now, endpoint))
        }
        EndpointCommand::Recover => {
            state.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint))
        }
    }
}

fn disable(scheduler: &mut Scheduler, now: Instant, endpoint: EndpointId) -> Option<EndpointState> {
    scheduler.disable(now, endpoint, Disabled::ByHand)
}

#[cfg(test)]
mod tests {
    use stagger_store::ShardId;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn notifications_without_end_put_the_look_at_all_shards_off() {
        let (every, some) = (Span::from_secs(1), Shards::of(ShardId(7)));
        let mut full = FullLook::new(every);
        let mut looks = Vec::new();
        for _ in 0..25 {
            looks.push(full.shards(some));
            TokioTime.sleep(Span::from_millis(100)).await;
        }
        let all: Vec<_> = (0..25).filter(|at| looks[*at] == Shards::ALL).collect();
        assert_eq!(all, [10, 20]);
        full.due().await;
        assert_eq!(full.shards(Shards::NONE), Shards::ALL);
    }
}
