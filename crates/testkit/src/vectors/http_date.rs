//! TODO doc.

use super::Suite;

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    Vec::new()
}
