//! One attempt, from the payload to the answer.

use std::sync::Arc;

use super::inbox::{AttemptResult, Command, Inbox};
use super::parts::Parts;
use super::payloads::CachedMessage;
use crate::Error;
use crate::model::{AttemptAnswer, AttemptFailure, MessageId};
use crate::observe;
use crate::scheduler::Launch;
use crate::send::Written;
use crate::store_backoff::StoreBackoff;

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

/// Makes the attempt that was launched, with the settings that its endpoint has now.
pub(super) async fn run_attempt(parts: Arc<Parts>, guard: AttemptGuard) {
    let launch = guard.launch;
    let Some(cached) = cached(&parts, launch.message).await else {
        return guard.keep(AttemptResult::Gone);
    };
    // The endpoint was just deleted: the scheduler has removed it too.
    let Some(target) = parts.directory.target(launch.endpoint) else { return };
    let CachedMessage { message, payload } = cached;
    let written = &guard.written;
    let sent = parts.sender.send_noting(&target, (&message, payload), launch.number, written);
    let answer = observe::traced(&launch, sent).await;
    guard.keep(AttemptResult::Answer(answer, message.event_type.is_operational()));
}

/// From memory, or else from the store, however long that is away.
async fn cached(parts: &Parts, id: MessageId) -> Option<CachedMessage> {
    if let Some(cached) = parts.payloads.take(id) {
        return Some(cached);
    }
    let mut backoff = StoreBackoff::new();
    loop {
        match read(parts, id).await {
            Ok(cached) => return cached,
            Err(error) => {
                tracing::warn!(message = %id, %error, "payload not read, retrying");
                backoff.wait().await;
            }
        }
    }
}

async fn read(parts: &Parts, id: MessageId) -> Result<Option<CachedMessage>, Error> {
    // The semaphore is never closed.
    let _permit = parts.reads.acquire().await;
    let Some(message) = parts.store.message(id).await? else { return Ok(None) };
    let payload = parts.store.payload(id).await?;
    Ok(payload.map(|payload| CachedMessage { message: Arc::new(message), payload }))
}

/// The answer of an attempt that panicked: it counts, so that a defect cannot repeat it for ever.
fn broken() -> AttemptAnswer {
    let detail = Some("the attempt panicked".to_owned());
    AttemptAnswer { result: Err(AttemptFailure::Transport), detail, ..AttemptAnswer::not_made() }
}
