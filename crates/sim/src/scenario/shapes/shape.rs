//! The laws whose shape is drawn: the engine's own, and the Gaussian that it does not offer.

use std::fmt;

use stagger_core::{Backoff, ConfigError, Entropy, Span};

use crate::dist::gaussian;
use crate::law::{Law, Schedule};
use crate::streams::Draw;

/// A law of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One of the engine's laws.
    Engine(Law),
    /// `N(c/2, c/4)` for a ceiling `c`, clamped at zero: what people write first.
    Gaussian,
    /// The same, drawn again until it lies between zero and the ceiling.
    GaussianRedrawn,
}

impl Shape {
    /// The shape with the numbers of one schedule.
    ///
    /// # Errors
    /// A cap below the base.
    pub(super) fn with(self, schedule: &Schedule) -> Result<Sampler, ConfigError> {
        let law = if let Self::Engine(law) = self { law } else { Law::Full };
        Ok(Sampler { shape: self, backoff: law.backoff(schedule)? })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(law) => law.fmt(f),
            Self::Gaussian => f.pad("gaussian"),
            Self::GaussianRedrawn => f.pad("gaussian-redrawn"),
        }
    }
}

/// A shape that can be drawn from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampler {
    shape: Shape,
    backoff: Backoff,
}

/// The draws before the middle is taken: 95 % are in range at once.
const REDRAWS: u32 = 64;

impl Sampler {
    pub(super) fn ceiling(&self, k: u32) -> Span {
        self.backoff.ceiling(k)
    }

    /// The delay before retry `k`, after a delay of `prev`.
    #[inline]
    pub(super) fn delay(&self, k: u32, prev: Span, draw: &mut Draw) -> Span {
        match self.shape {
            Shape::Engine(_) => self.backoff.delay(k, prev, draw),
            Shape::Gaussian => normal(self.ceiling(k), draw),
            Shape::GaussianRedrawn => redrawn(self.ceiling(k), draw),
        }
    }
}

fn normal(ceiling: Span, entropy: &mut impl Entropy) -> Span {
    let part = |n| Span::from_nanos(ceiling.as_nanos() / n);
    gaussian(part(2), part(4), entropy)
}

fn redrawn(ceiling: Span, entropy: &mut impl Entropy) -> Span {
    let mut draws = (0..REDRAWS).map(|_| normal(ceiling, entropy));
    let within = draws.find(|&delay| delay > Span::ZERO && delay <= ceiling);
    within.unwrap_or(Span::from_nanos(ceiling.as_nanos() / 2))
}
