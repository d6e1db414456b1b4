//! For how long shards have been free.

use stagger::Span;

use crate::store::Shards;

/// Shards that were free at a look, and have stayed so.
#[derive(Debug)]
pub(super) struct Unassigned {
    shards: Shards,
    lasts: Span,
}

impl Unassigned {
    pub(super) const fn new() -> Self {
        Self { shards: Shards::NONE, lasts: Span::ZERO }
    }

    /// Whether some of the shards that are free now have been free for `bound`; `step` is the time
    /// since the last observation. Then the members that should acquire them have not, and any
    /// member should.
    pub(super) fn is_overdue(&mut self, step: Span, free: Shards, bound: Span) -> bool {
        let still = self.shards.common(free);
        if still.is_empty() {
            (self.shards, self.lasts) = (free, Span::ZERO);
            return false;
        }
        (self.shards, self.lasts) = (still, self.lasts + step);
        self.lasts >= bound
    }
}
