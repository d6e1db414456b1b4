//! The options that each scenario knows. A flag that a scenario does not know is refused: to ignore it would
//! answer another question.

use ScenarioOption::{Attempts, Base, Beside, Callers, Cap, Equal, Laws, Policy, Sweep, UpAt};
use clap::error::ErrorKind;
use stagger_sim::{Law, Named, StormOptions};

use crate::command_error::CommandError;
use crate::flags::StormFlags;

/// A flag of `stagger storm` that some scenarios do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScenarioOption {
    UpAt,
    Beside,
    Callers,
    Attempts,
    Base,
    Cap,
    Laws,
    Equal,
    Policy,
    Sweep,
}

/// The options of one scenario that ships.
#[derive(Clone, Copy, Debug)]
struct KnownOptions {
    scenario: &'static str,
    /// Besides `--law`, which every scenario with laws knows, and `--sweep`, which all know.
    options: &'static [ScenarioOption],
    /// The laws that it compares, besides the one that never retries.
    laws: &'static [Law],
}

/// The delays of one call.
const SCHEDULE: [ScenarioOption; 3] = [Attempts, Base, Cap];
/// Those of a scenario whose callers and laws can be chosen.
const CALLS: [ScenarioOption; 6] = [Callers, Attempts, Base, Cap, Equal, Policy];
/// Those of a scenario whose outage can be chosen too.
const OUTAGE: [ScenarioOption; 7] = [UpAt, Callers, Attempts, Base, Cap, Equal, Policy];
/// All laws that retry.
const COMPARED: [Law; 9] = [
    Law::Fixed,
    Law::None,
    Law::Equal,
    Law::Full,
    Law::Decorrelated,
    Law::DecorrelatedClamped,
    Law::Symmetric,
    Law::Gaussian,
    Law::Octave,
];

/// Every scenario that ships, in the order of the list.
const KNOWN: [KnownOptions; 23] = [
    known("contention", &CALLS, &[Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped]),
    known("tutorial", &CALLS, &[Law::None, Law::Equal, Law::Full]),
    known("lockstep", &OUTAGE, &COMPARED),
    known(
        "noticed",
        &OUTAGE,
        &[Law::Fixed, Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped],
    ),
    known("poisson", &[UpAt, Attempts, Base, Cap, Equal, Policy], &COMPARED),
    known(
        "herd",
        &[UpAt, Beside, Callers, Attempts, Base, Cap, Equal, Policy],
        &[
            Law::Fixed,
            Law::None,
            Law::Equal,
            Law::Full,
            Law::DecorrelatedClamped,
            Law::Symmetric,
            Law::Octave,
        ],
    ),
    known(
        "wave",
        &CALLS,
        &[Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped, Law::Octave],
    ),
    known(
        "stall",
        &CALLS,
        &[Law::Fixed, Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped],
    ),
    known("osdi22", &[Attempts, Base, Cap, Policy], &[Law::Fixed]),
    known("hotos25", &SCHEDULE, &[]),
    known("failing", &SCHEDULE, &[]),
    known("layers", &CALLS, &[Law::Full]),
    known("retry-after", &OUTAGE, &[Law::Full]),
    known("viewers", &[UpAt, Callers, Attempts, Base, Cap, Policy], &[]),
    known("webhooks", &[Callers, Attempts, Policy], &[]),
    known("shard", &CALLS, &[Law::Full]),
    known("hedge", &CALLS, &[Law::Full]),
    known("fleet", &CALLS, &[Law::Full]),
    known("default-fleet", &CALLS, &[Law::Full]),
    known("pulse", &CALLS, &[Law::Full]),
    known("crash", &CALLS, &[Law::Full]),
    known("restart", &OUTAGE, &[Law::Fixed, Law::None, Law::Equal, Law::Full]),
    known("serverless", &[Attempts, Base, Cap, Equal, Policy], &[Law::Full]),
];

const fn known(
    scenario: &'static str,
    options: &'static [ScenarioOption],
    laws: &'static [Law],
) -> KnownOptions {
    KnownOptions { scenario, options, laws }
}

/// Refuses a flag that a scenario that ships does not know.
///
/// # Errors
/// The first such flag, with the scenarios that know it; or a law that it does not compare.
pub(super) fn check_scenario(
    named: &Named,
    flags: &StormFlags,
    options: &StormOptions,
) -> Result<(), CommandError> {
    let Some(own) = KNOWN.iter().find(|own| own.scenario == named.name) else { return Ok(()) };
    let swept = |option: ScenarioOption| flags.sweep.iter().any(|sweep| option.is_key_of(sweep));
    let asked = |option: &ScenarioOption| option.is_given(flags) || swept(*option);
    let unknown = |option: &ScenarioOption| !own.knows(*option);
    if let Some(option) = ScenarioOption::ALL.iter().find(|it| asked(it) && unknown(it)) {
        return Err(option.refused(named.name));
    }
    let compares = |law: &Law| *law == Law::NoRetry || own.laws.contains(law);
    match options.laws.iter().find(|law| !compares(law)) {
        Some(law) => {
            let message = format!("the scenario '{}' does not compare the law '{law}'", named.name);
            Err(CommandError::flag(ErrorKind::ArgumentConflict, &message))
        }
        None => Ok(()),
    }
}

/// Refuses a flag that the shapes of the laws do not know: they have neither backend nor attempts.
///
/// # Errors
/// The first such flag.
pub(super) fn check_shapes(flags: &StormFlags) -> Result<(), CommandError> {
    match given(flags, &[Callers, Base, Cap]) {
        Some(option) => Err(option.refused("shapes")),
        None => Ok(()),
    }
}

/// Refuses every option of scenarios beside the list.
///
/// # Errors
/// The first such flag.
pub(super) fn check_list(flags: &StormFlags) -> Result<(), CommandError> {
    match given(flags, &[]) {
        Some(option) => Err(option.refused("list")),
        None => Ok(()),
    }
}

/// Refuses the options that a scenario file has settings for: callers, and the end of the outage.
///
/// # Errors
/// The first such flag.
pub(super) fn check_file(flags: &StormFlags) -> Result<(), CommandError> {
    let Some(option) = [UpAt, Callers].into_iter().find(|option| option.is_given(flags)) else {
        return Ok(());
    };
    let message = format!(
        "the argument '{}' does not apply to a scenario file: change the file, or --sweep a key",
        option.flag()
    );
    Err(CommandError::flag(ErrorKind::ArgumentConflict, &message))
}

/// Returns the first option that is given and not among those that fit.
fn given(flags: &StormFlags, fit: &[ScenarioOption]) -> Option<ScenarioOption> {
    ScenarioOption::ALL.into_iter().find(|it| it.is_given(flags) && !fit.contains(it))
}

impl ScenarioOption {
    const ALL: [Self; 10] =
        [UpAt, Beside, Callers, Attempts, Base, Cap, Laws, Equal, Policy, Sweep];

    const fn flag(self) -> &'static str {
        match self {
            UpAt => "--up-at",
            Beside => "--beside",
            Callers => "--callers",
            Attempts => "--attempts",
            Base => "--base",
            Cap => "--cap",
            Laws => "--law",
            Equal => "--equal",
            Policy => "--policy",
            Sweep => "--sweep",
        }
    }

    const fn is_given(self, flags: &StormFlags) -> bool {
        match self {
            UpAt => flags.up_at.is_some(),
            Beside => flags.beside.is_some(),
            Callers => flags.callers.is_some(),
            Attempts => flags.attempts.is_some(),
            Base => flags.base.is_some(),
            Cap => flags.cap.is_some(),
            Laws => !flags.law.is_empty(),
            Equal => flags.equal.is_some(),
            Policy => !flags.policy.is_empty(),
            Sweep => !flags.sweep.is_empty(),
        }
    }

    /// Whether this text of `--sweep` sets what this flag sets.
    fn is_key_of(self, sweep: &str) -> bool {
        let name = self.flag().trim_start_matches('-');
        sweep.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
    }

    /// Refuses it for a scenario, and names those that know it.
    fn refused(self, scenario: &str) -> CommandError {
        let others = KNOWN.iter().filter(|other| other.knows(self));
        let others: Vec<&str> = others.map(|other| other.scenario).collect();
        let message = format!(
            "the argument '{}' does not apply to the scenario '{scenario}': it must be one of {}",
            self.flag(),
            others.join(", "),
        );
        CommandError::flag(ErrorKind::ArgumentConflict, &message)
    }
}

impl KnownOptions {
    fn knows(&self, option: ScenarioOption) -> bool {
        match option {
            Sweep => true,
            Laws => !self.laws.is_empty(),
            other => self.options.contains(&other),
        }
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Span;
    use stagger_sim::CATALOGUE;

    use super::*;

    /// Two values of an option, under which a scenario that knows it plays differently.
    fn tried(option: ScenarioOption) -> Option<[StormOptions; 2]> {
        let with = |change: &dyn Fn(&mut StormOptions)| {
            let mut options = StormOptions::default();
            change(&mut options);
            options
        };
        let spans = |set: fn(&mut StormOptions, Span), one: u64| {
            [one, 2 * one].map(|ms| with(&|options| set(options, Span::from_millis(ms))))
        };
        let counts = |set: fn(&mut StormOptions, u32), one: u32| {
            [one, 2 * one].map(|count| with(&|options| set(options, count)))
        };
        Some(match option {
            UpAt => spans(|options, span| options.up_at = Some(span), 1_000),
            Base => spans(|options, span| options.base = Some(span), 1),
            Cap => spans(|options, span| options.cap = Some(span), 3_600_000),
            Beside => counts(|options, count| options.beside = Some(count), 100),
            Callers => counts(|options, count| options.callers = Some(count), 1_000),
            Attempts => counts(|options, count| options.attempts = Some(count), 2),
            Laws => [vec![Law::NoRetry], Law::ALL.to_vec()]
                .map(|laws| with(&|options| options.laws.clone_from(&laws))),
            Equal => [
                StormOptions::default(),
                with(&|options| options.equal = stagger_sim::Equal::MeanWait),
            ],
            Policy => [
                StormOptions::default(),
                with(&|options| {
                    options.policies = vec![(String::new(), stagger_core::Policy::default())];
                }),
            ],
            Sweep => return None,
        })
    }

    #[test]
    fn the_table_has_every_scenario_and_no_other() {
        let declared = KNOWN.map(|own| own.scenario);
        assert!(CATALOGUE.iter().map(|named| named.name).eq(declared));
    }

    #[test]
    fn a_scenario_knows_the_options_that_change_what_it_plays() {
        for (named, own) in CATALOGUE.iter().zip(KNOWN) {
            for option in ScenarioOption::ALL {
                let Some([one, other]) = tried(option) else { continue };
                let place = (named.name, option);
                assert_eq!(own.knows(option), named.heeds(&one, &other), "{place:?}");
            }
            let only = |law| StormOptions { laws: vec![law], ..StormOptions::default() };
            for law in COMPARED {
                let compares = named.heeds(&only(law), &only(Law::NoRetry));
                assert_eq!(own.laws.contains(&law), compares, "{}, {law}", named.name);
            }
        }
        assert_eq!(COMPARED.len() + 1, Law::ALL.len());
    }
}
