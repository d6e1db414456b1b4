//! A progress bar for runs that take long enough to wonder.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Attempts that a machine simulates in about a second; what is below needs no bar.
const A_SECOND_OF_WORK: u64 = 10_000_000;
/// The time between two moves of the clock on the bar, even when no run has ended.
const TICK: Duration = Duration::from_millis(200);

/// A bar over so many runs, on standard error, and only where that is a terminal.
pub(crate) fn bar(jobs: u64, attempts: u64) -> ProgressBar {
    if attempts < A_SECOND_OF_WORK {
        return ProgressBar::hidden();
    }
    // indicatif draws nothing when standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(jobs), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{elapsed} [{bar:40}] {pos}/{len} runs") {
        bar.set_style(style.progress_chars("=> "));
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}
