//! What is said of a policy is what the engine does under it.
#![expect(clippy::cast_precision_loss, reason = "counts of calls are small")]

mod budgets;
mod player;
mod presets;
mod random;
mod verdicts;
