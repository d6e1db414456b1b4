//! The laws whose shape is drawn (the engine's own, and the Gaussian that it does not offer), their figures,
//! and one wave of them.
//!
//! In a wave all callers fail together and come back once, under one ceiling.

use std::fmt;

use stagger_core::{Backoff, ConfigError, Entropy, Span};

use crate::dist::gaussian;
use crate::law::{Law, Schedule};
use crate::stat::{Stat, Sum, float};
use crate::streams::{Draw, Purpose, RandomStream};

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

/// The figures of [`Shapes`](super::Shapes).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShapesReport {
    /// Laws whose delays do not depend on earlier ones.
    pub means: Vec<Mean>,
    /// The decorrelated laws, retry by retry.
    pub growth: Vec<Growth>,
    /// One wave of retries, law by law and bucket by bucket.
    pub waves: Vec<Wave>,
}

/// The delays of one law under one ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The law.
    pub shape: Shape,
    /// Mean delay over ceiling.
    pub of_ceiling: f64,
    /// The share of delays of exactly nothing: retries at once.
    pub at_zero: f64,
}

/// The delays of one decorrelated law before one retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The law.
    pub shape: Shape,
    /// The retry, from 1; `None` stands for the long run.
    pub retry: Option<u32>,
    /// Mean delay over base.
    pub of_base: f64,
    /// The share of delays that are exactly the cap.
    pub at_cap: f64,
}

/// The fullest bucket of one wave of retries after a common failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// The law.
    pub shape: Shape,
    /// The bucket width: a thousandth, a hundredth or a twentieth of the ceiling.
    pub bucket: Span,
    /// The fullest bucket over an even spread across the ceiling.
    pub over_flat: Stat,
}

/// Parts of the ceiling that are counted.
const FINE: usize = 1_000;

/// Buckets of the pictures, in fine parts: a thousandth, a hundredth, a twentieth of the ceiling.
const MERGED: [usize; 3] = [1, 10, 50];

/// Ceilings that a delay may reach; a Gaussian beyond its mean by 14 sd is drawn by no 64-bit word.
const REACH: usize = 4;

/// The fullest buckets of many waves.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    ceiling: Span,
    shapes: Vec<(Shape, Sampler, [Sum; MERGED.len()])>,
    counts: Vec<u64>,
}

impl Waves {
    pub(super) fn new(schedule: &Schedule) -> Result<Self, ConfigError> {
        let shapes = [
            Shape::Engine(Law::Full),
            Shape::Engine(Law::Equal),
            Shape::Gaussian,
            Shape::GaussianRedrawn,
        ];
        let sampled = |shape: Shape| Ok((shape, shape.with(schedule)?, Default::default()));
        let shapes = shapes.into_iter().map(sampled).collect::<Result<_, ConfigError>>()?;
        Ok(Self { ceiling: schedule.base, shapes, counts: vec![0; FINE * REACH] })
    }

    /// Draws one wave of every law.
    pub(super) fn draw(&mut self, retries: u32, seed: u64) {
        let stream = RandomStream::new(seed, Purpose::Delay);
        for (_, sampler, peaks) in &mut self.shapes {
            self.counts.fill(0);
            for client in 0..retries {
                let delay = sampler.delay(1, self.ceiling, &mut stream.at(client, 1));
                self.counts[part_of(delay, self.ceiling)] += 1;
            }
            for (peak, merged) in peaks.iter_mut().zip(MERGED) {
                let fullest = self.counts.chunks(merged).map(|part| part.iter().sum::<u64>()).max();
                peak.add(fullest.unwrap_or(0));
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for ((_, _, peaks), (_, _, more)) in self.shapes.iter_mut().zip(&other.shapes) {
            peaks.iter_mut().zip(more).for_each(|(peak, more)| peak.merge(more));
        }
    }

    pub(super) fn figures(&self, retries: u32) -> Vec<Wave> {
        let figure = |shape: Shape, peak: &Sum, merged: usize| {
            // OK because both are constants below 2^32, exact in a float.
            let flat = f64::from(retries.max(1)) * float(merged as u128) / float(FINE as u128);
            let bucket = Span::from_nanos(self.ceiling.as_nanos() / (FINE / merged) as u64);
            Wave { shape, bucket, over_flat: peak.scaled(1.0 / flat) }
        };
        let rows = |(shape, _, peaks): &(Shape, Sampler, [Sum; MERGED.len()])| {
            peaks.iter().zip(MERGED).map(|(peak, merged)| figure(*shape, peak, merged)).collect()
        };
        self.shapes.iter().flat_map(|row| -> Vec<Wave> { rows(row) }).collect()
    }
}

/// The fine part in which a delay falls; the ceiling itself belongs to the last part before it.
fn part_of(delay: Span, ceiling: Span) -> usize {
    let fine = FINE as u128;
    let ceiling = u128::from(ceiling.as_nanos()).max(1);
    let part = u128::from(delay.as_nanos().saturating_sub(1)) * fine / ceiling;
    // OK because what does not fit is far beyond the reach.
    usize::try_from(part).unwrap_or(usize::MAX).min(FINE * REACH - 1)
}
