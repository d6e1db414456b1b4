//! Open: nobody is admitted until the open time ends.

use crate::entropy::Entropy;
use crate::ratio::Ratio;
use crate::time::{Instant, Span};

/// The most by which an open time is stretched: half of itself, so that the probes of a fleet that was
/// cut off at one moment do not come back at one moment. Never shortened.
const SPREAD: Ratio = Ratio::from_percent(50);

/// The end of an open time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    until: Instant,
}

impl Open {
    /// Open from `now` for U[t, 1.5 t]; takes one word.
    pub(super) fn new<E: Entropy>(now: Instant, t: Span, entropy: &mut E) -> Self {
        Self { until: now + entropy.draw(t, t + SPREAD.of_span(t)) }
    }

    /// Open until a known end.
    pub(super) const fn until_instant(until: Instant) -> Self {
        Self { until }
    }

    pub(super) const fn until(self) -> Instant {
        self.until
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        now >= self.until
    }
}
