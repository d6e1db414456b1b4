//! The adaptive rate limiter of the AWS SDKs: a token bucket whose rate follows CUBIC.
//!
//! Floats are used here, and only here in the engine, because the rule and its vectors are written
//! in them. Only sums, products and quotients occur, which IEEE 754 rounds in the same way on every
//! machine.

use crate::time::{Instant, Span};

/// The share of the rate that remains after a throttled reply.
const BETA: f64 = 0.7;
/// The scale of the cubic growth of the rate.
const SCALE: f64 = 0.4;
/// The weight of the newest measurement in the measured rate.
const SMOOTH: f64 = 0.8;
/// The lowest rate at which tokens arrive, a second: one call in two seconds always goes.
const MIN_RATE: f64 = 0.5;
/// The smallest bucket, in tokens: a call must fit in.
const MIN_CAPACITY: f64 = 1.0;
/// The measured rate may at most be doubled in one step.
const MOST_GROWTH: f64 = 2.0;
/// The measured rate is taken over whole half seconds.
const MEASURED_OVER: Span = Span::from_millis(500);
const NANOS_PER_SEC: f64 = 1e9;

/// Calls per second after the last throttled reply: down to 70 % at once, then back along a cubic
/// curve that is flat near the old rate (RFC 9438 gives the curve, the AWS SDKs its constants).
///
/// ```
/// use stagger_core::adaptive::CubicRate;
/// use stagger_core::{Instant, Span};
/// let then = Instant::ORIGIN + Span::from_secs(5);
/// let mut curve = CubicRate::new(10.0, then);
/// assert!((curve.at(then) - 7.0).abs() < 1e-9);
/// assert_eq!(curve.throttle(5.0, then + Span::from_secs(1)), 3.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicRate {
    last_max: f64,
    throttled_at: Instant,
    /// Seconds from the throttled reply until the old rate is reached again.
    window: f64,
}

impl CubicRate {
    /// The curve after a throttled reply at `throttled_at`, when `last_max` calls a second went out.
    ///
    /// Anything that is not above zero, NaN included, is read as zero.
    #[must_use]
    pub fn new(last_max: f64, throttled_at: Instant) -> Self {
        let last_max = last_max.max(0.0);
        Self { last_max, throttled_at, window: cube_root(last_max * (1.0 - BETA) / SCALE) }
    }

    /// The rate on the curve at `now`.
    #[must_use]
    pub fn at(&self, now: Instant) -> f64 {
        let away = seconds(now - self.throttled_at) - self.window;
        SCALE * away * away * away + self.last_max
    }

    /// Starts a new curve from `rate`, because a reply was throttled at `now`; answers the new rate.
    pub fn throttle(&mut self, rate: f64, now: Instant) -> f64 {
        *self = Self::new(rate, now);
        self.last_max * BETA
    }
}

/// Paces calls to the rate at which the backend stops throttling them.
///
/// Until the first throttled reply it measures and delays nobody.
///
/// ```
/// use stagger_core::adaptive::CubicLimiter;
/// use stagger_core::{Instant, Span};
/// let start = Instant::ORIGIN;
/// let mut limiter = CubicLimiter::new(start);
/// assert_eq!(limiter.acquire(start), Span::ZERO);
///
/// let throttled = start + Span::from_secs(2);
/// limiter.settle(throttled, true);
/// assert_eq!(limiter.acquire(throttled), Span::from_secs(2), "half a call a second");
/// assert_eq!(limiter.acquire(throttled), Span::from_secs(4), "in turn, not all at once");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicLimiter {
    curve: CubicRate,
    bucket: CubicBucket,
    measured: MeasuredRate,
    enabled: bool,
}

impl CubicLimiter {
    /// A limiter that has seen nothing.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            curve: CubicRate::new(0.0, now),
            bucket: CubicBucket {
                tokens: 0.0,
                capacity: MIN_CAPACITY,
                rate: MIN_RATE,
                filled: None,
            },
            measured: MeasuredRate { rate: 0.0, calls: 0, period: MeasuredRate::period(now) },
            enabled: false,
        }
    }

    /// Takes a token for a call that asks at `now`, and returns the wait until the call may start.
    ///
    /// Tokens may be owed, so callers that ask at one moment wait in turn. A caller that will not
    /// wait that long gives the token back by [`release`](Self::release).
    #[must_use = "the call must wait that long"]
    pub fn acquire(&mut self, now: Instant) -> Span {
        if self.enabled { self.bucket.take(now) } else { Span::ZERO }
    }

    /// Gives back the token of a call that was not made.
    pub fn release(&mut self) {
        if self.enabled {
            self.bucket.tokens = (self.bucket.tokens + 1.0).min(self.bucket.capacity);
        }
    }

    /// Takes the result of an attempt: whether the backend throttled it.
    pub fn settle(&mut self, now: Instant, throttled: bool) {
        self.measured.count(now);
        let rate = if throttled {
            let rate = self.measured.rate;
            let rate = if self.enabled { rate.min(self.bucket.rate) } else { rate };
            self.enabled = true;
            self.curve.throttle(rate, now)
        } else {
            self.curve.at(now)
        };
        self.bucket.set_rate(now, rate.min(MOST_GROWTH * self.measured.rate));
    }

    /// Calls allowed per second, at least 0.5.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.bucket.rate
    }

    /// Attempts settled per second, smoothed.
    #[must_use]
    pub const fn measured_rate(&self) -> f64 {
        self.measured.rate
    }
}

/// Tokens arriving at a rate that changes; below zero they are owed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CubicBucket {
    tokens: f64,
    capacity: f64,
    rate: f64,
    /// Tokens arrive from the first result on, as in the AWS SDKs: the bucket starts empty.
    filled: Option<Instant>,
}

impl CubicBucket {
    fn take(&mut self, now: Instant) -> Span {
        self.fill(now);
        let missing = 1.0 - self.tokens;
        self.tokens -= 1.0;
        if missing <= 0.0 { Span::ZERO } else { span_of(missing / self.rate) }
    }

    fn set_rate(&mut self, now: Instant, rate: f64) {
        self.fill(now);
        self.rate = rate.max(MIN_RATE);
        self.capacity = rate.max(MIN_CAPACITY);
        self.tokens = self.tokens.min(self.capacity);
    }

    fn fill(&mut self, now: Instant) {
        let last = self.filled.unwrap_or(now);
        self.tokens = (self.tokens + seconds(now - last) * self.rate).min(self.capacity);
        self.filled = Some(last.max(now));
    }
}

/// The measured rate of settled attempts, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MeasuredRate {
    rate: f64,
    calls: u32,
    /// The half second that was measured last, counted from the origin.
    period: u64,
}

impl MeasuredRate {
    const fn period(now: Instant) -> u64 {
        now.as_nanos() / MEASURED_OVER.as_nanos()
    }

    fn count(&mut self, now: Instant) {
        self.calls = self.calls.saturating_add(1);
        let period = Self::period(now);
        if period <= self.period {
            return;
        }
        let seconds = seconds(MEASURED_OVER.saturating_mul(period - self.period));
        self.rate = f64::from(self.calls) / seconds * SMOOTH + self.rate * (1.0 - SMOOTH);
        self.calls = 0;
        self.period = period;
    }
}

/// A span in seconds, to 53 binary digits: exact below 104 days.
#[expect(clippy::cast_precision_loss, reason = "rates need no more digits")]
const fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / NANOS_PER_SEC
}

/// Whole nanoseconds, rounded up; saturating, and zero for NaN.
// OK because float casts saturate, and a wait above 584 years may as well be one of 584.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
#[expect(clippy::cast_precision_loss, reason = "compared with the float it came from")]
const fn span_of(seconds: f64) -> Span {
    let nanos = seconds * NANOS_PER_SEC;
    let whole = nanos as u64;
    Span::from_nanos(if (whole as f64) < nanos { whole.saturating_add(1) } else { whole })
}

/// The cube root of a number that is finite and not negative, by Newton's rule.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return 0.0;
    }
    // A third of the exponent, with the bias made up for, is right within 6 %; each step then
    // doubles the digits, and four pass 1e-15.
    let mut root = f64::from_bits(x.to_bits() / 3 + (1023_u64 << 52) / 3 * 2);
    for _ in 0..5 {
        root -= (root - x / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the standard library is the oracle here")]
    fn cube_roots_are_exact_to_twelve_digits() {
        for exponent in -30..=30 {
            for mantissa in [1.0, 1.3, 2.0, 2.7, 5.0, 8.0, 9.999] {
                let x = mantissa * 10_f64.powi(exponent);
                let error = (cube_root(x) / x.cbrt() - 1.0).abs();
                assert!(error < 1e-12, "{x}: {error}");
            }
        }
        for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(cube_root(x), 0.0, "{x}");
        }
    }

    #[test]
    fn a_clock_set_back_creates_no_tokens() {
        let at = |s| Instant::ORIGIN + Span::from_secs(s);
        let mut limiter = CubicLimiter::new(at(0));
        limiter.settle(at(100), true);
        let first = limiter.acquire(at(100));
        assert!(limiter.acquire(at(0)) > first);
        assert!(limiter.acquire(at(100)) > first, "the same second pays only once");
    }

    #[test]
    fn a_token_given_back_is_there_for_the_next() {
        let at = |s| Instant::ORIGIN + Span::from_secs(s);
        let mut limiter = CubicLimiter::new(at(0));
        limiter.settle(at(2), true);
        let first = limiter.acquire(at(2));
        limiter.release();
        assert_eq!(limiter.acquire(at(2)), first);
    }

    #[test]
    fn the_longest_wait_saturates() {
        assert_eq!(span_of(f64::INFINITY), Span::MAX);
        assert_eq!(span_of(f64::NAN), Span::ZERO);
        assert_eq!(span_of(0.0), Span::ZERO);
        assert_eq!(span_of(1e-10), Span::from_nanos(1));
    }
}
