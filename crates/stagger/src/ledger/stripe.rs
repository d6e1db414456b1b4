//! A stripe of counters for each thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Threads with a stripe of their own, which costs each window of each ledger a cache line. Most
/// runtimes have no more workers; threads beyond them count in a word that they share.
pub(super) const STRIPES: usize = 8;

/// The stripe that no other living thread has; `None` when all are taken, or the thread is ending.
#[inline]
pub(super) fn stripe() -> Option<usize> {
    MINE.try_with(|mine| mine.0).ok().flatten()
}

thread_local! {
    static MINE: Claim = Claim::new();
}

/// One bit for each stripe that is taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A stripe, until the thread ends.
struct Claim(Option<usize>);

impl Claim {
    /// Acquire: what the thread before wrote in this stripe was written before.
    #[cold]
    fn new() -> Self {
        let free = |taken: u64| (0..STRIPES).find(|stripe| taken & (1 << stripe) == 0);
        let claim = |taken| free(taken).map(|stripe| taken | (1 << stripe));
        let claimed = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, claim);
        Self(claimed.ok().and_then(free))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(stripe) = self.0 {
            TAKEN.fetch_and(!(1 << stripe), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn no_two_living_threads_count_in_one_stripe() {
        let barrier = Barrier::new(2 * STRIPES);
        let claim = || {
            let mine = stripe();
            barrier.wait();
            mine
        };
        let claimed: Vec<Option<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2 * STRIPES).map(|_| scope.spawn(claim)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut stripes: Vec<usize> = claimed.iter().copied().flatten().collect();
        assert!(stripes.len() <= STRIPES && claimed.contains(&None));
        stripes.sort_unstable();
        stripes.dedup();
        assert_eq!(stripes.len(), claimed.iter().flatten().count());
    }

    #[test]
    fn a_thread_that_has_ended_leaves_its_stripe_to_others() {
        let used = (0..100 * STRIPES)
            .filter(|_| std::thread::spawn(stripe).join().expect("no panic").is_some());
        // Other tests may hold all stripes for a while, but not for as long as this.
        assert!(used.count() > STRIPES);
    }
}
