//! A much-copied tutorial: callers one after the other, and a short outage in the middle.

use stagger_core::{ConfigError, Instant, Policy, Span};

use crate::arrivals::Arrivals;
use crate::crew::Crew;
use crate::law::{Law, Schedule};
use crate::meter::Stretch;
use crate::report::{Peak, Report};
use crate::server::Server;
use crate::world::Plan;

use super::comparison::Comparison;

/// One caller every `spacing`; the server answers 503 to what arrives from 2.0 s (included) until
/// 2.2 s (excluded) and otherwise serves in 5 ms.
///
/// The peak counts calls *served*, in buckets of 50 ms from the first arrival on.
///
/// ```
/// use stagger_core::Span;
/// use stagger_sim::{Crew, Tutorial};
/// let exact = Tutorial { runs: 2, spacings: vec![Span::from_millis(2)], ..Tutorial::default() };
/// // At exactly 2 ms the last caller is gone before the outage: nobody ever fails.
/// let report = exact.run(&Crew::single())?;
/// assert!(report.rows.iter().all(|row| row.peak.mean == 500.0 && row.amplification == 1.0));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tutorial {
    /// The seed of all runs.
    pub seed: u64,
    /// How many runs.
    pub runs: u32,
    /// How many callers.
    pub callers: u32,
    /// The spacings to try, one case each.
    pub spacings: Vec<Span>,
    /// What all laws share.
    pub schedule: Schedule,
    /// The laws to compare.
    pub laws: Vec<Law>,
}

impl Default for Tutorial {
    /// 1000 callers at 2.00, 2.20 and 2.30 ms, all laws, 200 runs of seed 1.
    fn default() -> Self {
        Self {
            seed: 1,
            runs: 200,
            callers: 1000,
            spacings: [2000, 2200, 2300].map(Span::from_micros).to_vec(),
            schedule: Schedule::default(),
            laws: Law::ALL.to_vec(),
        }
    }
}

impl Tutorial {
    /// When the outage begins.
    pub const DOWN_FROM: Span = Span::from_millis(2000);
    /// When it is over.
    pub const DOWN_UNTIL: Span = Span::from_millis(2200);
    /// How long the server works on a call.
    pub const SERVICE: Span = Span::from_millis(5);

    /// Jobs that [`Crew::telling`] will hear of.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        u64::from(self.runs) * (self.laws.len() * self.spacings.len()) as u64
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
            cases: &self.spacings,
            peak: Peak::Served,
        };
        comparison.run(crew, |policy, spacing| self.plan(policy, spacing))
    }

    fn plan(&self, policy: Policy, spacing: Span) -> Plan {
        let (from, until) = (Instant::ORIGIN + Self::DOWN_FROM, Instant::ORIGIN + Self::DOWN_UNTIL);
        Plan {
            arrivals: Arrivals::Even { callers: self.callers, spacing },
            server: Server::down(from, until).serving_in(Self::SERVICE),
            policy,
            edge: Instant::ORIGIN,
            attempts_in: Stretch::ALWAYS,
            retries_in: Stretch::ALWAYS,
        }
    }
}
