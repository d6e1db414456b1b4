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

    /// Whether some of what is free now has been so for `bound`; `step` is the time since the last look.
    /// Then those whose share it is have not taken it, and anybody should.
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
