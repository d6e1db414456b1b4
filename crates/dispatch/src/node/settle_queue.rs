//! Queues between tasks: settlements, and notifications that join.

use std::sync::{Mutex, PoisonError};

use stagger_store::{Fence, Settlement, Shards};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::Error;

/// The number of unsettled results at which no more attempts are launched: a crash would repeat
/// their attempts, and each takes 2 KiB of memory.
pub(super) const MOST_UNSETTLED: usize = 8192;

/// The sending end of the queue of settlements.
#[derive(Debug)]
pub(super) struct SettleQueue {
    queue: mpsc::UnboundedSender<QueuedSettlement>,
    fence: Fence,
}

/// Completes when a settlement is durable, or with the store's error if it is tried again.
#[derive(Debug)]
pub(super) struct PendingCommit {
    done: oneshot::Receiver<Result<(), Error>>,
}

/// A settlement, and its waiting caller. Without a settlement the caller waits for all earlier
/// ones.
#[derive(Debug)]
pub(super) struct QueuedSettlement {
    pub(super) fence: Fence,
    pub(super) settlement: Option<Settlement>,
    pub(super) done: Option<oneshot::Sender<Result<(), Error>>>,
}

impl SettleQueue {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<QueuedSettlement>) {
        let (queue, receiver) = mpsc::unbounded_channel();
        (Self { queue, fence: Fence::default() }, receiver)
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

    /// The same, with a commit that completes when it is durable.
    pub(super) fn push_awaiting_commit(&self, settlement: Settlement) -> PendingCommit {
        self.enter(Some(settlement))
    }

    /// Completes when all earlier settlements are durable, or were dropped with their fence.
    pub(super) fn flushed(&self) -> PendingCommit {
        self.enter(None)
    }

    fn enter(&self, settlement: Option<Settlement>) -> PendingCommit {
        let (sender, done) = oneshot::channel();
        _ = self.queue.send(QueuedSettlement { fence: self.fence, settlement, done: Some(sender) });
        PendingCommit { done }
    }
}

impl PendingCommit {
    /// Waits for the first try to store it.
    pub(super) async fn wait(self) -> Result<(), Error> {
        let ended = |_| Err(Error::busy("the dispatcher has stopped"));
        self.done.await.unwrap_or_else(ended)
    }
}

/// Collects shards until the notifying task takes them.
#[derive(Debug, Default)]
pub(super) struct PendingNotifications {
    shards: Mutex<Shards>,
    more: Notify,
}

impl PendingNotifications {
    /// There is work for these.
    pub(super) fn add(&self, shards: Shards) {
        if shards.is_empty() {
            return;
        }
        let mut gathered = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        *gathered = gathered.union(shards);
        self.more.notify_one();
    }

    /// Waits for shards, and takes all of them. For one waiting task at a time.
    pub(super) async fn next(&self) -> Shards {
        loop {
            let shards = self.take();
            if !shards.is_empty() {
                return shards;
            }
            self.more.notified().await;
        }
    }

    /// Takes all shards that are there.
    pub(super) fn take(&self) -> Shards {
        std::mem::take(&mut self.shards.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use stagger_store::ShardId;

    use super::*;

    #[tokio::test]
    async fn shards_added_without_a_waiting_task_are_not_lost() {
        let notifications = PendingNotifications::default();
        let of = |shard| [ShardId(shard)].into_iter().collect();
        notifications.add(of(1));
        notifications.add(of(9));
        notifications.add(Shards::NONE);
        assert_eq!(notifications.next().await, Shards::union(of(1), of(9)));
        let (next, ()) = tokio::join!(notifications.next(), async { notifications.add(of(5)) });
        assert_eq!(next, of(5));
    }
}
