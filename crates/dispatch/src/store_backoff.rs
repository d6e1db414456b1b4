//! The backoff between calls to a store that does not answer.

use stagger::{Backoff, OsEntropy, Sleep, Span, TokioTime};

/// First ceiling: a lock or a failover is often over by then.
const BASE: Span = Span::from_millis(100);
/// Longest wait: a disk that has room again is noticed within it.
const CAP: Span = Span::from_secs(5);

/// The engine's backoff with full jitter, without an end: giving up would lose settlements.
#[derive(Debug)]
pub(crate) struct StoreBackoff {
    backoff: Backoff,
    retries: u32,
    prev: Span,
}

impl StoreBackoff {
    pub(crate) fn new() -> Self {
        let backoff = Backoff::exponential(BASE, CAP).expect("the base is below the cap");
        Self { backoff, retries: 0, prev: Span::ZERO }
    }

    /// Waits once more, longer than before in the mean.
    pub(crate) async fn wait(&mut self) {
        self.retries = self.retries.saturating_add(1);
        self.prev = self.backoff.delay(self.retries, self.prev, &mut OsEntropy);
        TokioTime.sleep(self.prev).await;
    }
}
