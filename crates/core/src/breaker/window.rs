//! The outcomes of the last calls: the last so many, or those of the last so many seconds.

use alloc::vec::Vec;
use core::time::Duration;

use crate::slots::{SlotCounts, Slots};
use crate::time::{Instant, Span};

/// The calls by which a breaker judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowKind {
    /// The last calls, this many.
    Calls(u32),
    /// The calls of this last span, in ten slots.
    Time(Span),
}

impl From<Span> for WindowKind {
    fn from(span: Span) -> Self {
        Self::Time(span)
    }
}

impl From<Duration> for WindowKind {
    fn from(span: Duration) -> Self {
        Self::Time(span.into())
    }
}

/// The outcomes of the calls in a window. A slow failure counts as both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls settled with a result that says something about the server.
    pub calls: u32,
    /// Those that failed.
    pub failures: u32,
    /// Those that took longer than the plan's slow-call threshold.
    pub slow: u32,
}

/// One settled call that says something about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// It failed.
    pub failed: bool,
    /// It took longer than the plan's slow-call threshold.
    pub slow: bool,
}

/// The window of a plan's kind.
#[derive(Clone, Debug)]
pub(super) enum CallWindow {
    Calls(Ring),
    Time(Slots<Counts>),
}

impl CallWindow {
    pub(super) fn new(kind: WindowKind) -> Self {
        match kind {
            WindowKind::Calls(size) => Self::Calls(Ring::new(size)),
            WindowKind::Time(span) => Self::Time(Slots::new(span)),
        }
    }

    /// Counts a call and answers the sums of the window.
    #[inline]
    pub(super) fn record(&mut self, now: Instant, call: Call) -> Counts {
        match self {
            Self::Calls(ring) => ring.record(call),
            Self::Time(slots) => slots.record(now, Counts::from(call)),
        }
    }

    pub(super) fn counts(&self, now: Instant) -> Counts {
        match self {
            Self::Calls(ring) => ring.counts,
            Self::Time(slots) => slots.sum(now),
        }
    }
}

impl From<Call> for Counts {
    #[inline]
    fn from(call: Call) -> Self {
        Self { calls: 1, failures: u32::from(call.failed), slow: u32::from(call.slow) }
    }
}

impl SlotCounts for Counts {
    #[inline]
    fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        // Most calls are neither, and a branch that is always foreseen beats two additions.
        if other.failures | other.slow != 0 {
            self.failures = self.failures.saturating_add(other.failures);
            self.slow = self.slow.saturating_add(other.slow);
        }
    }

    fn remove(&mut self, other: Self) {
        self.calls = self.calls.saturating_sub(other.calls);
        self.failures = self.failures.saturating_sub(other.failures);
        self.slow = self.slow.saturating_sub(other.slow);
    }
}

/// The last `size` calls. Grows as calls arrive, so a breaker that is hardly used stays small.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    calls: Vec<Call>,
    size: usize,
    oldest: usize,
    counts: Counts,
}

impl Ring {
    fn new(size: u32) -> Self {
        // OK because a plan's window holds at most MAX_WINDOW_CALLS calls, which fits any usize.
        Self { calls: Vec::new(), size: size as usize, oldest: 0, counts: Counts::default() }
    }

    fn record(&mut self, call: Call) -> Counts {
        if self.calls.len() < self.size {
            self.calls.push(call);
        } else {
            let left = core::mem::replace(&mut self.calls[self.oldest], call);
            self.counts.remove(left.into());
            self.oldest = (self.oldest + 1) % self.size;
        }
        self.counts.add(call.into());
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_leaves_when_as_many_came_after_it() {
        let mut window = CallWindow::new(WindowKind::Calls(3));
        let counts = [true, false, false, false, true].map(|failed| {
            let counts = window.record(Instant::ORIGIN, Call { failed, slow: !failed });
            (counts.calls, counts.failures, counts.slow)
        });
        assert_eq!(counts, [(1, 1, 0), (2, 1, 1), (3, 1, 2), (3, 0, 3), (3, 1, 2)]);
    }
}
