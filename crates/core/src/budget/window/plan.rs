//! The rule of a windowed ratio: what is earned, what is spent, and when a retry is granted.

use crate::{ConfigError, Entropy, Rate, Ratio, Span};

/// Slots of a window: old counts leave in steps of a tenth, and the state stays at two cache lines.
pub(super) const SLOTS: usize = 10;
/// Shortest and longest window, Finagle's bounds: below a second one pause of the process empties
/// it, above a minute it answers for an outage that is long over.
const MIN_WINDOW: Span = Span::from_secs(1);
const MAX_WINDOW: Span = Span::from_secs(60);
/// Ten retries a call for ever: more is no budget. Keeps the sums below within 64 bits.
const MAX_RATIO: Ratio = Ratio::from_ppm(10 * Ratio::SCALE);
/// The largest burst: more than one destination gets from one process at once.
const MAX_BURST: u32 = 1_000_000;
/// The retries in hand at rest: those of one call of the default policy, so that a lone failing call
/// never meets an empty budget.
const BURST: u32 = 2;
/// A policy of more attempts has as many in hand as one call makes, up to here: the waits before
/// later retries are long enough for the floor to earn them.
const MOST_BURST: u32 = 10;
/// One retry in twenty seconds. The floors of all processes that call one destination add up: those
/// of a thousand are 50 retries a second.
const FLOOR: FloorRate = FloorRate::Add(Rate::once_every(Span::from_secs(20)));
/// A retry, in the parts per million in which allowances are compared.
pub(super) const RETRY: u64 = Ratio::SCALE as u64;

/// Each first attempt earns `ratio` of a retry, and each second `floor` retries.
///
/// A retry spends the oldest earnings. Earnings that are not spent within the window expire, so
/// that a budget never holds more than the last window earned, or `burst` where that is more. A
/// grant needs one whole retry in hand.
///
/// - Over any time, grants are at most `ratio * first attempts + floor * time` of that time, plus
///   what was in hand when it began.
/// - Spent earnings do not come back. In a steady outage, grants are as even as the first attempts:
///   processes that notice an outage together do not retry in step for its whole length.
///
/// The base is *first* attempts in a time window, not calls in flight: with those, every settled
/// call would shrink the base that its own retry is measured by. The share is exact in parts per
/// million. Earnings expire, and the floor is earned, in steps of a tenth of the window.
///
/// ```
/// use stagger_core::budget::{FloorRate, WindowPlan};
/// use stagger_core::{Rate, Ratio, Span};
/// let plan = WindowPlan::new(Ratio::from_percent(20))?
///     .with_window(Span::from_secs(30))?
///     .with_floor(FloorRate::Add(Rate::ZERO));
/// assert_eq!(plan.window(), Span::from_secs(30));
/// assert_eq!(plan.burst(), 0, "nothing but the share");
/// assert!(plan.with_window(Span::from_secs(61)).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPlan {
    pub(super) ratio: Ratio,
    window: Span,
    pub(super) floor: FloorRate,
    /// `None` for the default of the floor.
    burst: Option<u32>,
    /// `None` where each budget may have its own.
    phase: Option<Ratio>,
    /// The length of a slot in nanoseconds, from `window`.
    slot: u64,
    /// The retries in hand without first attempts, in millionths: `burst` or `floor * window`.
    pub(super) reserve: u64,
    /// The floor's earnings per slot, in millionths.
    pub(super) slot_floor: u64,
}

impl WindowPlan {
    /// The slots of a window.
    pub const SLOTS: usize = SLOTS;

    const DEFAULT: Self = Self {
        ratio: Ratio::from_percent(10),
        window: Span::from_secs(10),
        floor: FLOOR,
        burst: None,
        phase: None,
        slot: 0,
        reserve: 0,
        slot_floor: 0,
    }
    .derive();

    /// A budget of `ratio` of the first attempts in 10 s, plus one retry in 20 s, with 2 retries in
    /// hand at rest.
    ///
    /// # Errors
    /// `budget.ratio` above 1000 %.
    pub fn new(ratio: Ratio) -> Result<Self, ConfigError> {
        if ratio > MAX_RATIO {
            return Err(ConfigError::new("budget.ratio", ratio.as_f64(), "at most 10 (1000 %)"));
        }
        Ok(Self { ratio, ..Self::DEFAULT }.derive())
    }

    /// The same share over another window, default 10 s.
    ///
    /// # Errors
    /// `budget.window` outside 1 s..=60 s.
    pub fn with_window(self, window: impl Into<Span>) -> Result<Self, ConfigError> {
        let window = window.into();
        if !(MIN_WINDOW..=MAX_WINDOW).contains(&window) {
            return Err(ConfigError::new("budget.window", window, "from 1s to 60s"));
        }
        Ok(Self { window, ..self }.derive())
    }

    /// The same share with another floor, default [`FloorRate::Add`] of one retry in 20 s.
    #[must_use]
    pub const fn with_floor(self, floor: FloorRate) -> Self {
        Self { floor, ..self }.derive()
    }

    /// The same share with at least so many retries in hand at rest. Default: those of one call
    /// under the policy that the plan is built into, from 2 to 10; 0 without a floor.
    ///
    /// # Errors
    /// `budget.burst` above 1000000.
    pub fn with_burst(self, burst: u32) -> Result<Self, ConfigError> {
        if burst > MAX_BURST {
            return Err(ConfigError::new("budget.burst", burst, "at most 1000000"));
        }
        Ok(Self { burst: Some(burst), ..self }.derive())
    }

    /// The same plan for budgets that hold this part of a retry, below one, besides what they earn.
    ///
    /// Processes with equal traffic earn whole retries at the same moments. Where the plan has no
    /// phase, a ledger [draws](Self::in_random_phase) one for each budget, so that a fleet's retries
    /// are spread.
    #[must_use]
    pub const fn with_phase(self, phase: Ratio) -> Self {
        let part = Ratio::from_ppm(phase.ppm() % Ratio::SCALE);
        Self { phase: Some(part), ..self }.derive()
    }

    /// The same plan with a random phase, unless it has one, or no floor: without a floor, grants
    /// never exceed the share.
    #[must_use]
    pub fn in_random_phase(self, entropy: &mut dyn Entropy) -> Self {
        if self.phase.is_some() || self.floor.rate() == Rate::ZERO {
            return self;
        }
        let part = entropy.next_u64() % u64::from(Ratio::SCALE);
        // OK because the remainder is below a million.
        #[expect(clippy::cast_possible_truncation, reason = "below a million")]
        self.with_phase(Ratio::from_ppm(part as u32))
    }

    /// The plan of a policy of so many attempts: unless a burst was set, a lone call has all of its
    /// retries in hand.
    pub(crate) fn for_attempts(self, attempts: Option<u32>) -> Self {
        let retries =
            attempts.map_or(MOST_BURST, |attempts| attempts.saturating_sub(1).min(MOST_BURST));
        let more = u64::from(retries) * RETRY > self.reserve;
        let raises = more && self.burst.is_none() && self.burst() > 0;
        if raises {
            return Self { burst: Some(retries), ..self }.derive();
        }
        self
    }

    /// The share of first attempts that may be retried.
    #[must_use]
    pub const fn ratio(&self) -> Ratio {
        self.ratio
    }

    /// The length of the window.
    #[must_use]
    pub const fn window(&self) -> Span {
        self.window
    }

    /// The retries that time earns besides the share.
    #[must_use]
    pub const fn floor(&self) -> FloorRate {
        self.floor
    }

    /// The least number of retries in hand at rest; the window's floor may hold more.
    #[must_use]
    pub const fn burst(&self) -> u32 {
        match self.burst {
            Some(burst) => burst,
            None if self.floor.rate().millionths() == 0 => 0,
            None => BURST,
        }
    }

    /// The burst that was set, where it was.
    #[cfg(feature = "serde")]
    pub(crate) const fn own_burst(&self) -> Option<u32> {
        self.burst
    }

    /// The length of a slot: the window moves by this much at a time.
    #[must_use]
    pub const fn slot(&self) -> Span {
        Span::from_nanos(self.slot)
    }

    /// The floor's earnings per slot, in millionths of a retry.
    #[must_use]
    pub const fn slot_floor(&self) -> u64 {
        self.slot_floor
    }

    /// The retries in hand at rest, in millionths.
    #[must_use]
    pub const fn reserve(&self) -> u64 {
        self.reserve
    }

    /// The plan with what follows from its settings.
    const fn derive(self) -> Self {
        let earned = self.floor.rate().over(self.window);
        // OK because u64 holds every u32; `From` is not const.
        let held = self.burst() as u64 * RETRY;
        let phase = match self.phase {
            Some(phase) => phase.ppm() as u64,
            None => 0,
        };
        Self {
            slot: self.window.as_nanos().div_ceil(SLOTS as u64),
            reserve: if held > earned { held + phase } else { earned + phase },
            slot_floor: earned / SLOTS as u64,
            ..self
        }
    }
}

impl Default for WindowPlan {
    /// 10 % of the first attempts of the last 10 s, plus one retry in 20 s, with 2 retries in hand at
    /// rest.
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The retries that time earns, for destinations with little traffic.
///
/// Without a floor, a destination with two calls a minute would never see a retry
/// (envoyproxy/envoy pull request 9069).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloorRate {
    /// Earned on top of the share (Finagle).
    Add(Rate),
    /// Earned where it is more than the share (Envoy).
    AtLeast(Rate),
}

impl FloorRate {
    /// The retries a second.
    #[must_use]
    pub const fn rate(self) -> Rate {
        match self {
            Self::Add(rate) | Self::AtLeast(rate) => rate,
        }
    }
}
