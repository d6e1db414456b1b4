//! Client-side throttling: refuse here what the backend would refuse anyway.

use crate::entropy::Entropy;
use crate::error::ConfigError;
use crate::ratio::Ratio;
use crate::slots::{SlotCounts, Slots};
use crate::time::{Instant, Span};

/// Shortest window: below it a slot is shorter than a call takes.
const MIN_WINDOW: Span = Span::from_millis(10);
/// Largest multiplier: above it, ninety-nine calls in a hundred may fail before one is refused.
const MAX_MULTIPLIER: Ratio = Ratio::from_percent(10_000);

/// The plan of client-side throttling: the tolerated failures and the window over which they count.
///
/// The default is that of "Site Reliability Engineering" (2016), chapter 21: K = 2, two minutes.
///
/// ```
/// use stagger_core::adaptive::ClientThrottlePlan;
/// use stagger_core::{Ratio, Span};
/// let eager = ClientThrottlePlan::new(Ratio::from_percent(110), Span::from_secs(60))?;
/// assert_ne!(eager, ClientThrottlePlan::default());
/// assert!(ClientThrottlePlan::new(Ratio::from_percent(99), Span::from_secs(60)).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientThrottlePlan {
    multiplier: Ratio,
    window: Span,
}

impl ClientThrottlePlan {
    /// Refuses the share max(0, (requests - multiplier * accepts) / (requests + 1)) of the window.
    ///
    /// # Errors
    /// `adaptive.throttle.multiplier` not from 1 to 100: below 1, calls would be refused though none fails.
    /// `adaptive.throttle.window` below 10 ms.
    pub fn new(multiplier: Ratio, window: impl Into<Span>) -> Result<Self, ConfigError> {
        let window = window.into();
        if !(Ratio::ONE..=MAX_MULTIPLIER).contains(&multiplier) {
            return Err(ConfigError::new(
                "adaptive.throttle.multiplier",
                multiplier,
                "from 100% to 10000%",
            ));
        }
        if window < MIN_WINDOW {
            return Err(ConfigError::new("adaptive.throttle.window", window, "at least 10ms"));
        }
        Ok(Self { multiplier, window })
    }

    /// The requests that are let through for each one that is accepted: K in the formula.
    #[must_use]
    pub const fn multiplier(&self) -> Ratio {
        self.multiplier
    }

    /// The time for which requests and accepts count.
    #[must_use]
    pub const fn window(&self) -> Span {
        self.window
    }
}

impl Default for ClientThrottlePlan {
    fn default() -> Self {
        Self { multiplier: Ratio::from_percent(200), window: Span::from_secs(120) }
    }
}

/// The requests that callers made and the backend accepted lately, and the share refused for it.
///
/// ```
/// use stagger_core::adaptive::{ClientThrottle, ClientThrottlePlan};
/// use stagger_core::{Instant, Ratio};
/// let mut throttle = ClientThrottle::new(ClientThrottlePlan::default());
/// let (now, mut high) = (Instant::ORIGIN, || u64::MAX);
/// for _ in 0..9 {
///     assert!(throttle.admit(now, &mut high), "a high word passes below 100 %");
/// }
/// assert_eq!(throttle.refused_share(now), Ratio::from_percent(90), "nine requests, no accept");
/// ```
#[derive(Clone, Debug)]
pub struct ClientThrottle {
    plan: ClientThrottlePlan,
    seen: Slots<AdmissionCounts>,
}

impl ClientThrottle {
    /// Nothing seen yet, so nothing refused.
    #[must_use]
    pub fn new(plan: ClientThrottlePlan) -> Self {
        Self { plan, seen: Slots::new(plan.window) }
    }

    /// Counts a request and says whether it may go out; takes one word of `entropy`.
    ///
    /// Refused requests count as requests too, so the share keeps growing while nothing is accepted.
    #[must_use]
    pub fn admit<E: Entropy>(&mut self, now: Instant, entropy: &mut E) -> bool {
        let (excess, whole) = self.plan.share(self.seen.sum(now));
        self.seen.record(now, AdmissionCounts { requests: 1, accepts: 0 });
        // The word scaled to 0..whole, by the high half of the product as in `Entropy::draw`.
        // OK because a window holds fewer than 2^32 requests, so `whole` is below 2^53.
        let drawn = (u128::from(entropy.next_u64()) * u128::from(whole)) >> 64;
        drawn >= u128::from(excess)
    }

    /// The backend took a request that was admitted: it answered, be it with an error of the
    /// caller's. A refusal, an overload or no answer is no accept.
    pub fn accept(&mut self, now: Instant) {
        self.seen.record(now, AdmissionCounts { requests: 0, accepts: 1 });
    }

    /// An admitted request was not made, or its caller gave up: it counts no more.
    pub fn forget(&mut self, now: Instant) {
        self.seen.take_back(now, AdmissionCounts { requests: 1, accepts: 0 });
    }

    /// The share of requests refused at `now`, rounded down to a part per million.
    #[must_use]
    pub fn refused_share(&self, now: Instant) -> Ratio {
        let (excess, whole) = self.plan.share(self.seen.sum(now));
        let ppm = u128::from(excess) * u128::from(Ratio::SCALE) / u128::from(whole);
        Ratio::from_ppm(u32::try_from(ppm).unwrap_or(Ratio::SCALE))
    }
}

impl ClientThrottlePlan {
    /// The refused share as a fraction: requests - K * accepts over requests + 1, both times SCALE.
    fn share(&self, seen: AdmissionCounts) -> (u64, u64) {
        let requests = u64::from(seen.requests) * u64::from(Ratio::SCALE);
        let taken = u64::from(self.multiplier.ppm()).saturating_mul(u64::from(seen.accepts));
        (requests.saturating_sub(taken), requests + u64::from(Ratio::SCALE))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct AdmissionCounts {
    requests: u32,
    accepts: u32,
}

impl SlotCounts for AdmissionCounts {
    fn add(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.accepts = self.accepts.saturating_add(other.accepts);
    }

    fn remove(&mut self, other: Self) {
        self.requests = self.requests.saturating_sub(other.requests);
        self.accepts = self.accepts.saturating_sub(other.accepts);
    }
}
