//! One wave: all callers fail together and come back once, under one ceiling.

use stagger_core::{ConfigError, Span};

use crate::law::{Law, Schedule};
use crate::stat::{Sum, float};
use crate::streams::{Purpose, RandomStream};

use super::report::Wave;
use super::shape::{Sampler, Shape};

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
