//! The behaviour of a process that has no permit left while the store is unreachable.

/// The behaviour of a process that has no permit left and gets no answer from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Away {
    /// It falls back to a budget of its own, the fleet's divided by so many nodes: see
    /// [`BudgetPlan::share_of`](crate::budget::BudgetPlan::share_of).
    Local {
        /// The nodes that are expected. At least 1; with more than that, the parts add up to more.
        nodes: u32,
    },
    /// It refuses.
    Refuse,
}
