//! The part of a route that outlives its settings: the calls in flight, their bodies in memory, and the last refusals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::body_memory::BodyMemory;
use crate::stats::RefusalLog;

/// The state of the routes of one name, kept over every reload that has a route of this name. Calls that began under
/// the settings before count against the same limit.
#[derive(Debug, Default)]
pub(super) struct RouteState {
    in_flight: AtomicUsize,
    in_flight_refused: AtomicU64,
    pub(super) refusals: RefusalLog,
    pub(super) bodies: BodyMemory,
}

/// The place of one call in flight, until dropped.
#[derive(Debug)]
pub(super) struct RoutePlace(Arc<RouteState>);

impl RouteState {
    /// A place for one call; `None` when `most` are taken.
    pub(super) fn enter(self: &Arc<Self>, most: usize) -> Option<RoutePlace> {
        let more = |taken: usize| (taken < most).then_some(taken + 1);
        match self.in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Some(RoutePlace(Arc::clone(self))),
            Err(_) => {
                self.in_flight_refused.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Calls in flight, and those that got no place.
    pub(super) fn figures(&self) -> (usize, u64) {
        let refused = self.in_flight_refused.load(Ordering::Relaxed);
        (self.in_flight.load(Ordering::Relaxed), refused)
    }
}

impl Drop for RoutePlace {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_limit_let_calls_in_beside_those_of_the_larger_one() {
        let state = Arc::new(RouteState::default());
        let before: Vec<_> = (0..3).map(|_| state.enter(3).expect("a place")).collect();
        assert!(state.enter(2).is_none());
        assert_eq!(state.figures(), (3, 1));
        drop(before);
        let after = state.enter(2).expect("all have left");
        assert_eq!(state.figures(), (1, 1));
        drop(after);
        assert_eq!(state.figures(), (0, 1));
    }
}
