//! Everybody fails at once: the storm that jitter was invented for.

use stagger_core::{ConfigError, Instant, Policy, Span};

use crate::arrivals::Arrivals;
use crate::crew::Crew;
use crate::law::{Law, Schedule};
use crate::meter::Stretch;
use crate::report::{Peak, Report};
use crate::server::Server;
use crate::world::Plan;

use super::comparison::Comparison;

/// All callers make their first attempt at the origin and fail; the server serves everybody, at
/// once, from `up_at` on.
///
/// The peak counts attempts that arrive at `up_at` or later.
///
/// ```
/// use stagger_sim::{Crew, Law, Lockstep};
/// let storm = Lockstep { runs: 10, laws: vec![Law::None, Law::Full], ..Lockstep::default() };
/// let report = storm.run(&Crew::single())?;
/// assert_eq!(report.rows[0].peak.mean, 20_000.0); // all 1000 within one bucket of 50 ms
/// assert!(report.rows[1].peak.mean < 7_000.0);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lockstep {
    /// The seed of all runs.
    pub seed: u64,
    /// How many runs.
    pub runs: u32,
    /// How many callers.
    pub callers: u32,
    /// When the server is up, counted from the common failure.
    pub up_at: Span,
    /// What all laws share.
    pub schedule: Schedule,
    /// The laws to compare.
    pub laws: Vec<Law>,
}

impl Default for Lockstep {
    /// 1000 callers, up at 200 ms, all laws, 200 runs of seed 1.
    fn default() -> Self {
        Self {
            seed: 1,
            runs: 200,
            callers: 1000,
            up_at: Span::from_millis(200),
            schedule: Schedule::default(),
            laws: Law::ALL.to_vec(),
        }
    }
}

impl Lockstep {
    /// Jobs that [`Crew::telling`] will hear of.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        u64::from(self.runs) * self.laws.len() as u64
    }

    /// Plays all runs.
    ///
    /// # Errors
    /// A schedule that the engine refuses: a cap below the base, or no attempts.
    pub fn run(&self, crew: &Crew<'_>) -> Result<Report, ConfigError> {
        let comparison = Comparison {
            seed: self.seed,
            runs: self.runs,
            schedule: self.schedule,
            laws: &self.laws,
            cases: &[self.up_at],
            peak: Peak::Attempts,
        };
        comparison.run(crew, |policy, up_at| self.plan(policy, up_at))
    }

    fn plan(&self, policy: Policy, up_at: Span) -> Plan {
        let up = Instant::ORIGIN + up_at;
        Plan {
            arrivals: Arrivals::Together { callers: self.callers },
            server: Server::down(Instant::ORIGIN, up),
            policy,
            edge: up,
            attempts_in: Stretch { from: up, until: Instant::FAR },
            retries_in: Stretch { from: Instant::ORIGIN, until: up },
        }
    }
}
