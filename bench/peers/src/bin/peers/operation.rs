//! The wrapped operation, which succeeds immediately.

use std::fmt;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The failure that never happens here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

impl std::error::Error for Failed {}

/// Succeeds at once.
#[inline(never)]
pub(crate) fn asynch(x: u64) -> Ready<Result<u64, Failed>> {
    ready(blocking(x))
}

/// The same on this thread.
#[inline(never)]
pub(crate) fn blocking(x: u64) -> Result<u64, Failed> {
    Ok(black_box(x).wrapping_mul(3))
}

/// The same as a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailingServer;

impl tower::Service<u64> for FailingServer {
    type Response = u64;
    type Error = Failed;
    type Future = Ready<Result<u64, Failed>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, x: u64) -> Self::Future {
        asynch(x)
    }
}

/// Polls until ready: for futures that wait for nothing but a lock.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
