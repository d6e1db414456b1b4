//! The data and the words of the page, as JSON.

use serde::Serialize;
use stagger_core::{ConfigError, Instant};
use stagger_sim::{EntryReport, Law, Scenario, ThreadPool};

use crate::knobs::{self, Knobs};
use crate::outage::OutageKnobs;

/// One run of one law.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// The law's name.
    pub law: String,
    /// The callers that failed together.
    pub calls: f64,
    /// The fullest 50 ms from the end of the outage on, in attempts a second.
    pub peak: f64,
    /// Attempts a call.
    pub amplification: f64,
    /// The share of calls that were served, from 0 to 1.
    pub success: f64,
    /// From the end of the outage until the last caller was served, in seconds.
    pub recovery: Option<f64>,
    /// The backend's capacity, in attempts a second.
    pub capacity: Option<f64>,
    /// Attempts that reached the backend, for each 50 ms from the origin on; those beside included.
    pub offered: Vec<f64>,
    /// Retries among them.
    pub retries: Vec<f64>,
    /// Calls served.
    pub served: Vec<f64>,
    /// Attempts that wait for a worker at the end of each 50 ms.
    pub queued: Vec<f64>,
    /// The verdict on recovery, as one word.
    pub verdict: &'static str,
    /// Single attempts, in microseconds from the origin.
    pub strip: Vec<u32>,
    /// The strip is of one caller in so many.
    pub one_in: u32,
    /// Events of the run.
    pub events: u64,
    /// The digest of the run, in hexadecimal: JavaScript's numbers would round it.
    pub digest: String,
}

impl Picture {
    /// Plays a run.
    ///
    /// # Errors
    /// What the engine refuses.
    pub fn of(knobs: &Knobs) -> Result<Self, ConfigError> {
        Ok(Self::of_scenario(&knobs.scenario()?))
    }

    /// Plays an outage under a steady load.
    fn of_outage(knobs: &OutageKnobs) -> Result<Self, ConfigError> {
        Ok(Self::of_scenario(&knobs.scenario()?))
    }

    fn of_scenario(scenario: &Scenario) -> Self {
        let report = scenario.run(&ThreadPool::single());
        let case = report.cases.first().expect("settings are one case");
        let row = case.rows.first().expect("one entry is left in it");
        Self::drawn(row, case.capacity)
    }

    fn drawn(row: &EntryReport, capacity: Option<f64>) -> Self {
        let (instants, one_in) = row.strip.instants();
        Self {
            law: row.name.clone(),
            calls: row.calls,
            peak: row.peak.mean,
            amplification: row.amplification,
            success: row.success,
            recovery: (row.recovery.healed > 0).then_some(row.recovery.seconds.mean),
            capacity,
            offered: row.series.offered.clone(),
            retries: row.series.retries.clone(),
            served: row.series.served.clone(),
            queued: row.series.queued.clone(),
            verdict: row.verdict().word(),
            strip: instants.map(micros).collect(),
            one_in,
            events: row.events,
            digest: format!("{:016x}", row.digest),
        }
    }

    /// The answer to these settings: a picture, or the reason why there is none.
    #[must_use]
    pub fn json(knobs: &Knobs) -> String {
        told(&Self::of(knobs))
    }

    /// The same for an outage under a steady load.
    #[must_use]
    pub fn outage_json(knobs: &OutageKnobs) -> String {
        told(&Self::of_outage(knobs))
    }
}

/// A picture, or the reason why there is none, as JSON.
fn told(picture: &Result<Picture, ConfigError>) -> String {
    let told = match picture {
        Ok(picture) => serde_json::to_string(picture),
        Err(error) => serde_json::to_string(&Refused { error: error.to_string() }),
    };
    told.expect("strings and numbers always have a form")
}

/// The names of the laws, in the order of reports, as a JSON array.
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "it does not: the proofs are beside it")]
pub fn laws() -> String {
    let names = knobs::compared().expect("the scenario's own settings are valid");
    serde_json::to_string(&names).expect("strings always have a form")
}

/// The law at this place among [`laws`].
pub(crate) fn law(place: u32) -> Option<Law> {
    let names = knobs::compared().ok()?;
    Law::named(names.get(usize::try_from(place).ok()?)?)
}

#[derive(Serialize)]
struct Refused {
    error: String,
}

/// Later than 71 minutes is drawn there: no slider goes that far.
fn micros(at: Instant) -> u32 {
    u32::try_from(at.as_nanos() / 1_000).unwrap_or(u32::MAX)
}
