//! Writes the results of attempts to the store: in order, in batches, and until it succeeds.

use std::sync::Arc;

use stagger::Instant;
use tokio::sync::{mpsc, oneshot};

use super::health::HealthState;
use super::inbox::Command;
use super::parts::Parts;
use super::payloads::CachedMessage;
use super::runner::MOST_UNSETTLED;
use crate::Error;
use crate::model::{Delivery, NewMessage};
use crate::store::{Fence, Settlement, ShardId};
use crate::store_backoff::StoreBackoff;

/// Settlements in one call of the store: a longer transaction saves nothing, and keeps accepting
/// waiting.
const BATCH: usize = 1024;

/// The sending end of the queue of settlements.
#[derive(Debug)]
pub(super) struct SettleQueue {
    queue: mpsc::UnboundedSender<QueuedSettlement>,
    fence: Fence,
}

/// Completes when a settlement is durable, or with the store's error if it is tried again.
#[derive(Debug)]
pub(super) struct Receipt {
    done: oneshot::Receiver<Result<(), Error>>,
}

/// Writes settlements; done when the queue's other end was dropped and all is stored.
#[derive(Debug)]
pub(super) struct Settler {
    parts: Arc<Parts>,
    queue: mpsc::UnboundedReceiver<QueuedSettlement>,
    /// The fence that was refused last.
    lost: Option<Fence>,
}

/// A settlement, and its waiting caller. Without a settlement the caller waits for all earlier
/// ones.
#[derive(Debug)]
struct QueuedSettlement {
    fence: Fence,
    settlement: Option<Settlement>,
    done: Option<oneshot::Sender<Result<(), Error>>>,
}

impl SettleQueue {
    pub(super) fn new(parts: Arc<Parts>, fence: Fence) -> (Self, Settler) {
        let (sender, queue) = mpsc::unbounded_channel();
        (Self { queue: sender, fence }, Settler { parts, queue, lost: None })
    }

    /// Writes all later settlements under this fence.
    pub(super) const fn begin(&mut self, fence: Fence) {
        self.fence = fence;
    }

    pub(super) const fn fence(&self) -> Fence {
        self.fence
    }

    /// In the order of calls. Without a settler nothing is written: then another run has the store,
    /// or this one has ended.
    pub(super) fn push(&self, settlement: Settlement) {
        let settlement = Some(settlement);
        _ = self.queue.send(QueuedSettlement { fence: self.fence, settlement, done: None });
    }

    /// The same, with a receipt that completes when it is durable.
    pub(super) fn push_with_receipt(&self, settlement: Settlement) -> Receipt {
        self.enter(Some(settlement))
    }

    /// Completes when all earlier settlements are durable, or were dropped with their fence.
    pub(super) fn flushed(&self) -> Receipt {
        self.enter(None)
    }

    fn enter(&self, settlement: Option<Settlement>) -> Receipt {
        let (sender, done) = oneshot::channel();
        _ = self.queue.send(QueuedSettlement { fence: self.fence, settlement, done: Some(sender) });
        Receipt { done }
    }
}

impl Receipt {
    /// Waits for the first try to store it.
    pub(super) async fn wait(self) -> Result<(), Error> {
        let ended = |_| Err(Error::busy("the dispatcher has stopped"));
        self.done.await.unwrap_or_else(ended)
    }
}

impl Settler {
    pub(super) async fn run(mut self) {
        let mut taken = Vec::with_capacity(BATCH);
        while self.queue.recv_many(&mut taken, BATCH).await > 0 {
            for batch in taken.chunk_by_mut(|one, next| one.fence == next.fence) {
                if !self.write(batch).await {
                    return;
                }
            }
            taken.clear();
        }
    }

    /// Stores all of them, which have one fence, however long that takes; false when the store belongs to
    /// another run.
    async fn write(&mut self, batch: &mut [QueuedSettlement]) -> bool {
        if self.lost.is_some_and(|lost| lost == batch[0].fence) {
            self.discard(batch);
            return true;
        }
        let mut backoff = StoreBackoff::new();
        loop {
            let Err(error) = self.try_once(batch).await else {
                self.stored(batch);
                return true;
            };
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
        let (count, began) = (settlements.len(), self.parts.clock.now());
        self.parts.store.settle(batch[0].fence, settlements).await?;
        self.parts.instruments.committed(count, self.parts.clock.now() - began);
        Ok(())
    }

    /// Writes each alone, because one of them is invalid and must not hold up the others. The
    /// invalid one is skipped, and its attempt is repeated after a restart.
    async fn write_one_by_one(&mut self, batch: &mut [QueuedSettlement]) -> bool {
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
        true
    }

    /// Reports the batch as durable, and delivers its operational messages.
    fn stored(&self, batch: &mut [QueuedSettlement]) {
        self.end(batch);
        for QueuedSettlement { settlement, done, .. } in batch {
            if let Some(done) = done.take() {
                _ = done.send(Ok(()));
            }
            if let Some(message) = settlement.take().and_then(|settled| settled.operational) {
                self.deliver(message);
            }
        }
    }

    /// The store works, and these wait for it no longer.
    fn end(&self, batch: &[QueuedSettlement]) {
        if self.parts.health.turn(HealthState::Well) {
            tracing::info!("store available again");
        }
        let count = batch.iter().filter(|entry| entry.settlement.is_some()).count();
        let left = self.parts.health.end_settling(count);
        if left < MOST_UNSETTLED && left + count >= MOST_UNSETTLED {
            self.parts.scheduler.tell(Command::Resume);
        }
    }

    /// Schedules an operational message. In a cluster its deliveries reach their leaders as
    /// arrivals.
    fn deliver(&self, message: NewMessage) {
        let NewMessage { message, payload, endpoints } = message;
        if self.parts.store.cluster().is_some() {
            return self.parts.notifications.add(endpoints.into_iter().map(ShardId::of).collect());
        }
        let (id, application, at) = (message.id, message.application, message.created_at);
        let cached = CachedMessage { message: Arc::new(message), payload };
        self.parts.payloads.keep([(cached, endpoints.len())]);
        let delivery = |endpoint| Delivery::new(id, endpoint, application, at);
        self.parts.scheduler.tell(Command::Add(endpoints.into_iter().map(delivery).collect()));
    }

    fn on_store_failure(&self, batch: &mut [QueuedSettlement], error: &Error) {
        if self.parts.health.turn(HealthState::Failing(error.clone())) {
            tracing::error!(%error, "attempts not stored, retrying");
        }
        self.parts.instruments.commit_failed();
        tell_waiting(batch, error);
    }

    /// Handles a refused fence: another run, or another node, owns these endpoints. Returns whether
    /// to continue with other settlements.
    fn on_fence_lost(&mut self, batch: &mut [QueuedSettlement], error: &Error) -> bool {
        if self.parts.store.cluster().is_none() {
            self.stop_for_other_run(error);
            return false;
        }
        let fence = batch[0].fence;
        tracing::warn!(%error, fence = fence.0, "membership ended, its attempts are not stored");
        self.lost = Some(fence);
        self.discard(batch);
        self.parts.lost.send_replace(self.lost);
        true
    }

    /// Stops the node: it would repeat the attempts of the other run.
    fn stop_for_other_run(&self, error: &Error) {
        tracing::error!(%error, "store taken over by another run, stopping");
        self.parts.health.turn(HealthState::Ended(format!("another run owns the store: {error}")));
        self.parts.scheduler.tell(Command::Do(Box::new(|runner| runner.end(Instant::ORIGIN))));
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
