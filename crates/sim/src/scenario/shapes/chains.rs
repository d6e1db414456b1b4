//! Chains of delays, one after the other, as one caller meets them.

use stagger_core::{ConfigError, Span};

use crate::law::{Law, Schedule};
use crate::stat::{float, share};
use crate::streams::{Purpose, RandomStream};

use super::report::{Growth, Mean};
use super::shape::{Sampler, Shape};

/// The retry whose ceiling the means are taken under: any would do, this one is a round 8 * base.
const MEAN_RETRY: u32 = 4;
/// Retries that are shown one by one.
const SHOWN: u32 = 10;
/// One chain in this many goes on to the long run.
const ONE_IN: u32 = 100;
/// Steps left out before the long run is measured: the weight on the cap has settled by step 40.
const SETTLING: u32 = 100;
/// Steps of a chain that goes on.
const LONG: u32 = 1_000;

/// The sums over many chains.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    means: Vec<(Shape, Sampler, Lot)>,
    growing: Vec<Growing>,
}

/// The sums of one decorrelated law.
#[derive(Clone, Debug)]
struct Growing {
    shape: Shape,
    sampler: Sampler,
    base: Span,
    cap: Span,
    /// Retry 1 first; the long run last.
    lots: Vec<Lot>,
}

/// Delays of one kind, added up.
#[derive(Clone, Copy, Debug, Default)]
struct Lot {
    n: u64,
    total: u128,
    at_zero: u64,
    at_cap: u64,
}

impl Chains {
    pub(super) fn new(schedule: &Schedule) -> Result<Self, ConfigError> {
        let mean = |shape: Shape| Ok((shape, shape.with(schedule)?, Lot::default()));
        let growing = |law| Growing::new(Shape::Engine(law), schedule);
        let shapes = [Shape::Engine(Law::Full), Shape::Engine(Law::Equal), Shape::Gaussian];
        Ok(Self {
            means: shapes.into_iter().map(mean).collect::<Result<_, ConfigError>>()?,
            growing: vec![growing(Law::Decorrelated)?, growing(Law::DecorrelatedClamped)?],
        })
    }

    /// Draws so many chains of every law.
    pub(super) fn draw(&mut self, chains: u32, seed: u64) {
        let stream = RandomStream::new(seed, Purpose::Delay);
        for (_, sampler, lot) in &mut self.means {
            let cap = sampler.ceiling(u32::MAX);
            for chain in 0..chains {
                let mut draw = stream.at(chain, MEAN_RETRY);
                lot.add(sampler.delay(MEAN_RETRY, cap, &mut draw), cap);
            }
        }
        for growing in &mut self.growing {
            for chain in 0..chains {
                growing.follow(chain, &stream);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for ((_, _, lot), (_, _, more)) in self.means.iter_mut().zip(&other.means) {
            lot.merge(more);
        }
        for (growing, more) in self.growing.iter_mut().zip(&other.growing) {
            growing.lots.iter_mut().zip(&more.lots).for_each(|(lot, more)| lot.merge(more));
        }
    }

    pub(super) fn means(&self) -> Vec<Mean> {
        let mean = |(shape, sampler, lot): &(Shape, Sampler, Lot)| Mean {
            shape: *shape,
            of_ceiling: lot.mean_over(sampler.ceiling(MEAN_RETRY)),
            at_zero: share(lot.at_zero, lot.n),
        };
        self.means.iter().map(mean).collect()
    }

    pub(super) fn growth(&self) -> Vec<Growth> {
        self.growing.iter().flat_map(Growing::figures).collect()
    }
}

impl Growing {
    fn new(shape: Shape, schedule: &Schedule) -> Result<Self, ConfigError> {
        Ok(Self {
            shape,
            sampler: shape.with(schedule)?,
            base: schedule.base,
            cap: schedule.cap,
            lots: vec![Lot::default(); SHOWN as usize + 1],
        })
    }

    /// Follows one chain; one in [`ONE_IN`] into the long run.
    fn follow(&mut self, chain: u32, stream: &RandomStream) {
        let steps = if chain.is_multiple_of(ONE_IN) { LONG } else { SHOWN };
        let mut prev = self.base;
        for retry in 1..=steps {
            prev = self.sampler.delay(retry, prev, &mut stream.at(chain, retry));
            if retry <= SHOWN {
                self.lots[retry as usize - 1].add(prev, self.cap);
            } else if retry > SETTLING {
                self.lots[SHOWN as usize].add(prev, self.cap);
            }
        }
    }

    fn figures(&self) -> impl Iterator<Item = Growth> {
        let retries = (1..=SHOWN).map(Some).chain([None]);
        retries.zip(&self.lots).map(|(retry, lot)| Growth {
            shape: self.shape,
            retry,
            of_base: lot.mean_over(self.base),
            at_cap: share(lot.at_cap, lot.n),
        })
    }
}

impl Lot {
    #[inline]
    fn add(&mut self, delay: Span, cap: Span) {
        self.n += 1;
        self.total += u128::from(delay.as_nanos());
        self.at_zero += u64::from(delay.is_zero());
        self.at_cap += u64::from(delay == cap);
    }

    fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.total += other.total;
        self.at_zero += other.at_zero;
        self.at_cap += other.at_cap;
    }

    /// The mean delay in units of `unit`; zero without delays or unit.
    fn mean_over(&self, unit: Span) -> f64 {
        if self.n == 0 || unit.is_zero() {
            return 0.0;
        }
        float(self.total) / float(u128::from(self.n)) / float(u128::from(unit.as_nanos()))
    }
}
