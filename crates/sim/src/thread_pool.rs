//! Many runs over several threads, with figures that do not depend on how many.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The threads that play runs, the callback that they report to, and the flag that stops them.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use stagger_sim::{ThreadPool, Named, StormOptions};
/// let stop = AtomicBool::new(true);
/// let lockstep = Named::find("lockstep").expect("it ships").scenario(&StormOptions::default())?;
/// let report = lockstep.run(&ThreadPool::single().until(&stop));
/// assert_eq!(report.cases[0].rows[0].runs, 0);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy)]
pub struct ThreadPool<'a> {
    threads: NonZeroUsize,
    progress: &'a (dyn Fn() + Sync),
    stop: Option<&'a AtomicBool>,
}

impl<'a> ThreadPool<'a> {
    /// So many threads, which report to nothing.
    #[must_use]
    pub const fn new(threads: NonZeroUsize) -> Self {
        Self { threads, progress: &|| {}, stop: None }
    }

    /// One thread.
    #[must_use]
    pub const fn single() -> Self {
        Self::new(NonZeroUsize::MIN)
    }

    /// The same pool, calling `progress` after every job.
    #[must_use]
    pub const fn telling(mut self, progress: &'a (dyn Fn() + Sync)) -> Self {
        self.progress = progress;
        self
    }

    /// The same pool, handing out no more jobs once `stop` is set; those under way are finished.
    ///
    /// The runs of a report are handed out one after the other, each to all its entries, so all rows
    /// of a report that was stopped have the same number of runs, give or take a few.
    #[must_use]
    pub const fn until(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Does jobs `0..jobs`, each at most once, and gives what every thread has gathered: all of
    /// them, unless the pool is stopped.
    ///
    /// Which thread did which job is chance, so the caller must merge by sums that do not care.
    pub fn share<T: Send>(
        &self,
        jobs: u64,
        start: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, u64) + Sync,
    ) -> Vec<T> {
        let next = AtomicU64::new(0);
        let thread = || {
            let mut gathered = start();
            loop {
                let job = next.fetch_add(1, Ordering::Relaxed);
                if job >= jobs || self.is_stopped() {
                    return gathered;
                }
                work(&mut gathered, job);
                (self.progress)();
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads.get()).map(|_| scope.spawn(thread)).collect();
            let mut all = vec![thread()];
            for other in others {
                all.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        })
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

impl std::fmt::Debug for ThreadPool<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadPool").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_by_any_number_of_threads() {
        for threads in 1..5 {
            let threads = NonZeroUsize::new(threads).expect("from 1");
            let sums = ThreadPool::new(threads).share(1_000, || 0, |sum, job| *sum += job);
            assert_eq!(sums.into_iter().sum::<u64>(), 499_500);
        }
    }
    #[test]
    fn a_pool_that_is_stopped_finishes_what_is_under_way_and_no_more() {
        let stop = AtomicBool::new(false);
        let done = ThreadPool::single().until(&stop).share(1_000, Vec::new, |jobs, job| {
            jobs.push(job);
            stop.store(job == 9, Ordering::Relaxed);
        });
        assert_eq!(done, [(0..10).collect::<Vec<u64>>()]);
    }
}
