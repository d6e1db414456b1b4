//! One attempt, from the payload, which is kept in memory for the first one, to the answer.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use stagger_scheduler::Launch;
use stagger_scheduler::model::{AttemptAnswer, AttemptFailure, Message, MessageId};
use stagger_sender::{Sender, Written};
use stagger_store::{DeliveryStore, StoreBackoff};
use tokio::sync::Semaphore;

use super::directory::Directory;
use super::scheduler_state::{AttemptResult, Command, Inbox};
use crate::Error;
use crate::observe::AttemptSpan;

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
    /// An attempt that is made while `permission` answers true.
    pub(super) fn new(
        launch: Launch,
        inbox: Inbox,
        permission: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { launch, inbox, written: Written::permitted_by(permission), kept: false }
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
        let span = AttemptSpan::begin(&launch, target.place(), message.trace.as_ref());
        let numbered = (launch.number, span.context());
        let sent = self.sender.send_traced(&target, (&message, payload), numbered, written);
        let answer = span.run(pin!(sent)).await;
        guard.keep(AttemptResult::Answer(answer, message.event_type.is_operational()));
    }

    /// From memory, or else from the store, however long that is away.
    async fn cached(&self, id: MessageId) -> Option<CachedMessage> {
        if let Some(cached) = self.payloads.take(id) {
            return Some(cached);
        }
        let mut backoff = StoreBackoff::default();
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

/// The memory of a cached message besides its payload, in bytes: the message, its texts, and a
/// place in the map.
const OVERHEAD: usize = 512;

/// A message with its payload, as an attempt sends it.
#[derive(Clone, Debug)]
pub(super) struct CachedMessage {
    pub(super) message: Arc<Message>,
    pub(super) payload: Bytes,
}

/// A cache of new messages, up to a bound; a payload is held once however many endpoints get it.
/// Beyond the bound the oldest are dropped first: they wait for endpoints that fail, and the new
/// ones are needed next. A message that is not cached is read back from the store.
#[derive(Debug)]
pub(super) struct PayloadCache {
    room: usize,
    kept: Mutex<CachedPayloads>,
}

#[derive(Debug, Default)]
struct CachedPayloads {
    /// By id, which is by age.
    messages: BTreeMap<MessageId, (CachedMessage, usize)>,
    bytes: usize,
}

impl PayloadCache {
    pub(super) fn new(room: usize) -> Self {
        Self { room, kept: Mutex::default() }
    }

    /// Caches messages, each for its number of attempts.
    pub(super) fn keep(&self, messages: impl IntoIterator<Item = (CachedMessage, usize)>) {
        let mut kept = self.lock();
        for (cached, attempts) in messages.into_iter().filter(|(_, attempts)| *attempts > 0) {
            // One that is kept already came for other endpoints.
            if let Some((_, left)) = kept.messages.get_mut(&cached.message.id) {
                *left += attempts;
                continue;
            }
            kept.bytes += weight(&cached);
            kept.messages.insert(cached.message.id, (cached, attempts));
        }
        while kept.bytes > self.room {
            let Some((_, (oldest, _))) = kept.messages.pop_first() else { break };
            kept.bytes -= weight(&oldest);
        }
    }

    /// The message for one attempt; after the last one it is dropped from the cache.
    pub(super) fn take(&self, id: MessageId) -> Option<CachedMessage> {
        let mut kept = self.lock();
        let (cached, left) = kept.messages.get_mut(&id)?;
        *left -= 1;
        if *left > 0 {
            return Some(cached.clone());
        }
        let (cached, _) = kept.messages.remove(&id)?;
        kept.bytes -= weight(&cached);
        Some(cached)
    }

    /// Bytes kept now.
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CachedPayloads> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn weight(cached: &CachedMessage) -> usize {
    cached.payload.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use stagger::Instant;
    use stagger_scheduler::model::ApplicationId;
    use uuid::Uuid;

    use super::*;

    fn cached(id: u128, size: usize) -> CachedMessage {
        let message = Message {
            id: MessageId::from_uuid(Uuid::from_u128(id)),
            application: ApplicationId::from_uuid(Uuid::nil()),
            event_type: "a".parse().expect("a word"),
            key: None,
            content_type: "text/plain".to_owned(),
            size,
            created_at: Instant::ORIGIN,
            channels: Vec::new(),
            trace: None,
            attributes: Default::default(),
        };
        CachedMessage { message: Arc::new(message), payload: vec![7; size].into() }
    }

    fn holds(payloads: &PayloadCache, id: u128) -> bool {
        payloads.take(MessageId::from_uuid(Uuid::from_u128(id))).is_some()
    }

    /// Thousands wait at one time, and each is copied when it begins.
    #[test]
    fn an_attempt_held_the_room_of_what_few_attempts_need() {
        fn size<F>(_: impl Fn(&'static AttemptRunner, AttemptGuard) -> F) -> usize {
            size_of::<F>()
        }
        let size = size(AttemptRunner::run);
        assert!(size <= 4096, "{size} bytes");
    }

    #[test]
    fn a_message_is_dropped_with_the_last_attempt_that_wants_it() {
        let payloads = PayloadCache::new(10_000);
        payloads.keep([(cached(1, 10), 2), (cached(2, 10), 0)]);
        assert!(holds(&payloads, 1) && holds(&payloads, 1));
        assert!(!holds(&payloads, 1) && !holds(&payloads, 2));
        assert_eq!(payloads.bytes(), 0);
    }

    #[test]
    fn a_message_that_comes_again_is_kept_once_for_all_its_attempts() {
        let payloads = PayloadCache::new(10_000);
        payloads.keep([(cached(1, 10), 1)]);
        payloads.keep([(cached(1, 10), 2)]);
        assert_eq!(payloads.bytes(), OVERHEAD + 10);
        assert!((0..3).all(|_| holds(&payloads, 1)) && !holds(&payloads, 1));
        assert_eq!(payloads.bytes(), 0);
    }

    #[test]
    fn backlog_of_a_dead_endpoint_does_not_push_out_fresh_payloads() {
        let payloads = PayloadCache::new(3 * (OVERHEAD + 100));
        payloads.keep((1..=5).map(|id| (cached(id, 100), 1)));
        assert!(!holds(&payloads, 2) && holds(&payloads, 3) && holds(&payloads, 5));
        payloads.keep([(cached(6, 100_000), 1)]);
        assert!(!holds(&payloads, 6));
        assert_eq!(payloads.bytes(), 0);
    }
}
