//! One attempt, from the payload to the answer.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::directory::Directory;
use super::inbox::{AttemptResult, Command, Inbox};
use super::payloads::{CachedMessage, PayloadCache};
use crate::Error;
use crate::model::{AttemptAnswer, AttemptFailure, MessageId};
use crate::observe;
use crate::scheduler::Launch;
use crate::send::{Sender, Written};
use crate::store::DeliveryStore;
use crate::store_backoff::StoreBackoff;

/// The most concurrent reads of payloads: enough to keep a disk busy, and few enough that accepting
/// is not starved.
const READS: usize = 32;

/// Makes attempts.
#[derive(Debug)]
pub(super) struct AttemptRunner {
    store: Arc<dyn DeliveryStore>,
    sender: Sender,
    directory: Arc<Directory>,
    payloads: Arc<PayloadCache>,
    reads: Semaphore,
}

/// Reports the result of a launched attempt. It reports when dropped, too, so that no slot is ever
/// lost.
#[derive(Debug)]
pub(super) struct AttemptGuard {
    launch: Launch,
    inbox: Inbox,
    written: Written,
    kept: bool,
}

impl AttemptGuard {
    pub(super) fn new(launch: Launch, inbox: Inbox) -> Self {
        Self { launch, inbox, written: Written::default(), kept: false }
    }

    fn keep(mut self, result: AttemptResult) {
        self.kept = true;
        self.inbox.tell(Command::AttemptDone(self.launch, result));
    }
}

impl Drop for AttemptGuard {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let answer = if std::thread::panicking() { broken() } else { AttemptAnswer::not_made() };
        let answer = AttemptAnswer { written: self.written.get(), ..answer };
        self.inbox.tell(Command::AttemptDone(self.launch, AttemptResult::Answer(answer, false)));
    }
}

impl AttemptRunner {
    pub(super) fn new(
        store: Arc<dyn DeliveryStore>,
        sender: Sender,
        directory: Arc<Directory>,
        payloads: Arc<PayloadCache>,
    ) -> Self {
        Self { store, sender, directory, payloads, reads: Semaphore::new(READS) }
    }

    /// Makes the attempt that was launched, with the settings that its endpoint has now.
    pub(super) async fn run(&self, guard: AttemptGuard) {
        let launch = guard.launch;
        let Some(cached) = self.cached(launch.message).await else {
            return guard.keep(AttemptResult::Gone);
        };
        // The endpoint was just deleted: the scheduler has removed it too.
        let Some(target) = self.directory.target(launch.endpoint) else { return };
        let CachedMessage { message, payload } = cached;
        let written = &guard.written;
        let sent = self.sender.send_noting(&target, (&message, payload), launch.number, written);
        let answer = observe::traced(&launch, sent).await;
        guard.keep(AttemptResult::Answer(answer, message.event_type.is_operational()));
    }

    /// From memory, or else from the store, however long that is away.
    async fn cached(&self, id: MessageId) -> Option<CachedMessage> {
        if let Some(cached) = self.payloads.take(id) {
            return Some(cached);
        }
        let mut backoff = StoreBackoff::new();
        loop {
            match self.read(id).await {
                Ok(cached) => return cached,
                Err(error) => {
                    tracing::warn!(message = %id, %error, "payload not read, retrying");
                    backoff.wait().await;
                }
            }
        }
    }

    async fn read(&self, id: MessageId) -> Result<Option<CachedMessage>, Error> {
        // The semaphore is never closed.
        let _permit = self.reads.acquire().await;
        let Some(message) = self.store.message(id).await? else { return Ok(None) };
        let payload = self.store.payload(id).await?;
        Ok(payload.map(|payload| CachedMessage { message: Arc::new(message), payload }))
    }
}

/// The answer of an attempt that panicked: it counts, so that a defect cannot repeat it for ever.
fn broken() -> AttemptAnswer {
    let detail = Some("the attempt panicked".to_owned());
    AttemptAnswer { result: Err(AttemptFailure::Transport), detail, ..AttemptAnswer::not_made() }
}
