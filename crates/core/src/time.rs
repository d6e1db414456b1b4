//! Instants and spans in whole nanoseconds, saturating at both ends.
//!
//! The engine never reads a clock: it is told the time. An [`Instant`] counts nanoseconds from an
//! origin that the caller chooses (process start, the start of a simulation); only differences matter.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

const NANOS_PER_SEC: u64 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_MICRO: u64 = 1_000;

/// A length of time in whole nanoseconds, from zero to about 584 years; arithmetic saturates.
///
/// ```
/// use stagger_core::Span;
/// let wait = Span::from_millis(100) + Span::from_secs(1);
/// assert_eq!(wait.as_nanos(), 1_100_000_000);
/// assert_eq!(wait.to_string(), "1.1s");
/// assert_eq!(Span::MAX + wait, Span::MAX);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span, about 584 years: what every overflow saturates to.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `n` nanoseconds.
    #[must_use]
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// A span of `n` microseconds, saturating.
    #[must_use]
    pub const fn from_micros(n: u64) -> Self {
        Self(n.saturating_mul(NANOS_PER_MICRO))
    }

    /// A span of `n` milliseconds, saturating.
    #[must_use]
    pub const fn from_millis(n: u64) -> Self {
        Self(n.saturating_mul(NANOS_PER_MILLI))
    }

    /// A span of `n` seconds, saturating.
    #[must_use]
    pub const fn from_secs(n: u64) -> Self {
        Self(n.saturating_mul(NANOS_PER_SEC))
    }

    /// The whole span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The whole span in seconds as a float, for reports only: above 104 days it is rounded.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure for people, never for a decision")]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Whether this is [`Span::ZERO`].
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The span as whole seconds, rounded up: never sooner than the span names.
    ///
    /// ```
    /// use stagger_core::Span;
    /// assert_eq!(Span::from_millis(200).as_secs_ceil(), 1);
    /// ```
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(NANOS_PER_SEC)
    }

    /// `self + other`, at most [`Span::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `self - other`, at least [`Span::ZERO`].
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * n`, at most [`Span::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// The same span for the standard library.
    #[must_use]
    pub const fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl From<Duration> for Span {
    /// A duration beyond 584 years becomes [`Span::MAX`].
    #[inline]
    fn from(d: Duration) -> Self {
        let whole = d.as_secs().saturating_mul(NANOS_PER_SEC);
        Self(whole.saturating_add(d.subsec_nanos().into()))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.to_duration()
    }
}

impl fmt::Display for Span {
    /// The span in its largest fitting unit, exactly: `1.5s`, `200ms`, `25us`, `3ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name, width) = match self.0 {
            0 => return f.write_str("0s"),
            n if n >= NANOS_PER_SEC => (NANOS_PER_SEC, "s", 9),
            n if n >= NANOS_PER_MILLI => (NANOS_PER_MILLI, "ms", 6),
            n if n >= NANOS_PER_MICRO => (NANOS_PER_MICRO, "us", 3),
            _ => (1, "ns", 0),
        };
        write!(f, "{}", self.0 / unit)?;
        write_fraction(f, self.0 % unit, width)?;
        f.write_str(name)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes `.` and the `width` digits of `rest` without trailing zeros; nothing when `rest` is zero.
fn write_fraction(f: &mut fmt::Formatter<'_>, mut rest: u64, mut width: usize) -> fmt::Result {
    if rest == 0 {
        return Ok(());
    }
    while rest % 10 == 0 {
        rest /= 10;
        width -= 1;
    }
    write!(f, ".{rest:0width$}")
}

/// A point in monotonic time, in nanoseconds from an origin of the caller's choice.
///
/// Subtracting a later instant from an earlier one gives [`Span::ZERO`], so a clock that steps
/// back can never produce a negative or a huge span.
///
/// ```
/// use stagger_core::{Instant, Span};
/// let start = Instant::from_nanos(5);
/// let later = start + Span::from_nanos(7);
/// assert_eq!(later - start, Span::from_nanos(7));
/// assert_eq!(start - later, Span::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The origin itself.
    pub const ORIGIN: Self = Self(0);
    /// The last instant that can be named: "never" for a deadline.
    pub const FAR: Self = Self(u64::MAX);

    /// The instant `n` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`, zero if it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Instant {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn spans_print_exactly() {
        let shown = |n| Span::from_nanos(n).to_string();
        assert_eq!(shown(0), "0s");
        assert_eq!(shown(3), "3ns");
        assert_eq!(shown(1_500), "1.5us");
        assert_eq!(shown(100_000_000), "100ms");
        assert_eq!(shown(1_000_000_001), "1.000000001s");
        assert_eq!(shown(3_600_000_000_000), "3600s");
    }

    #[test]
    fn durations_beyond_the_range_saturate() {
        assert_eq!(Span::from(Duration::MAX), Span::MAX);
        assert_eq!(Span::MAX + Span::from_nanos(1), Span::MAX);
        assert_eq!(Instant::FAR + Span::MAX, Instant::FAR);
    }

    #[test]
    fn a_clock_set_back_reads_as_no_time_passed() {
        let before = Instant::from_nanos(10);
        assert_eq!(Instant::ORIGIN - before, Span::ZERO);
    }
}
