//! The questions to the laws, and chains of delays, one after the other, as one caller meets them.

use stagger_core::{ConfigError, Span};

use super::shape::{Growth, Mean, Sampler, Shape, ShapesReport, Waves};
use crate::law::{Law, Schedule};
use crate::run_tally::run_seed;
use crate::stat::{float, share};
use crate::streams::{Purpose, RandomStream};
use crate::thread_pool::ThreadPool;

/// Delays without a server: every figure is of the laws alone, drawn with the engine's own code.
///
/// Gaussian delays are here and nowhere else: `N(c/2, c/4)`, which people reach for first.
///
/// ```
/// use stagger_sim::{ThreadPool, Law, Shape, Shapes};
/// let shapes = Shapes { runs: 4, chains: 20_000, ..Shapes::default() };
/// let report = shapes.run(&ThreadPool::single())?;
/// let full = report.means.iter().find(|mean| mean.shape == Shape::Engine(Law::Full)).unwrap();
/// assert!((full.of_ceiling - 0.5).abs() < 0.01);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shapes {
    /// The seed of all runs.
    pub seed: u64,
    /// Runs: as many waves, and as many lots of chains.
    pub runs: u32,
    /// Chains of retries in one run, and retries in one wave.
    pub chains: u32,
    /// The first ceiling.
    pub base: Span,
    /// The bound of every ceiling.
    pub cap: Span,
}

impl Default for Shapes {
    /// Base 1 s, cap 60 s, 20 runs of 100 000 chains, seed 1.
    fn default() -> Self {
        let (base, cap) = (Span::from_secs(1), Span::from_secs(60));
        Self { seed: 1, runs: 20, chains: 100_000, base, cap }
    }
}

impl Shapes {
    /// Jobs that [`ThreadPool::telling`] will hear of.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        u64::from(self.runs)
    }

    /// Draws everything.
    ///
    /// # Errors
    /// A cap below the base.
    pub fn run(&self, pool: &ThreadPool<'_>) -> Result<ShapesReport, ConfigError> {
        let schedule = Schedule { base: self.base, cap: self.cap, ..Schedule::default() };
        let (mut chains, mut waves) = (Chains::new(&schedule)?, Waves::new(&schedule)?);
        let start = || (chains.clone(), waves.clone());
        let parts = pool.share(self.jobs(), start, |(chains, waves), job| {
            // OK because jobs are numbered below `runs`, a u32.
            #[expect(clippy::cast_possible_truncation, reason = "job < runs")]
            let seed = run_seed(self.seed, job as u32);
            chains.draw(self.chains, seed);
            waves.draw(self.chains, seed);
        });
        for (more_chains, more_waves) in &parts {
            chains.merge(more_chains);
            waves.merge(more_waves);
        }
        let (means, growth) = (chains.means(), chains.growth());
        Ok(ShapesReport { means, growth, waves: waves.figures(self.chains) })
    }
}

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
