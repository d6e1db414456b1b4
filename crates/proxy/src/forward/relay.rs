//! Bytes both ways between a client and a server, once HTTP is over: tunnels and WebSockets.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use stagger::{Sleep, Span, TokioTime};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};

use super::in_flight::Held;

/// Looks in the time after which a silent pair is closed: it is closed at most a quarter later.
const LOOKS: u32 = 4;

/// Carries bytes both ways until both sides are done, both have been silent for `idle`, or the proxy closes. An error
/// ends it, as it would end a connection. `held` is let go of then.
pub(super) async fn relay<A, B>(one: A, other: B, (held, idle): (Held, Span))
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let reads = Arc::new(AtomicU64::new(0));
    let mut one = CountedStream { stream: one, reads: Arc::clone(&reads) };
    let mut other = CountedStream { stream: other, reads: Arc::clone(&reads) };
    tokio::select! {
        carried = copy_bidirectional(&mut one, &mut other) => {
            if let Err(error) = carried {
                tracing::debug!(%error, "tunnel broke off");
            }
        }
        () = silence(&reads, idle) => tracing::debug!("silent tunnel closed"),
        () = held.closed() => {}
    }
}

/// Ready when nothing has been read for this time.
async fn silence(reads: &AtomicU64, idle: Span) {
    let look = Span::from_nanos(idle.as_nanos().div_ceil(u64::from(LOOKS)));
    let (mut seen, mut quiet) = (reads.load(Ordering::Relaxed), 0);
    while quiet < LOOKS {
        TokioTime.sleep(look).await;
        let now = reads.load(Ordering::Relaxed);
        quiet = if now == seen { quiet + 1 } else { 0 };
        seen = now;
    }
}

/// A stream whose reads are counted.
struct CountedStream<S> {
    stream: S,
    reads: Arc<AtomicU64>,
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use stagger::Clock;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_websocket_held_its_place_for_good() {
        let (mut client, one) = duplex(64);
        let (mut server, other) = duplex(64);
        let minute = Span::from_secs(60);
        let begun = TokioTime.now();
        let relayed = tokio::spawn(relay(one, other, (Held::default(), minute)));
        for _ in 0..5 {
            TokioTime.sleep(Span::from_secs(40)).await;
            server.write_all(b"ping").await.unwrap();
            client.read_exact(&mut [0; 4]).await.unwrap();
        }
        let spoke = TokioTime.now();
        assert_eq!(client.read(&mut [0; 4]).await.unwrap(), 0, "closed");
        let silent = TokioTime.now() - spoke;
        assert!(
            minute <= silent && silent <= Span::from_secs(75),
            "{silent} after {}",
            spoke - begun
        );
        relayed.await.unwrap();
        assert_eq!(server.read(&mut [0; 4]).await.unwrap(), 0, "on the other side too");
    }
}
