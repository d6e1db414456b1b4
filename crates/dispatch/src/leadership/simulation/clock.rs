//! A node's own clock.

use stagger::Instant;

/// Parts of a rate.
const WHOLE: u64 = 1_000_000;

/// A clock that runs at a rate of its own, from an origin of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Millionths of the true rate.
    pub(super) rate: u64,
    /// The time that it shows at the beginning.
    pub(super) origin: u64,
}

impl Clock {
    /// The time that it shows at a true time, rounded down.
    pub(super) fn at(self, time: u64) -> Instant {
        Instant::from_nanos(self.origin + scaled(time, self.rate, WHOLE))
    }

    /// The first true time at which it says this, or later.
    pub(super) fn reaches(self, at: Instant) -> u64 {
        let time = scaled(at.as_nanos().saturating_sub(self.origin), WHOLE, self.rate);
        (time..).find(|time| self.at(*time) >= at).expect("time has no end")
    }
}

fn scaled(time: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(time) * u128::from(by) / u128::from(of)).expect("a short run")
}
