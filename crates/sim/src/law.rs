//! The laws that the lab compares, by the names that it prints.

use std::fmt;

use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, ConfigError, Jitter, Policy, Ratio, Span};

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
