//! The rate limit of a destination: attempts a second, with a burst, by the generic cell rate algorithm.

use crate::error::ConfigError;
use crate::rate::Rate;
use crate::time::{Instant, Span};

/// The largest burst.
const MAX_BURST: u32 = 1_000_000;

/// The rule of a rate limit: `rate` attempts a second, of which `burst` may start at once.
///
/// In any span of time `t` at most `burst + rate * t` attempts start: it has no windows, at whose edges
/// twice as many could. First attempts and retries count alike.
///
/// ```
/// use stagger_core::{Policy, Rate, rate_limit::RatePlan};
/// let plan = RatePlan::new(Rate::per_second(100), 10)?;
/// let policy = Policy::builder().rate_limit(plan).build()?;
/// assert_eq!(policy.rate_limit().map(RatePlan::burst), Some(10));
/// assert!(RatePlan::new(Rate::ZERO, 1).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatePlan {
    rate: Rate,
    burst: u32,
    max_wait: Span,
}

impl RatePlan {
    /// The longest wait of an attempt by default: enough to smooth a peak of one second.
    pub const DEFAULT_WAIT: Span = Span::from_secs(1);

    /// `rate` attempts a second, and `burst` at once after a quiet time; an attempt waits for its start
    /// for at most a second.
    ///
    /// # Errors
    /// `rate_limit.rate` of zero; `rate_limit.burst` outside 1..=1000000.
    pub fn new(rate: Rate, burst: u32) -> Result<Self, ConfigError> {
        if rate == Rate::ZERO {
            let bound = "above 0, up to 1000000 a second";
            return Err(ConfigError::new("rate_limit.rate", rate, bound));
        }
        if !(1..=MAX_BURST).contains(&burst) {
            return Err(ConfigError::new("rate_limit.burst", burst, "from 1 to 1000000"));
        }
        Ok(Self { rate, burst, max_wait: Self::DEFAULT_WAIT })
    }

    /// The same limit with another longest wait; zero refuses what cannot start immediately.
    #[must_use]
    pub fn with_max_wait(mut self, max_wait: impl Into<Span>) -> Self {
        self.max_wait = max_wait.into();
        self
    }

    /// The attempts a second.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The attempts that may start at once after a quiet time.
    #[must_use]
    pub const fn burst(&self) -> u32 {
        self.burst
    }

    /// The longest wait for a start.
    #[must_use]
    pub const fn max_wait(&self) -> Span {
        self.max_wait
    }

    /// The time between two attempts, rounded up, so that the rate is never exceeded.
    #[must_use]
    pub fn interval(&self) -> Span {
        let nanos = 1_000_000_000_000_000_u64.div_ceil(self.rate.millionths().max(1));
        Span::from_nanos(nanos)
    }
}

/// The start that an attempt was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the attempt starts then, or gives the start back"]
pub struct Reservation {
    /// The start.
    pub start: Instant,
    /// The theoretical arrival time behind it, by which the last reservation is known.
    end: Instant,
}

/// The starts of one destination: the generic cell rate algorithm (ITU-T I.371), in whole nanoseconds.
///
/// ```
/// use stagger_core::{Instant, Rate, Span, rate_limit::{RateLimiter, RatePlan}};
/// let mut limiter = RateLimiter::new(RatePlan::new(Rate::per_second(10), 2)?);
/// let now = Instant::ORIGIN + Span::from_secs(9);
/// let mut start = |longest| limiter.reserve(now, longest).map(|given| given.start - now);
/// assert_eq!(start(Span::ZERO), Some(Span::ZERO));
/// assert_eq!(start(Span::ZERO), Some(Span::ZERO), "a burst of two");
/// assert_eq!(start(Span::ZERO), None, "the third has to wait");
/// assert_eq!(start(Span::from_secs(1)), Some(Span::from_millis(100)));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RateLimiter {
    plan: RatePlan,
    interval: Span,
    /// The time that a burst may run ahead.
    tolerance: Span,
    /// The theoretical arrival time of the next attempt.
    next: Instant,
}

impl RateLimiter {
    /// A limiter after a quiet time.
    #[must_use]
    pub fn new(plan: RatePlan) -> Self {
        let interval = plan.interval();
        let tolerance = interval.saturating_mul(u64::from(plan.burst - 1));
        Self { plan, interval, tolerance, next: Instant::ORIGIN }
    }

    /// Gives an attempt its start, after at most `longest` and the plan's own longest wait; `None` if
    /// there is none that soon, and then nothing is taken.
    pub fn reserve(&mut self, now: Instant, longest: Span) -> Option<Reservation> {
        let wait = (self.next - now) - self.tolerance;
        if wait > longest.min(self.plan.max_wait) {
            return None;
        }
        self.next = self.next.max(now) + self.interval;
        Some(Reservation { start: now + wait, end: self.next })
    }

    /// No attempt followed: the start is given to the next one, if none was given a later start. An
    /// earlier start stays lost, so that two attempts never have the same.
    pub fn give_back(&mut self, reservation: Reservation) {
        if reservation.end == self.next {
            self.next = Instant::ORIGIN + ((self.next - Instant::ORIGIN) - self.interval);
        }
    }
}
