//! Closed: everybody is admitted, and every result is counted.

use super::plan::BreakerPlan;
use super::trip::Trip;
use super::window::{Call, CallWindow, Counts};
use crate::time::Instant;

/// The counters of a closed breaker.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    window: CallWindow,
    consecutive: u32,
    /// Admitted calls that have not reported. Never are more results counted than calls were
    /// admitted, so a ticket that is reported twice cannot open a breaker by itself.
    unsettled: u32,
}

impl Closed {
    /// No calls yet.
    pub(super) fn new(plan: &BreakerPlan) -> Self {
        Self { window: CallWindow::new(plan.window), consecutive: 0, unsettled: 0 }
    }

    #[inline]
    pub(super) fn admit(&mut self) {
        self.unsettled = self.unsettled.saturating_add(1);
    }

    /// Counts a call (`None`: it says nothing) and answers the rule that is broken now.
    #[inline]
    pub(super) fn settle(
        &mut self,
        plan: &BreakerPlan,
        now: Instant,
        call: Option<Call>,
    ) -> Option<Trip> {
        self.unsettled = self.unsettled.checked_sub(1)?;
        let call = call?;
        self.consecutive = if call.failed { self.consecutive.saturating_add(1) } else { 0 };
        let counts = self.window.record(now, call);
        plan.broken_by(counts, self.consecutive)
    }

    pub(super) fn counts(&self, now: Instant) -> Counts {
        self.window.counts(now)
    }

    pub(super) const fn consecutive(&self) -> u32 {
        self.consecutive
    }
}
