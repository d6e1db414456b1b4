//! Ramp: closed again, but admitting only a growing share for a while.

use super::closed::Closed;
use super::plan::RampPlan;
use crate::ratio::Ratio;
use crate::time::Instant;

/// A closed breaker behind a gate that opens slowly.
///
/// The gate is an accumulator: each caller adds the share of the moment, and the one that fills it
/// up goes through. So a share of 10 % is every tenth caller, exactly and without chance.
#[derive(Clone, Debug)]
pub(super) struct Ramp {
    pub(super) closed: Closed,
    plan: RampPlan,
    started: Instant,
    filled_ppm: u32,
}

impl Ramp {
    /// Starts filled, so the first caller goes through.
    pub(super) const fn new(closed: Closed, plan: RampPlan, now: Instant) -> Self {
        Self { closed, plan, started: now, filled_ppm: Ratio::SCALE }
    }

    /// `Err` holds the end of the ramp.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Instant> {
        // OK because the sum is at most twice SCALE: what is over a whole leaves right below.
        self.filled_ppm = (self.filled_ppm + self.share_ppm(now)).min(2 * Ratio::SCALE - 1);
        if self.filled_ppm < Ratio::SCALE {
            return Err(self.ends());
        }
        self.filled_ppm -= Ratio::SCALE;
        self.closed.admit();
        Ok(())
    }

    pub(super) fn ends(&self) -> Instant {
        self.started + self.plan.over
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        now >= self.ends()
    }

    /// The share admitted at `now`, growing in a straight line.
    fn share_ppm(&self, now: Instant) -> u32 {
        let gone = u128::from((now - self.started).as_nanos());
        let rise = u128::from(Ratio::SCALE.saturating_sub(self.plan.from.ppm()));
        let risen = rise * gone / u128::from(self.plan.over.as_nanos().max(1));
        u32::try_from(risen)
            .unwrap_or(Ratio::SCALE)
            .saturating_add(self.plan.from.ppm())
            .min(Ratio::SCALE)
    }
}
