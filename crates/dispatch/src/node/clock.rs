//! The node's time: the wall clock at the start, plus the time that the monotonic clock has counted
//! since.

use std::time::{SystemTime, UNIX_EPOCH};

use stagger::{Clock, Instant, Sleep, Span, StdTime, TokioTime};

/// Counts from the Unix epoch, and never jumps: a clock that is set while the node runs moves no due
/// time.
#[derive(Clone, Copy, Debug)]
pub(super) struct EngineClock {
    /// The distance from the Unix epoch to the origin of the monotonic clock.
    ahead: Span,
}

impl EngineClock {
    /// A clock that agrees with the wall clock now.
    pub(super) fn start() -> Self {
        Self::at(StdTime::wall())
    }

    /// A clock that says `wall` now.
    fn at(wall: SystemTime) -> Self {
        let epoch = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { ahead: Span::from(epoch) - (TokioTime.now() - Instant::ORIGIN) }
    }

    pub(super) fn now(self) -> Instant {
        TokioTime.now() + self.ahead
    }

    /// Ready when it is `at`; never when there is no such time.
    pub(super) async fn until(self, at: Option<Instant>) {
        match at {
            Some(at) => TokioTime.sleep(at - self.now()).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_due_time_is_not_moved_when_the_wall_clock_is_set() {
        let clock = EngineClock::at(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let start = clock.now();
        assert_eq!(start - Instant::ORIGIN, Span::from_secs(1_700_000_000));
        clock.until(Some(start + Span::from_secs(9))).await;
        let late = clock.now() - (start + Span::from_secs(9));
        assert!(late <= Span::from_millis(1), "late by {late}");
    }
}
