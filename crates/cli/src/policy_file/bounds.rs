//! Bounds of facts about calls, in a file and in flags.

/// First attempts a second of one process: one a day is no retry storm, and no process makes more
/// than some millions.
pub(crate) const RPS: (f64, f64) = (0.000_01, 1e9);
/// Processes that call the same destination.
pub(crate) const FLEET: (u32, u32) = (1, 10_000_000);
/// Calls a second that a destination serves.
pub(crate) const CAPACITY: (f64, f64) = (0.000_01, 1e12);
/// Services one above the other: a longer chain is a slip of a digit.
pub(crate) const LAYERS: (u32, u32) = (1, 16);
