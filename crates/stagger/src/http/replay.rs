//! A request's body that can be sent again, buffered while the first attempt sends it.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::tape::{Piece, Tape};

/// The bytes of a body that are kept by default: 64 KiB, as linkerd's proxy keeps. It holds nearly
/// every request of an API, and ten thousand calls under way take at most 640 MiB.
pub const REPLAY_LIMIT: usize = 64 * 1024;

/// A request's body, kept while it is sent, so that later attempts can send equal bytes.
///
/// The first attempt reads the body as it comes, undelayed; what went by is kept, up to a limit. A
/// later attempt first yields what is kept and then goes on with what was not read yet. Past the
/// limit what was kept is let go, the rest passes through, and there is no further attempt. A body
/// that says beforehand that it is larger is not kept at all; as long as nothing of it was read it
/// can still be sent from the start.
///
/// A chunk counts as at least 32 bytes, the size of its handle. Trailers are kept too.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::{BodyExt, Full};
/// use stagger::http::{REPLAY_LIMIT, Replayable};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let body = Replayable::new(Full::new(Bytes::from("one bolt")), REPLAY_LIMIT);
/// for _ in 0..2 {
///     let attempt = body.attempt().expect("eight bytes are kept");
///     assert_eq!(attempt.collect().await?.to_bytes(), "one bolt");
/// }
/// # Ok::<_, Box<dyn std::error::Error + Send + Sync>>(()) }).map_err(std::io::Error::other)?;
/// # Ok::<_, std::io::Error>(())
/// ```
pub struct Replayable<B> {
    /// None for a body without any bytes.
    tape: Option<Arc<Mutex<Tape<B>>>>,
    /// The size that the body stated at first: so every attempt states the same.
    size: SizeHint,
}

impl<B: Body> Replayable<B> {
    /// Keeps up to `limit` bytes of `body`. Nothing is read before an attempt reads it.
    #[must_use]
    pub fn new(body: B, limit: usize) -> Self {
        Self::of(body, limit, false)
    }

    /// The same for attempts that run at the same time: whichever is ahead reads on, and the others
    /// yield what is kept. Past the limit the one ahead goes on alone; the others fail with
    /// [`Overtaken`](super::Overtaken). For the copies of hedged calls.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::{BodyExt, Full};
    /// use stagger::http::{REPLAY_LIMIT, Replayable};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let body = Replayable::shared(Full::new(Bytes::from("one bolt")), REPLAY_LIMIT);
    /// let (one, other) = (body.attempt().expect("kept"), body.attempt().expect("kept"));
    /// let (one, other) = (one.collect().await?, other.collect().await?);
    /// assert_eq!((one.to_bytes(), other.to_bytes()), ("one bolt".into(), "one bolt".into()));
    /// # Ok::<_, Box<dyn std::error::Error + Send + Sync>>(()) }).map_err(std::io::Error::other)?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[must_use]
    pub fn shared(body: B, limit: usize) -> Self {
        Self::of(body, limit, true)
    }

    fn of(body: B, limit: usize, shared: bool) -> Self {
        let (size, empty) = (body.size_hint(), body.is_end_stream());
        let tape = || Arc::new(Mutex::new(Tape::new(body, limit, shared)));
        Self { tape: (!empty).then(tape), size }
    }

    /// The body of one more attempt; `None` when bytes are gone that it would have to send.
    ///
    /// Only the newest attempt reads on. One before it that is still alive yields what is kept, and
    /// then fails with [`Overtaken`](super::Overtaken) rather than send half of the rest.
    #[must_use]
    pub fn attempt(&self) -> Option<Replay<B>> {
        let size = self.size;
        let mut replay = Replay { tape: None, turn: 0, next: 0, size, ended: true };
        if let Some(tape) = &self.tape {
            let turn = lock(tape).begin()?;
            replay.tape = Some(Arc::clone(tape));
            (replay.turn, replay.ended) = (turn, false);
        }
        Some(replay)
    }
}

impl<B> Replayable<B> {
    /// Whether one more attempt could send equal bytes.
    #[must_use]
    pub fn is_replayable(&self) -> bool {
        self.tape.as_ref().is_none_or(|tape| lock(tape).is_whole())
    }
}

impl<B> fmt::Debug for Replayable<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayable")
            .field("replayable", &self.is_replayable())
            .finish_non_exhaustive()
    }
}

/// The body of one attempt; made by [`Replayable::attempt`].
///
/// Its errors are those of the body it reads, unchanged, and [`Overtaken`](super::Overtaken). A body that failed cannot
/// be sent again.
pub struct Replay<B> {
    tape: Option<Arc<Mutex<Tape<B>>>>,
    /// The number of this attempt.
    turn: u64,
    /// The place on the tape of the next piece.
    next: usize,
    size: SizeHint,
    ended: bool,
}

impl<B> Body for Replay<B>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let Some(tape) = &this.tape else { return Poll::Ready(None) };
        let mut tape = lock(tape);
        let polled = tape.poll(this.turn, this.next, context);
        if let Poll::Ready(Some(Ok(piece))) = &polled {
            this.next += 1;
            this.size = less(&this.size, piece.len());
            this.ended = tape.is_end(this.next);
        }
        polled.map_ok(Piece::into_frame)
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}

impl<B> Drop for Replay<B> {
    fn drop(&mut self) {
        if let Some(tape) = &self.tape {
            lock(tape).wake();
        }
    }
}

impl<B> fmt::Debug for Replay<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("size", &self.size)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// The lock is held for one poll of the body at a time. A body that panicked is gone from its tape,
/// so a poisoned one is as good as any.
fn lock<B>(tape: &Mutex<Tape<B>>) -> MutexGuard<'_, Tape<B>> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size of the rest of a body of this size.
fn less(size: &SizeHint, read: usize) -> SizeHint {
    // OK because no target has pointers of more than 64 bits.
    let read = read as u64;
    let mut rest = SizeHint::new();
    if let Some(upper) = size.upper() {
        rest.set_upper(upper.saturating_sub(read));
    }
    rest.set_lower(size.lower().saturating_sub(read));
    rest
}
