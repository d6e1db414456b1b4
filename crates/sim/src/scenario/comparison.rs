//! Several laws in several cases of one scenario, under the same seeds.

use stagger_core::{ConfigError, Policy, Span};

use crate::crew::Crew;
use crate::law::{Law, Schedule};
use crate::report::{Peak, Report, Row};
use crate::tally::Tally;
use crate::world::Plan;

/// What is compared; every law meets the same arrivals and the same luck.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) seed: u64,
    pub(super) runs: u32,
    pub(super) schedule: Schedule,
    pub(super) laws: &'a [Law],
    pub(super) cases: &'a [Span],
    pub(super) peak: Peak,
}

impl Comparison<'_> {
    /// Plays the plan of every law in every case.
    pub(super) fn run(
        &self,
        crew: &Crew<'_>,
        plan: impl Fn(Policy, Span) -> Plan,
    ) -> Result<Report, ConfigError> {
        let (mut named, mut plans) = (Vec::new(), Vec::new());
        for &case in self.cases {
            for &law in self.laws {
                named.push((law, case));
                plans.push(plan(law.policy(&self.schedule)?, case));
            }
        }
        let tallies = Tally::of(&plans, self.seed, self.runs, crew);
        let rows = named.into_iter().zip(&tallies);
        let rows = rows.map(|((law, case), tally)| Row::new(law, case, tally, self.peak)).collect();
        Ok(Report { seed: self.seed, runs: self.runs, schedule: self.schedule, rows })
    }
}
