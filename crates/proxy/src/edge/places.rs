//! The places of connections, of which there is a bounded number, and whether they go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whether a listener's connections go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgePhase {
    /// They are accepted and served.
    Open,
    /// The requests that have come are served, and no others.
    Draining,
    /// All end now.
    Closed,
}

/// The places of all connections, and those that got none.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionPlaces {
    most: usize,
    free: Arc<Semaphore>,
    taken: Arc<AtomicUsize>,
    refused: Arc<AtomicU64>,
}

/// The place of one connection, until dropped.
#[derive(Debug)]
pub(super) struct Place {
    // Counted apart from the permits, which a drain gathers.
    taken: Arc<AtomicUsize>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionPlaces {
    /// At most so many connections.
    pub(crate) fn new(most: usize) -> Self {
        let free = Arc::new(Semaphore::new(most));
        Self { most, free, taken: Arc::default(), refused: Arc::default() }
    }

    /// Connections that are open, the most that may be, and those that were refused.
    pub(crate) fn figures(&self) -> (usize, usize, u64) {
        let open = self.taken.load(Ordering::Relaxed);
        (open, self.most, self.refused.load(Ordering::Relaxed))
    }

    /// Ready when no connection is open.
    pub(crate) async fn until_empty(&self) {
        // OK because at most 100 000 connections are configured. It fails only when closed, which it never is.
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        drop(self.free.acquire_many(all).await);
    }

    /// A place for one more; `None` when all are taken.
    pub(super) fn take(&self) -> Option<Place> {
        let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(Place { taken: Arc::clone(&self.taken), _permit: permit })
    }
}
