//! The time until which this node may send, which every attempt reads right before it writes.

use std::sync::atomic::{AtomicU64, Ordering};

use stagger::Instant;

use super::clock::EngineClock;

/// The lease of one membership.
///
/// An attempt can be held up between its launch and the first byte of its request, by a slow
/// connection or because its process was stopped. Aborting it when the lease ends comes too late
/// then: both wake at the same time. So each attempt asks its lease itself.
#[derive(Debug)]
pub(super) struct SendingLease {
    /// In nanoseconds of the engine's clock; [`FOR_EVER`](Self::FOR_EVER) without an end.
    until: AtomicU64,
}

impl SendingLease {
    const FOR_EVER: u64 = u64::MAX;

    /// A lease without an end: no other node can lead.
    pub(super) const fn for_ever() -> Self {
        Self { until: AtomicU64::new(Self::FOR_EVER) }
    }

    /// A lease that has not begun.
    pub(super) const fn none() -> Self {
        Self { until: AtomicU64::new(0) }
    }

    /// Sets its end; `None` is never.
    pub(super) fn set(&self, until: Option<Instant>) {
        self.until.store(until.map_or(Self::FOR_EVER, Instant::as_nanos), Ordering::Release);
    }

    /// Its end; `None` is never.
    pub(super) fn until(&self) -> Option<Instant> {
        let nanos = self.until.load(Ordering::Acquire);
        (nanos != Self::FOR_EVER).then(|| Instant::from_nanos(nanos))
    }

    /// Whether it lasts at this moment.
    pub(super) fn holds(&self, clock: EngineClock) -> bool {
        self.until().is_none_or(|until| clock.now() < until)
    }
}

#[cfg(test)]
mod tests {
    use stagger::Span;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_by_the_clock_and_by_being_replaced() {
        let clock = EngineClock::start();
        assert!(SendingLease::for_ever().holds(clock) && !SendingLease::none().holds(clock));
        let lease = SendingLease::none();
        let until = clock.now() + Span::from_secs(1);
        lease.set(Some(until));
        assert!(lease.holds(clock));
        clock.until(Some(until + Span::from_millis(1))).await;
        assert!(!lease.holds(clock));
        lease.set(None);
        assert!(lease.holds(clock));
    }
}
