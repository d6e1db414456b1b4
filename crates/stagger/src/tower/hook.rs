//! Hooks that change a request before each attempt.

use std::future::{Future, Ready, ready};

use ::http::request::Parts;

use crate::AttemptInfo;

/// Changes the head of each attempt's request, after the wait and directly before the send: for
/// credentials and signatures that do not outlive a wait.
///
/// Any `FnMut(&mut Parts, &AttemptInfo)` does. It sees the caller's head, not that of the attempt
/// before.
pub trait Prepare {
    /// Changes the head of the request that is about to be sent.
    fn prepare(&mut self, head: &mut Parts, attempt: &AttemptInfo);
}

impl<F: FnMut(&mut Parts, &AttemptInfo)> Prepare for F {
    fn prepare(&mut self, head: &mut Parts, attempt: &AttemptInfo) {
        self(head, attempt);
    }
}

/// Gets fresh credentials after a 401, once in a call, for [`Prepare`] to use.
///
/// Any `FnMut() -> impl Future<Output = ()>` does. It takes its time from the attempt that follows.
pub trait Refresh {
    /// Ready when the next attempt can be sent.
    type Future: Future<Output = ()>;

    /// Begins to refresh.
    fn refresh(&mut self) -> Self::Future;
}

impl<F: FnMut() -> Fut, Fut: Future<Output = ()>> Refresh for F {
    type Future = Fut;

    fn refresh(&mut self) -> Fut {
        self()
    }
}

/// Nothing is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unchanged;

impl Prepare for Unchanged {
    fn prepare(&mut self, _: &mut Parts, _: &AttemptInfo) {}
}

impl Refresh for Unchanged {
    type Future = Ready<()>;

    fn refresh(&mut self) -> Ready<()> {
        ready(())
    }
}
