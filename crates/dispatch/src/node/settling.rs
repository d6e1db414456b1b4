//! What attempts came to, on its way into the store: in order, many at once, and never given up.

use std::sync::Arc;

use stagger::Instant;
use tokio::sync::{mpsc, oneshot};

use super::health::State;
use super::inbox::Command;
use super::parts::Parts;
use super::payloads::Parcel;
use super::runner::MOST_UNSETTLED;
use crate::Error;
use crate::model::{Delivery, NewMessage};
use crate::patience::Patience;
use crate::store::{Fence, Settlement};

/// Settlements in one call of the store: a longer transaction saves nothing, and keeps accepting
/// waiting.
const BATCH: usize = 1024;

/// Where settlements are handed over.
#[derive(Debug)]
pub(super) struct SettleQueue {
    queue: mpsc::UnboundedSender<Entry>,
}

/// Tells when a settlement is durable, or that the store failed and it is tried again.
#[derive(Debug)]
pub(super) struct Receipt {
    done: oneshot::Receiver<Result<(), Error>>,
}

/// Writes settlements; done when the queue's other end was dropped and all is stored.
#[derive(Debug)]
pub(super) struct Settler {
    parts: Arc<Parts>,
    fence: Fence,
    queue: mpsc::UnboundedReceiver<Entry>,
}

/// A settlement, and who waits for it.
#[derive(Debug)]
struct Entry {
    settlement: Settlement,
    done: Option<oneshot::Sender<Result<(), Error>>>,
}

impl SettleQueue {
    pub(super) fn new(parts: Arc<Parts>, fence: Fence) -> (Self, Settler) {
        let (sender, queue) = mpsc::unbounded_channel();
        (Self { queue: sender }, Settler { parts, fence, queue })
    }

    /// In the order of calls. Without a settler nothing is written: then another run has the store,
    /// or this one has ended.
    pub(super) fn push(&self, settlement: Settlement) {
        _ = self.queue.send(Entry { settlement, done: None });
    }

    /// The same, and tells when it is durable.
    pub(super) fn push_registered(&self, settlement: Settlement) -> Receipt {
        let (sender, done) = oneshot::channel();
        _ = self.queue.send(Entry { settlement, done: Some(sender) });
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
        let mut entries = Vec::with_capacity(BATCH);
        while self.queue.recv_many(&mut entries, BATCH).await > 0 {
            if !self.write(&mut entries).await {
                return;
            }
        }
    }

    /// Stores all of them, however long that takes; false when the store belongs to another run.
    async fn write(&self, entries: &mut Vec<Entry>) -> bool {
        let mut patience = Patience::new();
        loop {
            let Err(error) = self.try_once(entries).await else {
                self.stored(entries);
                return true;
            };
            if error.is_conflict() {
                self.lose(&error);
                return false;
            }
            if !error.is_unavailable() {
                return self.write_one_by_one(entries).await;
            }
            self.away(entries, &error);
            patience.wait().await;
        }
    }

    async fn try_once(&self, entries: &[Entry]) -> Result<(), Error> {
        let settlements = entries.iter().map(|entry| entry.settlement.clone()).collect();
        let began = self.parts.clock.now();
        self.parts.store.settle(self.fence, settlements).await?;
        self.parts.figures.committed(entries.len(), self.parts.clock.now() - began);
        Ok(())
    }

    /// One of them is wrong, and must not hold up the others. Left out, its attempt is made again
    /// after a restart.
    async fn write_one_by_one(&self, entries: &mut Vec<Entry>) -> bool {
        for entry in entries.drain(..) {
            let mut one = vec![entry];
            if let Err(error) = self.try_once(&one).await {
                if error.is_conflict() {
                    self.lose(&error);
                    return false;
                }
                tracing::error!(%error, settlement = ?one[0].settlement, "cannot be stored, left out");
                self.tell_waiting(&mut one, &error);
            }
            self.stored(&mut one);
        }
        true
    }

    /// They are durable: their owners hear of it, and what they told applications is delivered.
    fn stored(&self, entries: &mut Vec<Entry>) {
        if self.parts.health.turn(State::Well) {
            tracing::info!("the store works again");
        }
        let left = self.parts.health.end_settling(entries.len());
        if left < MOST_UNSETTLED && left + entries.len() >= MOST_UNSETTLED {
            self.parts.floor.tell(Command::GoOn);
        }
        for Entry { settlement, done } in entries.drain(..) {
            if let Some(done) = done {
                _ = done.send(Ok(()));
            }
            if let Some(message) = settlement.operational {
                self.deliver(message);
            }
        }
    }

    fn deliver(&self, message: NewMessage) {
        let NewMessage { message, payload, endpoints } = message;
        let (id, application, at) = (message.id, message.application, message.created_at);
        let parcel = Parcel { message: Arc::new(message), payload };
        self.parts.payloads.keep([(parcel, endpoints.len())]);
        let delivery = |endpoint| Delivery::new(id, endpoint, application, at);
        self.parts.floor.tell(Command::Add(endpoints.into_iter().map(delivery).collect()));
    }

    fn away(&self, entries: &mut [Entry], error: &Error) {
        if self.parts.health.turn(State::Failing(error.clone())) {
            tracing::error!(%error, "attempts cannot be stored, trying again");
        }
        self.parts.figures.commit_failed();
        self.tell_waiting(entries, error);
    }

    fn tell_waiting(&self, entries: &mut [Entry], error: &Error) {
        for done in entries.iter_mut().filter_map(|entry| entry.done.take()) {
            _ = done.send(Err(error.clone()));
        }
    }

    /// Going on would send what the other run sends too.
    fn lose(&self, error: &Error) {
        tracing::error!(%error, "another run owns the store, this one ends");
        self.parts.health.turn(State::Ended(format!("another run owns the store: {error}")));
        self.parts.floor.tell(Command::Do(Box::new(|runner| runner.end(Instant::ORIGIN))));
    }
}
