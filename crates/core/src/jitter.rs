//! Jitter laws: how a delay is drawn below, or around, its ceiling.

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
/// Full, equal and clamped decorrelated jitter are Marc Brooker's, "Exponential Backoff And Jitter"
/// (AWS Architecture Blog, 2015); symmetric is gRPC's (gRFC A6, as amended in 2024).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

impl Jitter {
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

    /// Whether the law draws from the previous delay and the base, and so ignores the envelope.
    #[must_use]
    pub const fn is_decorrelated(self) -> bool {
        matches!(self, Self::Decorrelated | Self::DecorrelatedClamped)
    }
}
