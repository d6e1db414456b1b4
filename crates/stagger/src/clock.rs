//! Time: the only file that reads a clock or waits.
#![expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant as StdInstant, SystemTime};

use stagger_core::{Instant, Span};

use crate::cancel::Cancel;

/// A monotonic clock.
///
/// All clocks of one [`Retrier`](crate::Retrier), and of retriers that share a ledger, must count
/// from the same origin: [`StdTime`] and `TokioTime` do.
pub trait Clock {
    /// The time since the clock's origin.
    fn now(&self) -> Instant;

    /// The time since the clock's origin, or a little earlier: what is cheap to know. It may lag
    /// behind [`now`](Self::now) by at most 10 ms, and never runs ahead of it.
    ///
    /// A clean first try asks for no more, where only a budget or a breaker wants the time: they
    /// count by slots of 100 ms or more. Nor does a blocking call that has no deadline. Default:
    /// [`now`](Self::now).
    fn recent(&self) -> Instant {
        self.now()
    }
}

/// A clock that async code can wait by; what a runtime has to bring.
///
/// Any `Fn(Duration) -> impl Future<Output = ()>` is one, with [`StdTime`] as its clock, so the
/// timer of any runtime fits. Where the standard library has no clock (wasm32-unknown-unknown, as in a
/// browser), a type of your own brings both.
///
/// ```
/// # use std::{future, time::Duration};
/// use stagger::{Policy, Retrier};
/// # fn timer_of_your_runtime(_: Duration) -> future::Ready<()> { future::ready(()) }
/// let retrier = Retrier::new(Policy::default(), |delay: Duration| timer_of_your_runtime(delay));
/// assert_eq!(retrier.policy(), &Policy::default());
/// ```
#[diagnostic::on_unimplemented(
    message = "async code cannot wait by `{Self}`",
    note = "for tokio's timer turn on the feature `tokio` of `stagger`",
    note = "for another runtime hand over its timer: `|delay: Duration| sleep(delay)`"
)]
pub trait Sleep: Clock {
    /// Ready when the time has passed. Dropping it ends the wait.
    type Timer: Future<Output = ()>;

    /// A timer that ends `span` from now, or a little later. One that ends early is started again
    /// for the rest.
    fn sleep(&self, span: Span) -> Self::Timer;
}

/// A clock that a thread can wait by.
pub trait Pause: Clock {
    /// Returns after `span`, or soon after `cancel` was called, within 50 ms.
    fn pause(&self, span: Span, cancel: Option<&Cancel>);
}

/// The time of the standard library. Threads can wait by it; for async code a runtime brings its own.
///
/// It counts from one origin for the whole process, so that its instants can be compared wherever
/// they were read.
///
/// ```
/// use stagger::{Clock, StdTime};
/// let before = StdTime.now();
/// assert!(before <= StdTime.now());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StdTime;

/// Whether the standard library has clocks here.
const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

impl StdTime {
    /// The wall clock, for reading HTTP-dates only: it can jump, so no wait is measured by it.
    #[must_use]
    pub fn wall() -> SystemTime {
        SystemTime::now()
    }

    /// The same, or `None` where the standard library has no clock: on wasm32-unknown-unknown, where
    /// [`wall`](Self::wall) and [`now`](Clock::now) panic.
    ///
    /// ```
    /// use stagger::StdTime;
    /// assert!(StdTime::try_wall() <= Some(StdTime::wall()));
    /// ```
    #[must_use]
    pub fn try_wall() -> Option<SystemTime> {
        HAS_CLOCK.then(SystemTime::now)
    }

    /// The time since an origin that all processes of this host share, for what they remember
    /// together: on Linux since boot, where no clock is set; elsewhere the wall clock's.
    ///
    /// ```
    /// use stagger::StdTime;
    /// assert!(StdTime::of_host() <= StdTime::of_host());
    /// ```
    #[must_use]
    pub fn of_host() -> Instant {
        #[cfg(target_os = "linux")]
        return coarse::since_boot();
        #[cfg(not(target_os = "linux"))]
        {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            Instant::ORIGIN + Span::from(since.unwrap_or_default())
        }
    }
}

impl Clock for StdTime {
    #[inline]
    fn now(&self) -> Instant {
        since_origin(StdInstant::now())
    }

    #[inline]
    fn recent(&self) -> Instant {
        #[cfg(target_os = "linux")]
        return coarse::now();
        #[cfg(not(target_os = "linux"))]
        return self.now();
    }
}

impl Pause for StdTime {
    fn pause(&self, span: Span, cancel: Option<&Cancel>) {
        match cancel {
            Some(cancel) => cancel.wait(span),
            None => std::thread::sleep(span.to_duration()),
        }
    }
}

/// The time of tokio's runtime, which its tests can pause (`tokio::time::pause`).
///
/// Async code waits by it with the feature `tokio`; without that it is the standard library's, for threads. With the
/// feature its [`recent`](Clock::recent) is exact: no cheaper clock knows whether a test has paused it. Threads wait
/// for real.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// use stagger::{Clock, Span, TokioTime};
/// let start = TokioTime.now();
/// tokio::time::advance(std::time::Duration::from_secs(5)).await;
/// assert_eq!(TokioTime.now() - start, Span::from_secs(5));
/// # Ok(()) })}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokioTime;

#[cfg(feature = "tokio")]
impl Clock for TokioTime {
    fn now(&self) -> Instant {
        since_origin(tokio::time::Instant::now().into_std())
    }
}

#[cfg(not(feature = "tokio"))]
impl Clock for TokioTime {
    fn now(&self) -> Instant {
        StdTime.now()
    }

    fn recent(&self) -> Instant {
        StdTime.recent()
    }
}

#[cfg(feature = "tokio")]
impl Sleep for TokioTime {
    type Timer = tokio::time::Sleep;

    fn sleep(&self, span: Span) -> Self::Timer {
        tokio::time::sleep(span.to_duration())
    }
}

impl Pause for TokioTime {
    fn pause(&self, span: Span, cancel: Option<&Cancel>) {
        StdTime.pause(span, cancel);
    }
}

impl<F, T> Clock for F
where
    F: Fn(Duration) -> T,
    T: Future<Output = ()>,
{
    #[inline]
    fn now(&self) -> Instant {
        StdTime.now()
    }

    #[inline]
    fn recent(&self) -> Instant {
        StdTime.recent()
    }
}

impl<F, T> Sleep for F
where
    F: Fn(Duration) -> T,
    T: Future<Output = ()>,
{
    type Timer = T;

    fn sleep(&self, span: Span) -> T {
        self(span.to_duration())
    }
}

/// The room before the first reading: a runtime whose paused clock is older than that must not
/// read as "no time passes". A day is longer than any test runs.
const HEADROOM: Span = Span::from_secs(24 * 60 * 60);

/// The first reading is the origin of the process, less the headroom.
static FIRST: OnceLock<StdInstant> = OnceLock::new();

#[inline]
fn since_origin(at: StdInstant) -> Instant {
    let first = *FIRST.get_or_init(StdInstant::now);
    let headroom = Instant::ORIGIN + HEADROOM;
    match at.checked_duration_since(first) {
        Some(later) => headroom + Span::from(later),
        None => before(first.duration_since(at)),
    }
}

#[cold]
fn before(earlier: Duration) -> Instant {
    Instant::ORIGIN + (HEADROOM - Span::from(earlier))
}

/// The kernel's own note of the time, taken at its tick: every 1 to 10 ms, by its configuration. A
/// quarter of the price of the exact time, which has to ask the processor.
#[cfg(target_os = "linux")]
mod coarse {
    use std::sync::OnceLock;

    use rustix::time::{ClockId, Timespec, clock_gettime};
    use stagger_core::{Instant, Span};

    use super::StdTime;
    use crate::clock::Clock;

    /// The difference between this clock's origin and the process's, in nanoseconds modulo
    /// 2^64.
    static OFFSET: OnceLock<u64> = OnceLock::new();

    #[inline]
    pub(super) fn now() -> Instant {
        let offset = *OFFSET.get_or_init(offset);
        Instant::from_nanos(nanos(clock_gettime(ClockId::MonotonicCoarse)).wrapping_add(offset))
    }

    /// The standard library reads the same clock, so the two run alike. It is read first here: what
    /// passes in between lets the coarse time lag, and never run ahead.
    #[cold]
    fn offset() -> u64 {
        let ours = StdTime.now() - Instant::ORIGIN;
        ours.as_nanos().wrapping_sub(nanos(clock_gettime(ClockId::Monotonic)))
    }

    /// The exact time, which counts while the host sleeps.
    pub(super) fn since_boot() -> Instant {
        Instant::from_nanos(nanos(clock_gettime(ClockId::Boottime)))
    }

    /// The kernel's seconds are never negative here, and 584 years of them fit.
    #[inline]
    fn nanos(time: Timespec) -> u64 {
        let whole = u64::try_from(time.tv_sec).unwrap_or(0);
        let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
        whole.wrapping_mul(Span::from_secs(1).as_nanos()).wrapping_add(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_paused_before_the_first_reading_still_runs() {
        let older = StdInstant::now();
        let _first = StdTime.now();
        let step = Duration::from_nanos(1);
        assert_eq!(since_origin(older + step) - since_origin(older), Span::from_nanos(1));
    }

    #[test]
    fn a_recent_time_never_runs_ahead_of_the_clock_nor_back() {
        let mut last = StdTime.recent();
        for _ in 0..100_000 {
            let recent = StdTime.recent();
            assert!(last <= recent && recent <= StdTime.now());
            last = recent;
        }
    }
}
