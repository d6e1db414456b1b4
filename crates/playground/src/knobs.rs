//! The values of the page's sliders.

use stagger_core::{ConfigError, Span};
use stagger_sim::{Law, Named, Scenario, StormOptions};

/// The settings of one herd; any numbers may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// The law by which callers come back; one of those that the scenario compares.
    pub law: Law,
    /// The first ceiling, in milliseconds.
    pub base_ms: u32,
    /// The bound of every ceiling, in milliseconds.
    pub cap_ms: u32,
    /// Attempts a call may make in all; 0 until it is served.
    pub attempts: u32,
    /// The length of the outage, in milliseconds.
    pub outage_ms: u32,
    /// The callers that fail together.
    pub callers: u32,
    /// Calls a second beside theirs.
    pub beside: u32,
    /// The seed of the run.
    pub seed: u32,
}

/// The scenario that is played.
const HERD: &str = "herd";
/// A page is drawn while a slider moves: a run of more callers than this is no longer seen at once.
const MAX_CALLERS: u32 = 100_000;
/// The same for the calls beside, which go on for a minute; the backend serves 1000 a second.
const MAX_BESIDE: u32 = 10_000;

impl Knobs {
    /// The scenario of the catalogue with these settings, one run of the one law; of nobody's retries
    /// if the scenario does not compare that law.
    ///
    /// It is what `stagger storm herd` plays with the same settings.
    ///
    /// # Errors
    /// What the engine refuses: a cap below the base, a base of nothing.
    pub fn scenario(&self) -> Result<Scenario, ConfigError> {
        let mut scenario = herd(&StormOptions {
            seed: Some(u64::from(self.seed)),
            runs: Some(1),
            callers: Some(self.callers.min(MAX_CALLERS)),
            up_at: Some(millis(self.outage_ms)),
            beside: Some(self.beside.min(MAX_BESIDE)),
            base: Some(millis(self.base_ms)),
            cap: Some(millis(self.cap_ms)),
            attempts: (self.attempts > 0).then_some(self.attempts),
            laws: vec![self.law],
            ..StormOptions::default()
        })?;
        // Who never retries is always there and comes first; the law after it, unless it is the same.
        for case in &mut scenario.cases {
            case.entries.drain(..case.entries.len().saturating_sub(1));
        }
        Ok(scenario)
    }
}

/// The laws that the scenario compares, in its order.
///
/// # Errors
/// None that happen: its own settings are valid.
pub(crate) fn compared() -> Result<Vec<String>, ConfigError> {
    let scenario = herd(&StormOptions::default())?;
    let entries = scenario.cases.into_iter().take(1).flat_map(|case| case.entries);
    Ok(entries.map(|entry| entry.name).collect())
}

fn herd(options: &StormOptions) -> Result<Scenario, ConfigError> {
    Named::find(HERD).expect("it ships").scenario(options)
}

fn millis(ms: u32) -> Span {
    Span::from_millis(u64::from(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_played_alone_and_without_a_bound_on_attempts_when_that_is_asked() {
        let knobs = Knobs {
            law: Law::Full,
            base_ms: 100,
            cap_ms: 10_000,
            attempts: 0,
            outage_ms: 200,
            callers: 1_000,
            beside: 0,
            seed: 1,
        };
        let scenario = knobs.scenario().unwrap();
        assert_eq!((scenario.cases.len(), scenario.runs), (1, 1));
        let names: Vec<&str> = scenario.cases[0].entries.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["full"]);
        assert!(Knobs { cap_ms: 50, ..knobs }.scenario().is_err());
    }

    #[test]
    fn every_law_of_the_scenario_is_known_by_its_name() {
        let names = compared().unwrap();
        assert_eq!(names.first().map(String::as_str), Some("no-retry"));
        assert!(names.iter().all(|name| Law::named(name).is_some()));
        assert!(names.len() > 5);
    }
}
