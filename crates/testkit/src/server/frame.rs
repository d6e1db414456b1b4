//! The frame that a library would not send for us: `GOAWAY` with a last stream id of our choice.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use h2::Reason;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::wire::Wire;

/// A connection that HTTP/2 owns and that we may write to as well, between its frames.
#[derive(Clone, Debug)]
pub(super) struct Tap(Arc<Mutex<Wire>>);

impl Tap {
    pub(super) fn new(wire: Wire) -> Self {
        Self(Arc::new(Mutex::new(wire)))
    }

    /// Sends `GOAWAY` (RFC 9113, 6.8). Whoever calls has flushed its own frames.
    pub(super) async fn go_away(&mut self, last_stream: u32, reason: Reason) -> io::Result<()> {
        let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
        frame.extend_from_slice(&last_stream.to_be_bytes());
        frame.extend_from_slice(&u32::from(reason).to_be_bytes());
        self.write_all(&frame).await?;
        self.flush().await
    }

    pub(super) fn reset(&self) {
        self.with(|wire| wire.reset());
    }

    fn with<T>(&self, act: impl FnOnce(Pin<&mut Wire>) -> T) -> T {
        act(Pin::new(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|wire| wire.poll_read(context, into))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|wire| wire.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|wire| wire.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|wire| wire.poll_shutdown(context))
    }
}
