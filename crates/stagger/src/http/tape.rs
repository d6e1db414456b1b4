//! The parts of a body that were read, and the body that holds the rest.

use std::error::Error as StdError;
use std::fmt;
use std::mem::size_of;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use bytes::{Buf, Bytes};
use http_body::{Body, Frame};

use crate::run::BoxError;

/// A body, and a record of what was read of it.
pub(super) struct Tape<B> {
    /// The body. Gone when it has ended, failed or panicked.
    rest: Option<Pin<Box<B>>>,
    kept: Vec<Piece>,
    /// The bytes that may still be kept.
    room: usize,
    /// Whether pieces were read that are not in `kept`, or never will be.
    torn: bool,
    /// Whether the body ended well.
    ended: bool,
    /// Whether attempts run at the same time, so that whichever is ahead reads on.
    shared: bool,
    /// The newest attempt.
    turn: u64,
    /// The attempt that reads what is not kept.
    reader: u64,
    /// The attempts that wait for the body to go on.
    waiting: Vec<(u64, Waker)>,
}

/// One frame, in a form that can be copied.
#[derive(Clone)]
pub(super) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

/// An attempt's body that cannot go on, because a later attempt reads the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken;

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a later attempt sends this body")
    }
}

impl StdError for Overtaken {}

impl<B: Body> Tape<B> {
    pub(super) fn new(body: B, limit: usize, shared: bool) -> Self {
        let room = match usize::try_from(body.size_hint().lower()) {
            Ok(least) if least <= limit => limit,
            _ => 0,
        };
        let rest = Some(Box::pin(body));
        let (kept, waiting) = (Vec::new(), Vec::new());
        Self { rest, kept, room, torn: false, ended: false, shared, turn: 0, reader: 0, waiting }
    }

    /// Begins one more attempt, unless pieces are gone: its number. One that it overtakes is woken.
    pub(super) fn begin(&mut self) -> Option<u64> {
        self.is_whole().then(|| {
            self.turn += 1;
            if !self.shared {
                self.reader = self.turn;
            }
            self.wake();
            self.turn
        })
    }

    /// The piece at place `at`, for attempt `turn`.
    pub(super) fn poll(
        &mut self,
        turn: u64,
        at: usize,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Piece, BoxError>>>
    where
        B::Error: Into<BoxError>,
    {
        if let Some(piece) = self.kept.get(at) {
            return Poll::Ready(Some(Ok(piece.clone())));
        }
        if !self.may_read(turn) {
            return Poll::Ready(Some(Err(Overtaken.into())));
        }
        // Taken out, so that a body that panics is not there to be read on.
        let Some(mut rest) = self.rest.take() else { return Poll::Ready(None) };
        match rest.as_mut().poll_frame(context) {
            Poll::Pending => {
                self.rest = Some(rest);
                self.waiting.retain(|(waiter, _)| *waiter != turn);
                self.waiting.push((turn, context.waker().clone()));
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => {
                self.wake();
                // Dropped as soon as it has nothing more to say, so that no attempt needs to read on.
                self.ended = rest.is_end_stream();
                self.rest = (!self.ended).then_some(rest);
                let piece = Piece::of(frame);
                self.keep(&piece);
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.wake();
                self.tear();
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(None) => {
                self.wake();
                self.ended = true;
                Poll::Ready(None)
            }
        }
    }

    /// Whether this attempt may read on. Of those that run at the same time any may, until a piece is
    /// not kept: from then on only the one that got it.
    fn may_read(&mut self, turn: u64) -> bool {
        if self.shared && self.is_whole() {
            self.reader = turn;
        }
        turn == self.reader || (self.ended && self.is_whole())
    }

    /// Whether there is nothing at place `at`, where all before it was read.
    pub(super) fn is_end(&self, at: usize) -> bool {
        self.ended && (self.torn || at >= self.kept.len())
    }

    fn keep(&mut self, piece: &Piece) {
        match self.room.checked_sub(piece.cost()) {
            Some(room) if !self.torn => {
                self.room = room;
                self.kept.push(piece.clone());
            }
            _ => self.tear(),
        }
    }

    fn tear(&mut self) {
        self.torn = true;
        self.kept = Vec::new();
    }
}

impl<B> Tape<B> {
    /// Whether everything that was read is kept, and the rest can be read.
    pub(super) const fn is_whole(&self) -> bool {
        !self.torn && (self.ended || self.rest.is_some())
    }

    /// The body wakes only the attempt that asked it last, so the others ask anew.
    pub(super) fn wake(&mut self) {
        self.waiting.drain(..).for_each(|(_, waker)| waker.wake());
    }
}

impl Piece {
    fn of<D: Buf>(frame: Frame<D>) -> Self {
        match frame.into_data() {
            // Of `Bytes` this is a share, not a copy.
            Ok(mut data) => Self::Data(data.copy_to_bytes(data.remaining())),
            Err(frame) => Self::Trailers(frame.into_trailers().unwrap_or_default()),
        }
    }

    pub(super) fn into_frame(self) -> Frame<Bytes> {
        match self {
            Self::Data(data) => Frame::data(data),
            Self::Trailers(trailers) => Frame::trailers(trailers),
        }
    }

    /// Its length in bytes of the body.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Trailers(_) => 0,
        }
    }

    /// The memory that it takes. Never zero, or the pieces of a body that comes a byte at a time
    /// would have no bound.
    fn cost(&self) -> usize {
        match self {
            Self::Data(data) => data.len().max(size_of::<Bytes>()),
            Self::Trailers(trailers) => {
                let line =
                    |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
                trailers.iter().map(line).sum::<usize>().max(size_of::<Bytes>())
            }
        }
    }
}
