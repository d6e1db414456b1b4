//! The laws of delays: the engine's own by name, and those of other clients.

use std::fmt;

use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, ConfigError, Entropy, Jitter, Policy, Ratio, Span};

use crate::dist::{gaussian, open_unit};
use crate::streams::RandomStream;

/// A way to come back after a failure.
///
/// ```
/// use stagger_sim::Law;
/// assert_eq!(Law::DecorrelatedClamped.to_string(), "decorrelated-clamped");
/// assert_eq!(Law::named("full"), Some(Law::Full));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// One attempt, and never another.
    NoRetry,
    /// The base delay every time, without jitter.
    Fixed,
    /// Exponential without jitter.
    None,
    /// Exponential with equal jitter.
    Equal,
    /// Exponential with full jitter: the engine's default.
    Full,
    /// Decorrelated, bounded inside the draw.
    Decorrelated,
    /// Decorrelated as published in 2015, clamped after the draw.
    DecorrelatedClamped,
    /// Exponential, a fifth more or less: gRPC's jitter.
    Symmetric,
    /// A normal distribution around half the ceiling, clamped at zero; not in the engine.
    Gaussian,
    /// Polly's second law, spread over octaves; not in the engine.
    Octave,
}

/// The numbers that all laws of one comparison share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The first ceiling, and the lower bound of the decorrelated laws.
    pub base: Span,
    /// The bound of every ceiling.
    pub cap: Span,
    /// Attempts a call may make in all, the first included.
    pub attempts: u32,
}

impl Default for Schedule {
    /// 100 ms doubling to 10 s, six attempts: the values of the reference tables.
    fn default() -> Self {
        Self { base: Span::from_millis(100), cap: Span::from_secs(10), attempts: 6 }
    }
}

impl Schedule {
    /// Names and values for a caption.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        let mut all = vec![("base", self.base.to_string()), ("cap", self.cap.to_string())];
        if self.attempts < u32::MAX {
            all.push(("attempts", self.attempts.to_string()));
        }
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Law {
    /// Every law, in the order of the reports.
    pub const ALL: [Self; 10] = [
        Self::NoRetry,
        Self::Fixed,
        Self::None,
        Self::Equal,
        Self::Full,
        Self::Decorrelated,
        Self::DecorrelatedClamped,
        Self::Symmetric,
        Self::Gaussian,
        Self::Octave,
    ];

    /// The law's name in reports and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRetry => "no-retry",
            Self::Fixed => "fixed",
            Self::None => Jitter::None.name(),
            Self::Equal => Jitter::Equal.name(),
            Self::Full => Jitter::Full.name(),
            Self::Decorrelated => Jitter::Decorrelated.name(),
            Self::DecorrelatedClamped => Jitter::DecorrelatedClamped.name(),
            Self::Symmetric => Jitter::Symmetric(Ratio::ZERO).name(),
            Self::Gaussian => "gaussian",
            Self::Octave => "octave",
        }
    }

    /// The law of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|law| law.name() == name)
    }

    /// The engine's delay rule of this law.
    ///
    /// # Errors
    /// A cap below the base.
    pub fn backoff(self, schedule: &Schedule) -> Result<Backoff, ConfigError> {
        let growing = Backoff::exponential(schedule.base, schedule.cap)?;
        match self {
            Self::Fixed => Backoff::constant(schedule.base).with_jitter(Jitter::None),
            Self::NoRetry | Self::None => growing.with_jitter(Jitter::None),
            Self::Equal => growing.with_jitter(Jitter::Equal),
            Self::Full => growing.with_jitter(Jitter::Full),
            Self::Decorrelated => growing.with_jitter(Jitter::Decorrelated),
            Self::DecorrelatedClamped => growing.with_jitter(Jitter::DecorrelatedClamped),
            Self::Symmetric => growing.with_jitter(Jitter::Symmetric(Ratio::from_percent(20))),
            // The engine is given no delay, and the lab waits the foreign one.
            Self::Gaussian | Self::Octave => {
                Backoff::constant(Span::ZERO).with_jitter(Jitter::None)
            }
        }
    }

    /// The engine's policy of this law, without a budget: the lab shows what delays alone do.
    ///
    /// # Errors
    /// A cap below the base, or zero attempts.
    pub fn policy(self, schedule: &Schedule) -> Result<Policy, ConfigError> {
        let attempts = if self == Self::NoRetry { 1 } else { schedule.attempts };
        Policy::builder()
            .backoff(self.backoff(schedule)?)
            .max_attempts(attempts)
            .budget(BudgetPlan::Unlimited)
            .build()
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Delay laws of others, here to be measured and not in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// A normal distribution around half the ceiling with a quarter of it as deviation, clamped at
    /// zero.
    Gaussian(Schedule),
    /// Polly's second law: values of a smooth curve over octaves, one after the other subtracted.
    Octave(Schedule),
}

impl Foreign {
    /// The law, if the engine does not offer it.
    pub(crate) const fn of(law: Law, schedule: &Schedule) -> Option<Self> {
        match law {
            Law::Gaussian => Some(Self::Gaussian(*schedule)),
            Law::Octave => Some(Self::Octave(*schedule)),
            _ => None,
        }
    }

    /// The delay of retry `k` of this caller, `k` from 1; none for a wait before the first attempt.
    pub(crate) fn delay(&self, delays: &RandomStream, id: u32, k: u32) -> Span {
        if k == 0 {
            return Span::ZERO;
        }
        match self {
            Self::Gaussian(schedule) => {
                let ceiling = ceiling(schedule, k).as_nanos();
                let (mean, sd) = (Span::from_nanos(ceiling / 2), Span::from_nanos(ceiling / 4));
                gaussian(mean, sd, &mut delays.at(id, k))
            }
            Self::Octave(schedule) => octave(schedule, |n| delays.at(id, n + 1), k),
        }
    }
}

fn ceiling(schedule: &Schedule, k: u32) -> Span {
    let doubled = 1_u64.checked_shl(k.saturating_sub(1)).unwrap_or(u64::MAX);
    schedule.base.saturating_mul(doubled).min(schedule.cap)
}

/// `DecorrelatedJitterBackoffV2` of Polly.Contrib.WaitAndRetry: the retry of octave `n` comes at
/// `base / 1.4 * 2^(n + u) * tanh(sqrt(4 (n + u)))` after the first failure, with a `u` of its own.
/// So that consecutive octaves do not overlap, delays are differences of those instants.
fn octave<E: Entropy>(schedule: &Schedule, draw: impl Fn(u32) -> E, k: u32) -> Span {
    let instant = |n: u32| {
        let t = f64::from(n) + open_unit(draw(n).next_u64());
        libm::exp2(t) * libm::tanh(libm::sqrt(4.0 * t))
    };
    let after = instant(k - 1) - if k > 1 { instant(k - 2) } else { 0.0 };
    let Schedule { base, cap, .. } = schedule;
    Span::from_nanos(nanos(after * base_over(1.4, *base))).min(*cap)
}

#[expect(clippy::cast_precision_loss, reason = "a model's parameter")]
fn base_over(divisor: f64, base: Span) -> f64 {
    base.as_nanos() as f64 / divisor
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
const fn nanos(value: f64) -> u64 {
    // OK because a cast from float to integer saturates, and a negative delay is none.
    value as u64
}
