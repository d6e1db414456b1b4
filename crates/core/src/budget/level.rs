//! The level of a budget, for metrics.

/// The level of a budget at one instant: a figure for people and metrics, never for a decision,
/// because another call may ask in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Level {
    /// Retries that would be granted in a row from now on, each failing; `u64::MAX` without limit.
    pub retries: u64,
    /// The amount held, in the plan's own unit: tokens, milli-tokens (throttle), retries (others).
    pub held: u64,
    /// The most that could be held, in the same unit. For a window it moves with the traffic.
    pub capacity: u64,
}

impl Level {
    /// The level of a budget without limit.
    pub(super) const UNLIMITED: Self = Self::of_retries(u64::MAX, u64::MAX);
    /// The level of a budget that grants nothing.
    pub(super) const NONE: Self = Self::of_retries(0, 0);

    /// The level of a budget whose unit is the retry.
    pub(super) const fn of_retries(left: u64, capacity: u64) -> Self {
        Self { retries: left, held: left, capacity }
    }
}
