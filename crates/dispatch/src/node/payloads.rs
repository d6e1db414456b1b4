//! Payloads kept in memory for their first attempts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::model::{Message, MessageId};

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
    use uuid::Uuid;

    use super::*;
    use crate::model::ApplicationId;

    fn cached(id: u128, size: usize) -> CachedMessage {
        let message = Message {
            id: MessageId::from_uuid(Uuid::from_u128(id)),
            application: ApplicationId::from_uuid(Uuid::nil()),
            event_type: "a".parse().expect("a word"),
            key: None,
            content_type: "text/plain".to_owned(),
            size,
            created_at: Instant::ORIGIN,
        };
        CachedMessage { message: Arc::new(message), payload: vec![7; size].into() }
    }

    fn holds(payloads: &PayloadCache, id: u128) -> bool {
        payloads.take(MessageId::from_uuid(Uuid::from_u128(id))).is_some()
    }

    #[test]
    fn a_parcel_goes_with_the_last_attempt_that_wants_it() {
        let payloads = PayloadCache::new(10_000);
        payloads.keep([(cached(1, 10), 2), (cached(2, 10), 0)]);
        assert!(holds(&payloads, 1) && holds(&payloads, 1));
        assert!(!holds(&payloads, 1) && !holds(&payloads, 2));
        assert_eq!(payloads.bytes(), 0);
    }

    #[test]
    fn a_parcel_that_comes_again_is_kept_once_for_all_its_attempts() {
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
