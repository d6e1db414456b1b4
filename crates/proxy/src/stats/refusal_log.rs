//! The last refusals of a route, for people who look for the reason of one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use stagger::StdTime;

/// Refusals that are kept for each route: a page shows no more, and a kilobyte each is little.
const KEPT: usize = 32;

/// One reply of the proxy's own, in place of an upstream's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The time of the reply; `None` on a machine without a clock.
    pub at: Option<SystemTime>,
    /// The name of the route; `None` for a request that no route took.
    pub route: Option<String>,
    /// The destination that was not called or did not answer; `None` where none was chosen.
    pub destination: Option<String>,
    /// The stop reason, as in `stagger-stop`.
    pub stop: &'static str,
    /// The status of the reply.
    pub status: u16,
    /// Attempts that were made.
    pub attempts: u32,
    /// The explanation that the caller was given.
    pub detail: String,
}

/// The last refusals.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog {
    last: Mutex<VecDeque<Refusal>>,
}

impl RefusalLog {
    /// Keeps a refusal that is made now; the oldest goes when there are too many.
    pub(crate) fn add(&self, mut refusal: Refusal) {
        refusal.at = StdTime::try_wall();
        let mut last = self.lock();
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(refusal);
    }

    /// The last ones, the oldest first, under the name of their route.
    pub(crate) fn last(&self, route: Option<&str>) -> Vec<Refusal> {
        let named = |it: &Refusal| Refusal { route: route.map(str::to_owned), ..it.clone() };
        self.lock().iter().map(named).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Refusal>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_keeps_the_last_ones_only() {
        let log = RefusalLog::default();
        for attempts in 0..100 {
            log.add(Refusal {
                at: None,
                route: None,
                destination: None,
                stop: "breaker_open",
                status: 503,
                attempts,
                detail: String::new(),
            });
        }
        let last = log.last(Some("orders"));
        assert_eq!((last.len(), last[0].attempts, last[KEPT - 1].attempts), (KEPT, 68, 99));
        assert!(last.iter().all(|refusal| refusal.route.as_deref() == Some("orders")));
    }
}
