//! Steady traffic and an outage: what retries add to callers that were never in step.

use stagger_core::{ConfigError, Instant, Policy, Span};

use crate::arrivals::Arrivals;
use crate::crew::Crew;
use crate::law::{Law, Schedule};
use crate::meter::Stretch;
use crate::report::{Peak, Report};
use crate::server::Server;
use crate::world::Plan;

use super::comparison::Comparison;

/// Poisson arrivals for a minute; the server refuses from 2 s on for the length of the outage and
/// otherwise serves everybody in 5 ms.
///
/// The peak counts calls *served*, in buckets of 50 ms from the origin on. Its floor is the
/// no-retry row: the noise of the arrivals themselves.
///
/// ```
/// use stagger_core::Span;
/// use stagger_sim::{Crew, Law, Poisson};
/// let storm = Poisson {
///     runs: 4,
///     outages: vec![Span::from_secs(5)],
///     laws: vec![Law::NoRetry, Law::Full],
///     ..Poisson::default()
/// };
/// let report = storm.run(&Crew::single())?;
/// assert!(report.rows[1].peak.mean > 2.0 * report.rows[0].peak.mean);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poisson {
    /// The seed of all runs.
    pub seed: u64,
    /// How many runs.
    pub runs: u32,
    /// The outages to try, one case each.
    pub outages: Vec<Span>,
    /// What all laws share.
    pub schedule: Schedule,
    /// The laws to compare.
    pub laws: Vec<Law>,
}

impl Default for Poisson {
    /// Outages of 0.2, 1, 5 and 30 s, all laws, 20 runs of seed 1.
    fn default() -> Self {
        Self {
            seed: 1,
            runs: 20,
            outages: [200, 1_000, 5_000, 30_000].map(Span::from_millis).to_vec(),
            schedule: Schedule::default(),
            laws: Law::ALL.to_vec(),
        }
    }
}

impl Poisson {
    /// Callers a second.
    pub const RATE: u32 = 500;
    /// How long callers keep coming.
    pub const LENGTH: Span = Span::from_secs(60);
    /// How long the server works on a call. Callers who came within it before the end of the
    /// outage failed, so the first bucket after the outage is a tenth short: the tables have that.
    pub const SERVICE: Span = Span::from_millis(5);
    /// When the outage begins.
    pub const DOWN_FROM: Span = Span::from_secs(2);

    /// Jobs that [`Crew::telling`] will hear of.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        u64::from(self.runs) * (self.laws.len() * self.outages.len()) as u64
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
            cases: &self.outages,
            peak: Peak::Served,
        };
        comparison.run(crew, Self::plan)
    }

    fn plan(policy: Policy, outage: Span) -> Plan {
        let from = Instant::ORIGIN + Self::DOWN_FROM;
        let gap = Span::from_nanos(Span::from_secs(1).as_nanos() / u64::from(Self::RATE));
        Plan {
            arrivals: Arrivals::Poisson { gap, until: Instant::ORIGIN + Self::LENGTH },
            server: Server::down(from, from + outage).serving_in(Self::SERVICE),
            policy,
            edge: Instant::ORIGIN,
            attempts_in: Stretch::ALWAYS,
            retries_in: Stretch::ALWAYS,
        }
    }
}
