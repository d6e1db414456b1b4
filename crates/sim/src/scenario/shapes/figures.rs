//! The questions to the laws.

use stagger_core::{ConfigError, Span};

use crate::law::Schedule;
use crate::run_tally::run_seed;
use crate::thread_pool::ThreadPool;

use super::chains::Chains;
use super::report::ShapesReport;
use super::wave::Waves;

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
