//! The events that a process reports to the store.

use std::sync::atomic::{AtomicU64, Ordering};

/// The most that one request reports of a kind: keeps the script's numbers exact. The rest waits.
const MOST: u64 = (1 << 32) - 1;

/// The events since the last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BudgetEvents {
    pub(super) firsts: u64,
    pub(super) first_tries: u64,
    /// The permits of successes after a retry with a leased one.
    pub(super) after_retry: u64,
    pub(super) failed: u64,
}

/// The same, counted by many threads.
#[derive(Debug, Default)]
pub(super) struct EventCounters {
    pub(super) firsts: AtomicU64,
    pub(super) first_tries: AtomicU64,
    pub(super) after_retry: AtomicU64,
    pub(super) failed: AtomicU64,
}

impl EventCounters {
    /// Everything counted so far, which then is counted no more.
    pub(super) fn take(&self) -> BudgetEvents {
        BudgetEvents {
            firsts: take(&self.firsts),
            first_tries: take(&self.first_tries),
            after_retry: take(&self.after_retry),
            failed: take(&self.failed),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { firsts, first_tries, after_retry, failed } = self;
        [firsts, first_tries, after_retry, failed]
            .iter()
            .all(|count| count.load(Ordering::Relaxed) == 0)
    }
}

fn take(count: &AtomicU64) -> u64 {
    let some = count.load(Ordering::Relaxed).min(MOST);
    count.fetch_sub(some, Ordering::Relaxed);
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_for_one_request_waits_for_the_next() {
        let counters = EventCounters::default();
        counters.failed.store(MOST + 5, Ordering::Relaxed);
        let events = [counters.take(), counters.take(), counters.take()];
        assert_eq!(events.map(|events| events.failed), [MOST, 5, 0]);
        assert!(counters.is_empty());
    }
}
