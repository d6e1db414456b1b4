//! Writes the results of attempts to the store: in order, in batches, and until it succeeds.

use std::pin::pin;
use std::sync::Arc;

use stagger::{Clock, Instant, Sleep, Span, TokioTime};
use stagger_store::{ClusterHandle, Fence, ShardId, StoreBackoff};
use tokio::sync::{mpsc, watch};

use super::clock::EngineClock;
use super::health::{HealthState, NodeHealth};
use super::scheduler_state::{Command, Inbox};
use super::settle_queue::{MOST_UNSETTLED, PendingNotifications, QueuedSettlement};
use crate::Error;
use crate::observe::Instruments;

/// Settlements in one call of the store: a longer transaction saves nothing, and keeps accepting
/// waiting.
const BATCH: usize = 256;

/// The least time from one transaction to the next, unless so many settlements wait that they are worth one. Nothing waits
/// for a settlement that has no caller, and those that come one by one would cost the database much more than together.
const PAUSE: Span = Span::from_millis(10);
const MANY: usize = 64;

/// Writes settlements; done when the queue's other end was dropped and all is stored.
#[derive(Debug)]
pub(super) struct Settler {
    pub(super) queue: mpsc::UnboundedReceiver<QueuedSettlement>,
    pub(super) cluster: ClusterHandle,
    pub(super) clock: EngineClock,
    pub(super) health: Arc<NodeHealth>,
    pub(super) instruments: Arc<Instruments>,
    /// Launches wait there while too many settlements do.
    pub(super) inbox: Inbox,
    pub(super) notifications: Arc<PendingNotifications>,
    /// The fence that was refused last: its membership has ended.
    pub(super) lost: watch::Sender<Option<Fence>>,
}

impl Settler {
    pub(super) async fn run(mut self) {
        let mut taken = Vec::with_capacity(BATCH);
        let mut next = TokioTime.now();
        while self.queue.recv_many(&mut taken, BATCH).await > 0 {
            self.collect_until(next, &mut taken).await;
            next = TokioTime.now() + PAUSE;
            for batch in taken.chunk_by_mut(|one, next| one.fence == next.fence) {
                self.write(batch).await;
            }
            taken.clear();
        }
    }

    /// Waits for more until then, unless there are many already, or a caller waits for one of them.
    async fn collect_until(&mut self, then: Instant, taken: &mut Vec<QueuedSettlement>) {
        let mut time_is_up = pin!(TokioTime.sleep(then.since(TokioTime.now())));
        while taken.len() < MANY && taken.iter().all(|entry| entry.done.is_none()) {
            let room = BATCH - taken.len();
            tokio::select! {
                biased;
                () = time_is_up.as_mut() => return,
                more = self.queue.recv_many(taken, room) => if more == 0 { return },
            }
        }
    }

    /// Stores all of them, which have one fence, however long that takes.
    async fn write(&self, batch: &mut [QueuedSettlement]) {
        if *self.lost.borrow() == Some(batch[0].fence) {
            return self.discard(batch);
        }
        let mut backoff = StoreBackoff::default();
        loop {
            let Err(error) = self.try_once(batch).await else { return self.stored(batch) };
            if error.is_conflict() {
                return self.on_fence_lost(batch, &error);
            }
            if !error.is_unavailable() {
                return self.write_one_by_one(batch).await;
            }
            self.on_store_failure(batch, &error);
            backoff.wait().await;
        }
    }

    async fn try_once(&self, batch: &[QueuedSettlement]) -> Result<(), Error> {
        let settlements: Vec<_> =
            batch.iter().filter_map(|entry| entry.settlement.clone()).collect();
        if settlements.is_empty() {
            return Ok(());
        }
        let (count, began) = (settlements.len(), self.clock.now());
        self.cluster.settle_as_leader(batch[0].fence, settlements).await?;
        self.instruments.committed(count, self.clock.now() - began);
        Ok(())
    }

    /// Writes each alone, because one of them is invalid and must not hold up the others. The
    /// invalid one is skipped, and its attempt is repeated after a restart.
    async fn write_one_by_one(&self, batch: &mut [QueuedSettlement]) {
        for at in 0..batch.len() {
            let one = &mut batch[at..=at];
            if let Err(error) = self.try_once(one).await {
                if error.is_conflict() {
                    return self.on_fence_lost(&mut batch[at..], &error);
                }
                tracing::error!(%error, settlement = ?one[0].settlement, "settlement not stored, skipped");
                tell_waiting(one, &error);
            }
            self.stored(one);
        }
    }

    /// Reports the batch as durable, and notifies the leaders of its operational messages.
    fn stored(&self, batch: &mut [QueuedSettlement]) {
        self.end(batch);
        for QueuedSettlement { settlement, done, .. } in batch {
            if let Some(done) = done.take() {
                _ = done.send(Ok(()));
            }
            // The deliveries of an operational message reach their leaders as arrivals.
            for new in settlement.take().into_iter().flat_map(|settled| settled.operational) {
                self.notifications.add(new.endpoints.into_iter().map(ShardId::of).collect());
            }
        }
    }

    /// The store works, and these wait for it no longer.
    fn end(&self, batch: &[QueuedSettlement]) {
        if self.health.turn(HealthState::Well) {
            tracing::info!("store available again");
        }
        let count = batch.iter().filter(|entry| entry.settlement.is_some()).count();
        let left = self.health.end_settling(count);
        if left < MOST_UNSETTLED && left + count >= MOST_UNSETTLED {
            self.inbox.tell(Command::Resume);
        }
    }

    fn on_store_failure(&self, batch: &mut [QueuedSettlement], error: &Error) {
        if self.health.turn(HealthState::Failing(error.clone())) {
            tracing::error!(%error, "attempts not stored, retrying");
        }
        self.instruments.commit_failed();
        tell_waiting(batch, error);
    }

    /// Handles a refused fence: another node, or another run, owns these endpoints.
    fn on_fence_lost(&self, batch: &mut [QueuedSettlement], error: &Error) {
        let fence = batch[0].fence;
        tracing::warn!(%error, fence = fence.0, "membership ended, its attempts are not stored");
        self.lost.send_replace(Some(fence));
        self.discard(batch);
    }

    /// Drops settlements whose endpoints another node leads: that node repeats these attempts.
    fn discard(&self, batch: &mut [QueuedSettlement]) {
        self.end(batch);
        tell_waiting(batch, &Error::busy("another node leads this endpoint now"));
        for done in batch.iter_mut().filter_map(|entry| entry.done.take()) {
            _ = done.send(Ok(()));
        }
    }
}

/// Reports the error to callers that wait for one settlement, but not to those that wait for all
/// earlier ones.
fn tell_waiting(batch: &mut [QueuedSettlement], error: &Error) {
    let settlements = batch.iter_mut().filter(|entry| entry.settlement.is_some());
    for done in settlements.filter_map(|entry| entry.done.take()) {
        _ = done.send(Err(error.clone()));
    }
}
