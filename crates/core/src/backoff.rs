//! The delay before retry k: an envelope, a cap, and a jitter law.

use core::fmt;

use crate::entropy::Entropy;
use crate::error::ConfigError;
use crate::factor::Factor;
use crate::jitter::Jitter;
use crate::time::Span;

/// The bound that grows with the retry number, before jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Envelope {
    /// `min(cap, base)` for every retry.
    Constant,
    /// `min(cap, base * k)`.
    Linear,
    /// `min(cap, base * factor^(k-1))`.
    Exponential(Factor),
}

impl fmt::Display for Envelope {
    /// As a policy text names it: `constant`, `linear`, `exponential with factor 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Linear => f.write_str("linear"),
            Self::Exponential(factor) => write!(f, "exponential with factor {factor}"),
        }
    }
}

/// The multiple of the previous delay that the next decorrelated delay may reach: the formula's 3.
const DECORRELATED_GROWTH: u64 = 3;

/// A delay rule: immutable, validated, without state.
///
/// The state of one call (its retry number and previous delay) belongs to the call, so one rule can
/// serve every caller at once. No method panics or overflows, for any retry number.
///
/// ```
/// use stagger_core::{Backoff, Jitter, Span};
/// let rule = Backoff::exponential(Span::from_millis(100), Span::from_secs(10))?;
/// assert_eq!(rule.ceiling(1), Span::from_millis(100));
/// assert_eq!(rule.ceiling(4), Span::from_millis(800));
/// assert_eq!(rule.ceiling(u32::MAX), Span::from_secs(10));
///
/// let mut lowest = || 0;
/// let equal = rule.with_jitter(Jitter::Equal)?;
/// assert_eq!(equal.delay(4, rule.base(), &mut lowest), Span::from_millis(400));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backoff {
    envelope: Envelope,
    base: Span,
    cap: Span,
    jitter: Jitter,
}

impl Backoff {
    /// Ceilings `base, 2*base, 4*base, ...` up to `cap`, with full jitter.
    ///
    /// # Errors
    /// `cap` below `base`. A `base` of zero is refused later, by a policy without an attempt limit.
    pub fn exponential(base: impl Into<Span>, cap: impl Into<Span>) -> Result<Self, ConfigError> {
        Self::new(Envelope::Exponential(Factor::TWO), base, cap)
    }

    /// Ceilings `base, 2*base, 3*base, ...` up to `cap`, with full jitter.
    ///
    /// # Errors
    /// `cap` below `base`.
    pub fn linear(base: impl Into<Span>, cap: impl Into<Span>) -> Result<Self, ConfigError> {
        Self::new(Envelope::Linear, base, cap)
    }

    /// The same ceiling for every retry, with full jitter.
    #[must_use]
    pub fn constant(base: impl Into<Span>) -> Self {
        let base = base.into();
        Self { envelope: Envelope::Constant, base, cap: base, jitter: Jitter::Full }
    }

    /// A rule of this envelope with full jitter.
    ///
    /// # Errors
    /// `cap` below `base`.
    pub fn new(
        envelope: Envelope,
        base: impl Into<Span>,
        cap: impl Into<Span>,
    ) -> Result<Self, ConfigError> {
        let (base, cap) = (base.into(), cap.into());
        if cap < base {
            let bound = alloc::format!("at least backoff.base ({base})");
            return Err(ConfigError::new("backoff.cap", cap, bound));
        }
        Ok(Self { envelope, base, cap, jitter: Jitter::Full })
    }

    /// The same rule with another jitter law. Default: full.
    ///
    /// # Errors
    /// A proportional or symmetric ratio above 1; a decorrelated law on an envelope other than the
    /// doubling one, because these laws grow from the previous delay and would ignore it.
    pub fn with_jitter(self, jitter: Jitter) -> Result<Self, ConfigError> {
        Self { jitter: jitter.check()?, ..self }.check_envelope()
    }

    /// The same rule with another growth factor, from 1 to 1 000 000. Default: 2.
    ///
    /// # Errors
    /// NaN, infinity, a factor out of range, or an envelope that is not exponential.
    pub fn with_factor(self, factor: f64) -> Result<Self, ConfigError> {
        let factor = Factor::try_from(factor).map_err(|e| e.at("backoff.factor"))?;
        if !matches!(self.envelope, Envelope::Exponential(_)) {
            return Err(ConfigError::new(
                "backoff.factor",
                factor,
                "left out unless the envelope is exponential",
            ));
        }
        Self { envelope: Envelope::Exponential(factor), ..self }.check_envelope()
    }

    /// The first ceiling.
    #[must_use]
    pub const fn base(&self) -> Span {
        self.base
    }

    /// The bound of every ceiling.
    #[must_use]
    pub const fn cap(&self) -> Span {
        self.cap
    }

    /// The bound that grows with the retry number.
    #[must_use]
    pub const fn envelope(&self) -> Envelope {
        self.envelope
    }

    /// The jitter law.
    #[must_use]
    pub const fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// The ceiling of retry `k`, counted from 1 (0 is read as 1); never above the cap.
    #[must_use]
    #[inline]
    pub fn ceiling(&self, k: u32) -> Span {
        let k = k.max(1);
        let grown = match self.envelope {
            Envelope::Constant => self.base,
            Envelope::Linear => self.base.saturating_mul(u64::from(k)),
            Envelope::Exponential(factor) => {
                Span::from_nanos(factor.grow(self.base.as_nanos(), k - 1))
            }
        };
        grown.min(self.cap)
    }

    /// Draws the delay before retry `k`, whose previous delay was `prev` (the base before retry 1).
    ///
    /// Takes one word, or none for [`Jitter::None`].
    #[must_use]
    #[inline]
    pub fn delay(&self, k: u32, prev: Span, entropy: &mut impl Entropy) -> Span {
        // A call may change rules between retries; a previous delay below this rule's base would
        // close the range, and every caller would wait exactly the base.
        let grown = || prev.max(self.base).saturating_mul(DECORRELATED_GROWTH);
        match self.jitter {
            Jitter::None => self.ceiling(k),
            Jitter::Full => entropy.draw(Span::ZERO, self.ceiling(k)),
            Jitter::Decorrelated => entropy.draw(self.base, grown().min(self.cap)),
            Jitter::DecorrelatedClamped => entropy.draw(self.base, grown()).min(self.cap),
            Jitter::Equal | Jitter::Proportional(_) | Jitter::Symmetric(_) => {
                let (lo, hi) = self.range(k);
                entropy.draw(lo, hi)
            }
        }
    }

    /// The shortest and the longest delay before retry `k`.
    ///
    /// For the decorrelated laws the longest is what a run of longest draws reaches.
    ///
    /// ```
    /// use stagger_core::{Backoff, Span};
    /// let rule = Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?;
    /// assert_eq!(rule.range(3), (Span::ZERO, Span::from_secs(4)));
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    #[must_use]
    pub fn range(&self, k: u32) -> (Span, Span) {
        let c = self.ceiling(k);
        match self.jitter {
            Jitter::None => (c, c),
            Jitter::Full => (Span::ZERO, c),
            Jitter::Equal => (c - Span::from_nanos(c.as_nanos() / 2), c),
            Jitter::Decorrelated | Jitter::DecorrelatedClamped => {
                (self.base, self.longest_decorrelated(k))
            }
            Jitter::Proportional(r) => (c - r.of_span(c), c),
            Jitter::Symmetric(r) => (c - r.of_span(c), c + r.of_span(c)),
        }
    }

    fn longest_decorrelated(&self, k: u32) -> Span {
        let threes = DECORRELATED_GROWTH.saturating_pow(k.max(1));
        self.base.saturating_mul(threes).min(self.cap)
    }

    fn check_envelope(self) -> Result<Self, ConfigError> {
        let plain = matches!(self.envelope, Envelope::Exponential(factor) if factor == Factor::TWO);
        if self.jitter.is_decorrelated() && !plain {
            let bound =
                "exponential with factor 2 under a decorrelated jitter, which takes no other";
            return Err(ConfigError::new(
                "backoff.envelope",
                alloc::format!("{:?}", self.envelope),
                bound,
            ));
        }
        Ok(self)
    }
}

impl Default for Backoff {
    /// 100 ms doubling up to 10 s with full jitter: short enough for a caller who waits, and three
    /// retries already cover an outage of half a second.
    fn default() -> Self {
        let envelope = Envelope::Exponential(Factor::TWO);
        Self {
            envelope,
            base: Span::from_millis(100),
            cap: Span::from_secs(10),
            jitter: Jitter::Full,
        }
    }
}
