//! Jitter laws: how a delay is drawn below, or around, its ceiling.

use core::fmt;
use core::str::FromStr;

use crate::error::ConfigError;
use crate::ratio::Ratio;

/// The law by which a delay is drawn from its ceiling `c`.
///
/// All but two laws draw downward from the capped ceiling, so the cap holds and callers stay spread
/// at it. Means and minima are for one delay.
///
/// | law | delay | mean |
/// | --- | --- | --- |
/// | [`None`](Jitter::None) | `c` | `c` |
/// | [`Full`](Jitter::Full) | `U[0, c]` | `c/2` |
/// | [`Equal`](Jitter::Equal) | `c/2 + U[0, c/2]` | `3c/4` |
/// | [`Decorrelated`](Jitter::Decorrelated) | `U[base, min(cap, 3*prev)]` | grows to about `cap/3` |
/// | [`DecorrelatedClamped`](Jitter::DecorrelatedClamped) | `min(cap, U[base, 3*prev])` | a third of a long-failing fleet sits on the cap |
/// | [`Proportional`](Jitter::Proportional) | `U[c*(1-r), c]` | `c*(1-r/2)` |
/// | [`Symmetric`](Jitter::Symmetric) | `c * U[1-r, 1+r]` | `c`; may exceed the cap by `r` |
///
/// As text a law is its name, and one with a share has it behind a colon:
///
/// ```
/// use stagger_core::{Jitter, Ratio};
/// assert_eq!("full".parse(), Ok(Jitter::Full));
/// assert_eq!(Jitter::Symmetric(Ratio::from_percent(20)).to_string(), "symmetric:0.2");
/// ```
///
/// Full, equal and clamped decorrelated jitter are Marc Brooker's, "Exponential Backoff And Jitter"
/// (AWS Architecture Blog, 2015); symmetric is gRPC's (gRFC A6, as amended in 2024).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Jitter {
    /// The ceiling itself. Callers that failed together come back together.
    None,
    /// Anything from nothing to the ceiling: the best spread, and no minimum.
    #[default]
    Full,
    /// Half the ceiling and up to as much again: keeps a minimum at half the spread.
    Equal,
    /// Grows from the previous delay; bounded inside the draw, so nothing piles up on the cap.
    Decorrelated,
    /// The 2015 formula, kept for comparison: clamped after the draw, so delays pile up on the cap.
    DecorrelatedClamped,
    /// The ceiling less up to the share `r` of it.
    Proportional(Ratio),
    /// The ceiling plus or minus the share `r` of it: the only law that may exceed the cap.
    Symmetric(Ratio),
}

/// The form of a law as text.
const FORM: &str = "none, full, equal, decorrelated, decorrelated-clamped, proportional:R or \
                    symmetric:R, with R from 0 to 1";

impl Jitter {
    /// The laws that have no share of their own.
    pub const SHARELESS: [Self; 5] =
        [Self::None, Self::Full, Self::Equal, Self::Decorrelated, Self::DecorrelatedClamped];

    /// The name of the law, without its share.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Full => "full",
            Self::Equal => "equal",
            Self::Decorrelated => "decorrelated",
            Self::DecorrelatedClamped => "decorrelated-clamped",
            Self::Proportional(_) => "proportional",
            Self::Symmetric(_) => "symmetric",
        }
    }

    /// # Errors
    /// A ratio above 1 would make negative delays.
    pub(crate) fn check(self) -> Result<Self, ConfigError> {
        match self {
            Self::Proportional(r) | Self::Symmetric(r) if r > Ratio::ONE => {
                Err(ConfigError::new("backoff.jitter", r, "a ratio from 0 to 1"))
            }
            law => Ok(law),
        }
    }

    /// The random share of a delay at its ceiling; of a decorrelated one at the cap, for a base of nothing.
    ///
    /// ```
    /// use stagger_core::{Jitter, Ratio};
    /// assert_eq!(Jitter::Equal.random_share(), Ratio::from_percent(50));
    /// assert_eq!(Jitter::Symmetric(Ratio::from_percent(20)).random_share(), Ratio::from_percent(40));
    /// ```
    #[must_use]
    pub const fn random_share(self) -> Ratio {
        match self {
            Self::None => Ratio::ZERO,
            Self::Full | Self::Decorrelated | Self::DecorrelatedClamped => Ratio::ONE,
            Self::Equal => Ratio::from_percent(50),
            Self::Proportional(r) => r,
            Self::Symmetric(r) => Ratio::from_ppm(r.ppm().saturating_mul(2)),
        }
    }

    /// Whether the law draws from the previous delay and the base, and so ignores the envelope.
    #[must_use]
    pub const fn is_decorrelated(self) -> bool {
        matches!(self, Self::Decorrelated | Self::DecorrelatedClamped)
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Proportional(share) | Self::Symmetric(share) => write!(f, ":{}", share.as_f64()),
            _ => Ok(()),
        }
    }
}

impl FromStr for Jitter {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let refused = || ConfigError::new("backoff.jitter", text, FORM);
        let Some((name, share)) = text.split_once(':') else {
            return Self::SHARELESS.into_iter().find(|law| law.name() == text).ok_or_else(refused);
        };
        let share = share.parse().ok().and_then(|share: f64| Ratio::try_from(share).ok());
        let share = share.filter(|share| *share <= Ratio::ONE).ok_or_else(refused)?;
        let shared = [Self::Proportional(share), Self::Symmetric(share)];
        shared.into_iter().find(|law| law.name() == name).ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;

    /// Every law once: the compiler asks for the place of a new one.
    fn next(law: Jitter) -> Option<Jitter> {
        let share = Ratio::from_percent(25);
        match law {
            Jitter::None => Some(Jitter::Full),
            Jitter::Full => Some(Jitter::Equal),
            Jitter::Equal => Some(Jitter::Decorrelated),
            Jitter::Decorrelated => Some(Jitter::DecorrelatedClamped),
            Jitter::DecorrelatedClamped => Some(Jitter::Proportional(share)),
            Jitter::Proportional(_) => Some(Jitter::Symmetric(share)),
            Jitter::Symmetric(_) => None,
        }
    }

    #[test]
    fn every_law_is_read_back_from_its_text() {
        let laws: Vec<_> = core::iter::successors(Some(Jitter::None), |law| next(*law)).collect();
        assert_eq!(laws.len(), Jitter::SHARELESS.len() + 2);
        for law in laws {
            assert_eq!(law.to_string().parse(), Ok(law));
            assert!(FORM.contains(law.name()), "{law} is not offered where a law is refused");
        }
    }

    #[test]
    fn a_law_with_a_missing_or_impossible_share_is_refused() {
        for text in [
            "",
            "fully",
            "full:0.5",
            "full:",
            "proportional",
            "symmetric:",
            "symmetric:1.5",
            "symmetric:nan",
        ] {
            assert!(text.parse::<Jitter>().is_err(), "{text}");
        }
    }
}
