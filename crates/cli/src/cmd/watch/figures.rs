//! The figures of a watch at one moment.

use stagger_watch::{StormVerdict, WatchTotals};

/// The figures of the last window, and counts since the watch began.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchFigures {
    /// The last window.
    pub(super) now: Option<StormVerdict>,
    pub(super) is_storm: bool,
    /// Counts of attempts; none where counters are scraped.
    pub(super) totals: Option<WatchTotals>,
    /// Storms that began.
    pub(super) storms: u64,
    /// Lines, or scrapes.
    pub(super) lines: u64,
    /// Those that could not be read.
    pub(super) malformed: u64,
}
