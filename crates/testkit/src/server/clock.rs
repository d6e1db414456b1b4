//! The arrival time of a request. Nothing is decided by it: tests look at it afterwards.

use tokio::time::Instant;

pub(super) fn stamp() -> Instant {
    Instant::now()
}
