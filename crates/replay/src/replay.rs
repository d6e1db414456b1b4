//! A log under other policies: what was observed beside what would have been.

use stagger_core::{ConfigError, Span};
use stagger_sim::{
    EntryReport, Law, Peak, Play, Scenario, ScenarioCase, ScenarioEntry, Schedule, StormOptions,
    StormReport, ThreadPool,
};

use crate::access_log::AccessLog;
use crate::excerpt::Excerpt;
use crate::observed;
use crate::words;

/// The first attempts of a log and its outages as a scenario, with the row that was observed.
///
/// Played is the stretch from 30 s before the first outage to a minute after the last one, or
/// the whole log when there was none.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The scenario: no retry, the laws, and the user's own policies.
    pub scenario: Scenario,
    /// The row of the log, for the same stretch.
    pub observed: EntryReport,
}

/// Calls that all runs of one entry make together, about.
const WORK: u64 = 2_000_000;
/// Runs of one entry at most.
const MOST_RUNS: u32 = 20;

impl Replay {
    /// The what-if scenario of a log; `capacity` is how many attempts the backend works on at once,
    /// without bound when `None`.
    ///
    /// # Errors
    /// A schedule that the engine refuses, or a capacity for a log that does not say how long
    /// attempts take.
    pub fn new(
        log: &AccessLog,
        options: &StormOptions,
        capacity: Option<u32>,
    ) -> Result<Self, ConfigError> {
        if let Some(workers) = capacity.filter(|_| log.service.is_none_or(Span::is_zero)) {
            let bound = "left out, because the log has no durations to set against it";
            return Err(ConfigError::new("capacity", workers, bound));
        }
        let excerpt = Excerpt::new(log, capacity);
        let schedule = options.schedule(Schedule::default());
        let entry = |(name, caller)| ScenarioEntry {
            name,
            play: Play::Run(Box::new(excerpt.plan(caller))),
        };
        let compared = options.callers(&Law::ALL, &schedule)?;
        let calls = (excerpt.firsts().len() as u64).max(1);
        let runs = u32::try_from(WORK / calls).unwrap_or(MOST_RUNS).clamp(1, MOST_RUNS);
        let mut parameters = words::parameters(&excerpt);
        parameters.extend(schedule.parameters());
        let case = ScenarioCase {
            label: "log".to_owned(),
            value: 0.0,
            outages: excerpt
                .outages()
                .map(|o| (excerpt.shifted(o.from), excerpt.shifted(o.until)))
                .collect(),
            capacity: excerpt.most_served(),
            entries: compared.into_iter().map(entry).collect(),
        };
        let scenario = Scenario {
            name: "replay".to_owned(),
            about: "The calls of an access log under other policies".to_owned(),
            lesson: words::lesson(&excerpt),
            seed: options.seed.unwrap_or(1),
            runs: options.runs.unwrap_or(runs),
            varied: None,
            peak: Peak::Attempts,
            parameters,
            cases: vec![case],
        };
        Ok(Self { scenario, observed: observed::row(&excerpt) })
    }

    /// Plays all runs; the row that was observed comes first.
    #[must_use]
    pub fn run(&self, pool: &ThreadPool<'_>) -> StormReport {
        let mut report = self.scenario.run(pool);
        for case in &mut report.cases {
            case.rows.insert(0, self.observed.clone());
        }
        report
    }
}
