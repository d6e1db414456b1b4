//! Bodies that are sent again: whatever happens to an attempt, the next sends equal bytes or none.
#![cfg(feature = "http")]

use std::convert::Infallible;
use std::error::Error as StdError;
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Empty, Full};
use proptest::prelude::*;
use stagger::http::{DRAIN_LIMIT, Drain, Overtaken, REPLAY_LIMIT, Replay, Replayable};

type BoxError = Box<dyn StdError + Send + Sync>;

/// The answer of a scripted body to one poll.
#[derive(Clone, Debug)]
enum Beat {
    Chunk(Vec<u8>),
    Trailers,
    Pending,
    Fail,
    Panic,
}

/// A body that follows a script, and says its size if it is told to.
#[derive(Debug)]
struct Scripted {
    beats: std::vec::IntoIter<Beat>,
    size: Option<u64>,
}

impl Scripted {
    fn new(beats: Vec<Beat>) -> Self {
        Self { beats: beats.into_iter(), size: None }
    }

    fn sized(mut self) -> Self {
        let bytes =
            |beat: &Beat| if let Beat::Chunk(chunk) = beat { chunk.len() as u64 } else { 0 };
        self.size = Some(self.beats.as_slice().iter().map(bytes).sum());
        self
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match self.beats.next() {
            None => return Poll::Ready(None),
            Some(Beat::Pending) => return Poll::Pending,
            Some(Beat::Fail) => return Poll::Ready(Some(Err("the caller's file is gone".into()))),
            Some(Beat::Panic) => panic!("as tests do"),
            Some(Beat::Trailers) => Frame::trailers(trailers()),
            Some(Beat::Chunk(chunk)) => Frame::data(Bytes::from(chunk)),
        };
        if let (Some(size), Some(data)) = (&mut self.size, frame.data_ref()) {
            *size -= data.len() as u64;
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn size_hint(&self) -> SizeHint {
        self.size.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(http::header::EXPIRES, http::HeaderValue::from_static("never"))])
}

fn chunk(text: &str) -> Beat {
    Beat::Chunk(text.as_bytes().to_vec())
}

/// The result of one poll.
#[derive(Debug)]
enum Seen {
    Pending,
    Data(Bytes),
    Trailers(HeaderMap),
    Error(BoxError),
    End,
}

fn poll<B>(replay: &mut Replay<B>) -> Seen
where
    B: Body,
    B::Error: Into<BoxError>,
{
    poll_with(replay, Waker::noop())
}

fn poll_with<B>(replay: &mut Replay<B>, waker: &Waker) -> Seen
where
    B: Body,
    B::Error: Into<BoxError>,
{
    match Pin::new(replay).poll_frame(&mut Context::from_waker(waker)) {
        Poll::Pending => Seen::Pending,
        Poll::Ready(None) => Seen::End,
        Poll::Ready(Some(Err(error))) => Seen::Error(error),
        Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
            Ok(data) => Seen::Data(data),
            Err(frame) => Seen::Trailers(frame.into_trailers().expect("no third kind is known")),
        },
    }
}

/// Reads an attempt's body until it ends, or for so many frames.
fn read(replay: &mut Replay<Scripted>, frames: usize) -> (Vec<u8>, bool, bool) {
    let (mut bytes, mut with_trailers) = (Vec::new(), false);
    let mut seen = 0;
    while seen < frames {
        match poll(replay) {
            Seen::Pending => continue,
            Seen::Data(data) => bytes.extend_from_slice(&data),
            Seen::Trailers(_) => with_trailers = true,
            Seen::Error(error) => panic!("the script does not fail: {error}"),
            Seen::End => return (bytes, with_trailers, true),
        }
        seen += 1;
    }
    (bytes, with_trailers, false)
}

fn script() -> impl Strategy<Value = Vec<Beat>> {
    let chunk = prop::collection::vec(any::<u8>(), 0..80).prop_map(Beat::Chunk);
    let beat = prop_oneof![4 => chunk, 1 => Just(Beat::Pending)];
    (prop::collection::vec(beat, 0..12), any::<bool>()).prop_map(|(mut beats, trailers)| {
        beats.extend(trailers.then_some(Beat::Trailers));
        beats
    })
}

proptest! {
    #[test]
    fn every_attempt_sends_equal_bytes_or_none(
        beats in script(),
        sized in any::<bool>(),
        limit in 0_usize..900,
        abandoned_at in prop::collection::vec(0_usize..14, 0..5),
        kept_alive in any::<bool>(),
    ) {
        let sent: Vec<u8> = beats.iter().flat_map(|beat| match beat {
            Beat::Chunk(chunk) => chunk.clone(),
            _ => Vec::new(),
        }).collect();
        let frames = beats.iter().filter(|beat| !matches!(beat, Beat::Pending)).count();
        // What it costs to keep so much of it, by the documented rule.
        let cost = |read: usize| beats.iter().filter(|beat| !matches!(beat, Beat::Pending)).take(read).map(|beat| match beat {
            Beat::Chunk(chunk) => chunk.len().max(32),
            _ => 32,
        }).sum::<usize>();
        let ends_in_trailers = matches!(beats.last(), Some(Beat::Trailers));
        let body = Scripted::new(beats.clone());
        let body = if sized { body.sized() } else { body };
        let too_large = sized && sent.len() > limit;
        let empty = Body::is_end_stream(&body);
        prop_assert!(!empty, "a scripted body does not say that it is empty");
        let replayable = Replayable::new(body, limit);
        let (mut furthest, mut alive) = (0, Vec::new());
        for at in abandoned_at.into_iter().chain([usize::MAX]) {
            let whole = furthest == 0 || !too_large && cost(furthest) <= limit;
            prop_assert_eq!(replayable.is_replayable(), whole);
            let Some(mut attempt) = replayable.attempt() else {
                prop_assert!(!whole);
                return Ok(());
            };
            prop_assert!(whole);
            prop_assert_eq!(attempt.size_hint().exact(), sized.then_some(sent.len() as u64));
            prop_assert!(!attempt.is_end_stream());
            let (bytes, with_trailers, ended) = read(&mut attempt, at);
            prop_assert!(sent.starts_with(&bytes));
            prop_assert_eq!(ended, at > frames);
            if ended {
                prop_assert_eq!(&bytes, &sent);
                prop_assert_eq!(with_trailers, ends_in_trailers);
            }
            prop_assert_eq!(attempt.size_hint().exact(), sized.then(|| (sent.len() - bytes.len()) as u64));
            furthest = furthest.max(at.min(frames));
            if kept_alive {
                alive.push(attempt);
            }
        }
        drop(alive);
    }
}

#[test]
fn the_first_attempt_waits_for_nothing() {
    let body = Scripted::new(vec![chunk("one "), Beat::Pending, chunk("bolt")]);
    let body = Replayable::new(body, REPLAY_LIMIT);
    let mut first = body.attempt().expect("nothing was read");
    assert!(matches!(poll(&mut first), Seen::Data(data) if data == "one "));
    assert!(matches!(poll(&mut first), Seen::Pending));
    assert!(matches!(poll(&mut first), Seen::Data(data) if data == "bolt"));
    assert!(matches!(poll(&mut first), Seen::End));
}

#[test]
fn trailers_are_sent_again() {
    let body = Replayable::new(Scripted::new(vec![chunk("a"), Beat::Trailers]), REPLAY_LIMIT);
    for _ in 0..2 {
        let mut attempt = body.attempt().expect("one byte is kept");
        assert!(matches!(poll(&mut attempt), Seen::Data(_)));
        assert!(matches!(poll(&mut attempt), Seen::Trailers(map) if map == trailers()));
        assert!(matches!(poll(&mut attempt), Seen::End));
    }
}

#[test]
fn a_body_that_failed_is_not_sent_again() {
    let body = Replayable::new(Scripted::new(vec![chunk("a"), Beat::Fail]), REPLAY_LIMIT);
    let mut first = body.attempt().expect("nothing was read");
    assert!(matches!(poll(&mut first), Seen::Data(_)));
    let Seen::Error(error) = poll(&mut first) else { panic!("the body fails") };
    assert_eq!(error.to_string(), "the caller's file is gone");
    assert!(!body.is_replayable() && body.attempt().is_none());
    assert!(matches!(poll(&mut first), Seen::End));
}

#[test]
fn a_body_that_panicked_is_not_sent_again() {
    let body = Replayable::new(Scripted::new(vec![chunk("a"), Beat::Panic]), REPLAY_LIMIT);
    let mut first = body.attempt().expect("nothing was read");
    assert!(matches!(poll(&mut first), Seen::Data(_)));
    let again = std::panic::AssertUnwindSafe(|| poll(&mut first));
    assert!(std::panic::catch_unwind(again).is_err());
    assert!(!body.is_replayable() && body.attempt().is_none());
}

#[derive(Default)]
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_attempt_that_is_overtaken_neither_hangs_nor_takes_bytes_away() {
    let body = Scripted::new(vec![chunk("one "), Beat::Pending, chunk("bolt")]);
    let body = Replayable::new(body, REPLAY_LIMIT);
    let woken = Arc::new(Counted::default());
    let mut first = body.attempt().expect("nothing was read");
    assert!(matches!(poll(&mut first), Seen::Data(_)));
    assert!(matches!(poll_with(&mut first, &Waker::from(Arc::clone(&woken))), Seen::Pending));
    let mut second = body.attempt().expect("four bytes are kept");
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "it must learn that it cannot go on");
    assert!(matches!(poll(&mut first), Seen::Error(error) if error.is::<Overtaken>()));
    assert_eq!(read(&mut second, 9).0, b"one bolt");
    assert!(body.is_replayable());
}

#[test]
fn copies_of_a_body_that_was_read_whole_do_not_disturb_each_other() {
    let body = Replayable::new(Full::new(Bytes::from("one bolt")), REPLAY_LIMIT);
    let mut first = body.attempt().expect("nothing was read");
    assert!(matches!(poll(&mut first), Seen::Data(_)));
    let mut second = body.attempt().expect("all of it is kept");
    assert!(matches!(poll(&mut first), Seen::End));
    assert!(matches!(poll(&mut second), Seen::Data(data) if data == "one bolt"));
    assert!(second.is_end_stream());
}

#[test]
fn a_large_body_that_nobody_read_can_still_be_sent() {
    // The connection was refused before the first byte.
    let body = Replayable::new(Full::new(Bytes::from(vec![7; 1_000])), 10);
    drop(body.attempt().expect("nothing was read"));
    let mut second = body.attempt().expect("nothing was read");
    assert!(matches!(poll(&mut second), Seen::Data(data) if data.len() == 1_000));
    assert!(body.attempt().is_none());
}

#[test]
fn an_empty_body_stays_known_as_empty() {
    let body = Replayable::new(Empty::<Bytes>::new(), 0);
    for _ in 0..3 {
        let attempt = body.attempt().expect("there is nothing to keep");
        assert!(attempt.is_end_stream());
        assert_eq!(attempt.size_hint().exact(), Some(0));
    }
}

fn drained(body: impl Body, limit: u64) -> Poll<bool> {
    let drain = pin!(Drain::new(body, limit, pending()));
    drain.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_reply_is_drained_up_to_the_limit() {
    let body = || Scripted::new(vec![chunk("busy"), chunk("busy")]);
    assert_eq!(drained(body(), 8), Poll::Ready(true));
    assert_eq!(drained(body(), 7), Poll::Ready(false));
    assert_eq!(drained(body().sized(), 7), Poll::Ready(false), "known beforehand");
    assert_eq!(drained(Scripted::new(vec![Beat::Fail]), DRAIN_LIMIT), Poll::Ready(false));
}

#[test]
fn a_reply_that_never_ends_is_drained_until_the_timer() {
    assert_eq!(drained(Endless, DRAIN_LIMIT), Poll::Ready(false), "of empty frames");
    let body = Scripted::new(vec![Beat::Pending, Beat::Pending]);
    let mut drain = pin!(Drain::new(body, DRAIN_LIMIT, std::future::ready(())));
    let polled = drain.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(false));
}

/// Frames without bytes, for ever.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::new()))))
    }
}
