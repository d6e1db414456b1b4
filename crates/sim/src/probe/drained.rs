//! Recovery by the last call that is served; it says nothing where many others gave up.

use stagger_core::{Instant, Ratio};

use crate::plan::{Recovery, RecoveryState};

/// Calls by their end, before the edge and after it.
#[derive(Clone, Debug)]
pub(crate) struct Drained {
    edge: Instant,
    over_before: u64,
    succeeded_after: u64,
    last_served: Option<Instant>,
}

impl Drained {
    pub(super) const fn new(edge: Instant) -> Self {
        Self { edge, over_before: 0, succeeded_after: 0, last_served: None }
    }

    #[inline]
    pub(super) fn over(&mut self, now: Instant, succeeded: bool) {
        let before = now < self.edge;
        self.over_before += u64::from(before);
        if succeeded && !before {
            self.succeeded_after += 1;
            self.last_served = Some(now);
        }
    }

    /// The verdict on a run of so many calls.
    pub(super) fn verdict(&self, calls: u64) -> RecoveryState {
        let Some(last) = self.last_served else { return RecoveryState::Never };
        // Calls that never end count as failed.
        let needed = u128::from(calls.saturating_sub(self.over_before))
            * u128::from(Recovery::DRAINED_SHARE.ppm());
        match u128::from(self.succeeded_after) * u128::from(Ratio::SCALE) >= needed {
            true => RecoveryState::Recovered(last - self.edge),
            false => RecoveryState::Never,
        }
    }
}
