//! What is said of a policy is what the engine does under it.

mod budgets;
mod player;
mod presets;
mod random;
mod verdicts;
