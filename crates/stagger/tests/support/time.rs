//! Time that stands still until a test moves it, and counts who asks for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use stagger::{Cancel, Clock, Instant, Pause, Sleep, Span};

/// A clock that only a test moves. Clones are one clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManualTime {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    nanos: AtomicU64,
    reads: AtomicU64,
    timers: AtomicU64,
}

impl ManualTime {
    pub(crate) fn advance(&self, span: Span) {
        self.state.nanos.fetch_add(span.as_nanos(), Ordering::Relaxed);
    }

    /// The number of times that the time was read.
    pub(crate) fn reads(&self) -> u64 {
        self.state.reads.load(Ordering::Relaxed)
    }

    /// The number of timers that were made.
    pub(crate) fn timers(&self) -> u64 {
        self.state.timers.load(Ordering::Relaxed)
    }

    /// The time, uncounted.
    pub(crate) fn elapsed(&self) -> Span {
        Span::from_nanos(self.state.nanos.load(Ordering::Relaxed))
    }
}

impl Clock for ManualTime {
    fn now(&self) -> Instant {
        self.state.reads.fetch_add(1, Ordering::Relaxed);
        Instant::ORIGIN + self.elapsed()
    }
}

impl Sleep for ManualTime {
    type Timer = ManualTimer;

    fn sleep(&self, span: Span) -> ManualTimer {
        self.state.timers.fetch_add(1, Ordering::Relaxed);
        ManualTimer { time: self.clone(), until: self.elapsed() + span }
    }
}

/// A blocked thread sees the time jump over its wait.
impl Pause for ManualTime {
    fn pause(&self, span: Span, cancel: Option<&Cancel>) {
        if !cancel.is_some_and(Cancel::is_cancelled) {
            self.advance(span);
        }
    }
}

#[derive(Debug)]
pub(crate) struct ManualTimer {
    time: ManualTime,
    until: Span,
}

impl Future for ManualTimer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.time.elapsed() >= self.until { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Polls once.
pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
