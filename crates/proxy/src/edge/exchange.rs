//! One request and its reply on a client's connection, as the connection's time limits see it.

use std::sync::Arc;

use super::phase::ConnectionPhase;

/// A request that has begun.
#[derive(Debug)]
pub(crate) struct Exchange {
    guard: ExchangeGuard,
    wait: BodyWait,
}

/// The exchange goes on until this is dropped, with the end of the reply.
#[derive(Debug)]
pub(crate) struct ExchangeGuard(Arc<ConnectionPhase>);

/// Tells whether the body of the request is waited for.
#[derive(Debug)]
pub(crate) struct BodyWait {
    phase: Arc<ConnectionPhase>,
    waits: bool,
}

impl Exchange {
    pub(super) fn begin(phase: &Arc<ConnectionPhase>, http2: bool) -> Self {
        phase.exchange_begins(http2);
        let wait = BodyWait { phase: Arc::clone(phase), waits: false };
        Self { guard: ExchangeGuard(Arc::clone(phase)), wait }
    }

    /// For the reply and for the body of the request.
    pub(crate) fn into_parts(self) -> (ExchangeGuard, BodyWait) {
        (self.guard, self.wait)
    }
}

impl BodyWait {
    /// The body is waited for, or not any more.
    pub(crate) fn set(&mut self, waits: bool) {
        if self.waits != waits {
            self.waits = waits;
            self.phase.body_awaited(waits);
        }
    }
}

impl Drop for BodyWait {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl Drop for ExchangeGuard {
    fn drop(&mut self) {
        self.0.exchange_ends();
    }
}
