//! The clock: the only file that reads the time.
#![expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]

use std::time::{Instant as StdInstant, SystemTime};

use stagger_core::{Instant, Span};

/// A monotonic clock that counts from its own start.
///
/// Copies share the origin; instants of clocks that were started apart must not be compared.
///
/// ```
/// let clock = stagger::Clock::start();
/// let copy = clock;
/// assert!(copy.now() <= clock.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: StdInstant,
}

impl Clock {
    /// A clock whose origin is now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: StdInstant::now() }
    }

    /// The time since the origin.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::ORIGIN + Span::from(self.origin.elapsed())
    }

    /// The wall clock, for reading HTTP-dates only: it can jump, so no wait is measured by it.
    #[must_use]
    pub fn wall() -> SystemTime {
        SystemTime::now()
    }
}
