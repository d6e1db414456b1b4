//! The memory of request bodies: bytes that are kept for another attempt, or are on their way to an upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The bytes of request bodies in memory. Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyMemory(Arc<AtomicUsize>);

/// Bytes that are counted until their last copy is dropped.
struct CountedBytes {
    bytes: Bytes,
    memory: BodyMemory,
}

/// The body of a request whose bytes are counted from when they are read.
#[derive(Debug)]
pub(super) struct CountedBody<B> {
    body: B,
    memory: BodyMemory,
}

impl BodyMemory {
    /// The bytes in memory now.
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The same bytes, counted. Whoever keeps them need not know of it.
    fn count(&self, bytes: Bytes) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        self.0.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(CountedBytes { bytes, memory: self.clone() })
    }
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.memory.0.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

impl<B> CountedBody<B> {
    /// A body whose bytes count in `memory`.
    pub(super) const fn new(body: B, memory: BodyMemory) -> Self {
        Self { body, memory }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for CountedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        frame.map_ok(|frame| frame.map_data(|bytes| self.memory.count(bytes)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;

    #[tokio::test]
    async fn bytes_that_an_attempt_still_needs_were_not_counted() {
        let memory = BodyMemory::default();
        let body = Full::new(Bytes::from_static(b"one bolt"));
        let read = CountedBody::new(body, memory.clone()).collect().await.unwrap().to_bytes();
        let (kept, sent) = (read.clone(), read.slice(4..));
        assert_eq!((&kept[..], &sent[..], memory.bytes()), (&b"one bolt"[..], &b"bolt"[..], 8));
        drop((read, kept));
        assert_eq!(memory.bytes(), 8, "a part keeps the whole in memory");
        drop(sent);
        assert_eq!(memory.bytes(), 0);
    }
}
