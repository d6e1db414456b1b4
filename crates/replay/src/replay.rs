//! A log under other policies: what was observed beside what would have been.

use stagger_core::{ConfigError, Span};
use stagger_sim::{
    EntryReport, Law, Peak, Play, Scenario, ScenarioCase, ScenarioEntry, Schedule, StormOptions,
    StormReport, ThreadPool,
};

use crate::access_log::AccessLog;
use crate::excerpt::Excerpt;
use crate::outage::InferredOutage;
use crate::stamp::Stamp;
use crate::stated_outage::StatedOutage;
use crate::verdict::ReplayVerdict;
use crate::{findings, observed, verdict};

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
    /// The trust that the rows deserve.
    pub verdict: ReplayVerdict,
    /// The stretch that is replayed.
    pub stretch: (Stamp, Stamp),
    /// The doubts that the log leaves, one sentence each.
    pub doubts: Vec<String>,
}

/// What is known of the backend besides the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Attempts that the backend works on at once; without bound when `None`.
    pub capacity: Option<u32>,
    /// The faults; those inferred from the log when empty.
    pub outages: Vec<StatedOutage>,
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
    /// As [`with`](Self::with).
    pub fn new(
        log: &AccessLog,
        options: &StormOptions,
        capacity: Option<u32>,
    ) -> Result<Self, ConfigError> {
        Self::with(log, options, &ReplayOptions { capacity, ..ReplayOptions::default() })
    }

    /// The what-if scenario of a log with what is known besides.
    ///
    /// # Errors
    /// A schedule that the engine refuses, a capacity for a log that does not say how long
    /// attempts take, or a stated outage that lies outside of the log.
    pub fn with(
        log: &AccessLog,
        options: &StormOptions,
        known: &ReplayOptions,
    ) -> Result<Self, ConfigError> {
        if let Some(workers) = known.capacity.filter(|_| log.service.is_none_or(Span::is_zero)) {
            let bound = "left out, because the log has no durations to set against it";
            return Err(ConfigError::new("capacity", workers, bound));
        }
        if known.outages.is_empty() {
            return Self::of(&Excerpt::new(log, known.capacity), options);
        }
        let stated = log.clone().with_outages(&known.outages);
        let end = stated.cells.end();
        if let Some(outage) = stated.outages.iter().find(|outage| outage.from >= end) {
            let bound = format!("within the log, which ends at {}", log.wall(end));
            return Err(ConfigError::new("outage", log.wall(outage.from), bound));
        }
        Self::of(&Excerpt::new(&stated, known.capacity), options)
    }

    fn of(excerpt: &Excerpt<'_>, options: &StormOptions) -> Result<Self, ConfigError> {
        let (verdict, fault) = verdict::judge(excerpt, observed::row)?;
        let excerpt = &excerpt.with_fault(fault);
        Ok(Self {
            scenario: scenario(excerpt, options, &verdict)?,
            observed: observed::row(excerpt),
            verdict,
            stretch: (excerpt.log.wall(excerpt.from), excerpt.log.wall(excerpt.until)),
            doubts: findings::doubts(excerpt),
        })
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

fn scenario(
    excerpt: &Excerpt<'_>,
    options: &StormOptions,
    verdict: &ReplayVerdict,
) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let entry =
        |(name, caller)| ScenarioEntry { name, play: Play::Run(Box::new(excerpt.plan(caller))) };
    let compared = options.callers(&Law::ALL, &schedule)?;
    let calls = (excerpt.firsts().len() as u64).max(1);
    let runs = u32::try_from(WORK / calls).unwrap_or(MOST_RUNS).clamp(1, MOST_RUNS);
    let mut parameters = findings::parameters(excerpt);
    parameters.extend(schedule.parameters());
    let shifted =
        |outage: &InferredOutage| (excerpt.shifted(outage.from), excerpt.shifted(outage.until));
    let case = ScenarioCase {
        label: "log".to_owned(),
        value: 0.0,
        outages: excerpt.outages().map(shifted).collect(),
        capacity: excerpt.most_served(),
        entries: compared.into_iter().map(entry).collect(),
    };
    Ok(Scenario {
        name: "replay".to_owned(),
        about: "The calls of an access log under other policies".to_owned(),
        lesson: findings::lesson(excerpt, verdict),
        seed: options.seed.unwrap_or(1),
        runs: options.runs.unwrap_or(runs),
        varied: None,
        peak: Peak::Attempts,
        parameters,
        cases: vec![case],
    })
}
