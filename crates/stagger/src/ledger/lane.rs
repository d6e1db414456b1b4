//! A lane of counters for each thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Threads with a lane of their own, which costs each window of each ledger a cache line. Most
/// runtimes have no more workers; threads beyond them count in a word that they share.
pub(super) const LANES: usize = 8;

/// The lane that no other living thread has; `None` when all are taken, or the thread is ending.
#[inline]
pub(super) fn lane() -> Option<usize> {
    MINE.try_with(|mine| mine.0).ok().flatten()
}

thread_local! {
    static MINE: Claim = Claim::new();
}

/// One bit for each lane that is taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A lane, until the thread ends.
struct Claim(Option<usize>);

impl Claim {
    /// Acquire: what the thread before wrote in this lane was written before.
    #[cold]
    fn new() -> Self {
        let free = |taken: u64| (0..LANES).find(|lane| taken & (1 << lane) == 0);
        let claim = |taken| free(taken).map(|lane| taken | (1 << lane));
        let claimed = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, claim);
        Self(claimed.ok().and_then(free))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(lane) = self.0 {
            TAKEN.fetch_and(!(1 << lane), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn no_two_living_threads_count_in_one_lane() {
        let barrier = Barrier::new(2 * LANES);
        let claim = || {
            let mine = lane();
            barrier.wait();
            mine
        };
        let claimed: Vec<Option<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2 * LANES).map(|_| scope.spawn(claim)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut lanes: Vec<usize> = claimed.iter().copied().flatten().collect();
        assert!(lanes.len() <= LANES && claimed.contains(&None));
        lanes.sort_unstable();
        lanes.dedup();
        assert_eq!(lanes.len(), claimed.iter().flatten().count());
    }

    #[test]
    fn a_thread_that_has_ended_leaves_its_lane_to_others() {
        let used = (0..100 * LANES)
            .filter(|_| std::thread::spawn(lane).join().expect("no panic").is_some());
        // Other tests may hold all lanes for a while, but not for as long as this.
        assert!(used.count() > LANES);
    }
}
