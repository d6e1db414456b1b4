//! The queue of settlements that are to be stored, in order.

use tokio::sync::{mpsc, oneshot};

use crate::Error;
use crate::store::{Fence, Settlement};

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
