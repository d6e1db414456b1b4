//! Two levels over time: how many attempts wait in queues, how many callers wait to retry.

use stagger_core::Instant;

use super::meter::{BUCKET, KEPT_BUCKETS};

/// Levels at the end of each bucket of [`BUCKET`] from the origin on.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) queued: u64,
    pub(crate) retrying: u64,
    /// The most that was ever queued.
    pub(crate) queued_most: u64,
    end: Instant,
    kept: Vec<(u64, u64)>,
}

impl Track {
    pub(crate) fn new() -> Self {
        Self {
            queued: 0,
            retrying: 0,
            queued_most: 0,
            end: Instant::ORIGIN + BUCKET,
            kept: Vec::new(),
        }
    }

    /// Closes all buckets that end at or before `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        if now >= self.end {
            self.close(now);
        }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self) {
        self.queued += 1;
        self.queued_most = self.queued_most.max(self.queued);
    }

    pub(crate) fn finish(self) -> Vec<(u64, u64)> {
        self.kept
    }

    #[cold]
    fn close(&mut self, now: Instant) {
        while now >= self.end && self.kept.len() < KEPT_BUCKETS {
            self.kept.push((self.queued, self.retrying));
            self.end = self.end + BUCKET;
        }
        if self.kept.len() == KEPT_BUCKETS {
            self.end = Instant::FAR;
        }
    }
}
