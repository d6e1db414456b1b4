//! Flags that a scenario does not use are refused: to ignore them would answer another question.

use clap::error::ErrorKind;
use stagger_core::{Policy, Span};
use stagger_sim::{CATALOGUE, Equal, Law, Named, Options};

use crate::command_error::CommandError;
use crate::flags::StormFlags;

/// Whether these flags go with a scenario that ships.
///
/// # Errors
/// The first flag that it does not use, with the scenarios that do.
pub(super) fn to_scenario(
    named: &Named,
    flags: &StormFlags,
    options: &Options,
) -> Result<(), CommandError> {
    let swept = |knob: &Knob| flags.sweep.iter().any(|sweep| knob.sets(sweep));
    for knob in KNOBS.iter().filter(|knob| (knob.given)(flags) || swept(knob)) {
        if knob.flag == "--sweep" {
            continue;
        }
        if !knob.moves(named) {
            let others = CATALOGUE.iter().filter(|other| knob.moves(other));
            return Err(useless(knob.flag, named.name, others.map(|other| other.name)));
        }
    }
    let compares = |law| {
        let only = |law| Options { laws: vec![law], ..options.clone() };
        law == Law::NoRetry || named.heeds(&only(law), &only(Law::NoRetry))
    };
    match options.laws.iter().find(|&&law| !compares(law)) {
        Some(law) => {
            let message = format!("the scenario '{}' does not compare the law '{law}'", named.name);
            Err(CommandError::flag(ErrorKind::ArgumentConflict, &message))
        }
        None => Ok(()),
    }
}

/// Whether these flags go with the shapes of the laws, which have neither backend nor attempts.
///
/// # Errors
/// The first flag that does not.
pub(super) fn to_shapes(flags: &StormFlags) -> Result<(), CommandError> {
    let fits = |knob: &Knob| ["--callers", "--base", "--cap"].contains(&knob.flag);
    match KNOBS.iter().find(|knob| (knob.given)(flags) && !fits(knob)) {
        Some(knob) => Err(useless(knob.flag, "shapes", movers(knob))),
        None => Ok(()),
    }
}

/// Whether these flags go with the list.
///
/// # Errors
/// The first flag that does not.
pub(super) fn to_list(flags: &StormFlags) -> Result<(), CommandError> {
    match KNOBS.iter().find(|knob| (knob.given)(flags)) {
        Some(knob) => Err(useless(knob.flag, "list", movers(knob))),
        None => Ok(()),
    }
}

/// Whether these flags go with a file, which says how many callers there are and when what is up.
///
/// # Errors
/// The first flag that does not.
pub(super) fn to_file(flags: &StormFlags) -> Result<(), CommandError> {
    let fits = |knob: &Knob| !["--callers", "--up-at"].contains(&knob.flag);
    match KNOBS.iter().find(|knob| (knob.given)(flags) && !fits(knob)) {
        Some(knob) => {
            let message = format!(
                "the argument '{}' does not apply to a scenario file: change the file, or --sweep a key",
                knob.flag
            );
            Err(CommandError::flag(ErrorKind::ArgumentConflict, &message))
        }
        None => Ok(()),
    }
}

/// One option, and two values of it.
struct Knob {
    flag: &'static str,
    given: fn(&StormFlags) -> bool,
    tried: [fn() -> Options; 2],
}

const KNOBS: [Knob; 10] = [
    Knob {
        flag: "--up-at",
        given: |flags| flags.up_at.is_some(),
        tried: [
            || Options { up_at: Some(Span::from_secs(1)), ..Options::default() },
            || Options { up_at: Some(Span::from_secs(2)), ..Options::default() },
        ],
    },
    Knob {
        flag: "--beside",
        given: |flags| flags.beside.is_some(),
        tried: [
            || Options { beside: Some(100), ..Options::default() },
            || Options { beside: Some(200), ..Options::default() },
        ],
    },
    Knob {
        flag: "--callers",
        given: |flags| flags.callers.is_some(),
        tried: [
            || Options { callers: Some(1_000), ..Options::default() },
            || Options { callers: Some(2_000), ..Options::default() },
        ],
    },
    Knob {
        flag: "--attempts",
        given: |flags| flags.attempts.is_some(),
        tried: [
            || Options { attempts: Some(3), ..Options::default() },
            || Options { attempts: Some(4), ..Options::default() },
        ],
    },
    Knob {
        flag: "--base",
        given: |flags| flags.base.is_some(),
        tried: [
            || Options { base: Some(Span::from_millis(1)), ..Options::default() },
            || Options { base: Some(Span::from_millis(2)), ..Options::default() },
        ],
    },
    Knob {
        flag: "--cap",
        given: |flags| flags.cap.is_some(),
        tried: [
            || Options { cap: Some(Span::from_secs(3_600)), ..Options::default() },
            || Options { cap: Some(Span::from_secs(7_200)), ..Options::default() },
        ],
    },
    Knob {
        flag: "--law",
        given: |flags| !flags.law.is_empty(),
        tried: [
            || Options { laws: vec![Law::NoRetry], ..Options::default() },
            || Options { laws: Law::ALL.to_vec(), ..Options::default() },
        ],
    },
    Knob {
        flag: "--equal",
        given: |flags| flags.equal.is_some(),
        tried: [Options::default, || Options { equal: Equal::MeanWait, ..Options::default() }],
    },
    Knob {
        flag: "--policy",
        given: |flags| !flags.policy.is_empty(),
        tried: [Options::default, || {
            let policies = vec![(String::new(), Policy::default())];
            Options { policies, ..Options::default() }
        }],
    },
    Knob {
        flag: "--sweep",
        given: |flags| !flags.sweep.is_empty(),
        // What is swept is an option of its own; that one is asked about by its key.
        tried: [Options::default, || Options { laws: vec![Law::NoRetry], ..Options::default() }],
    },
];

impl Knob {
    /// Whether this text of `--sweep` sets what this flag sets.
    fn sets(&self, sweep: &str) -> bool {
        let name = self.flag.trim_start_matches('-');
        sweep.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
    }

    /// Whether the scenario plays something else when this is changed.
    fn moves(&self, named: &Named) -> bool {
        let [one, other] = self.tried;
        named.heeds(&one(), &other())
    }
}

fn movers(knob: &Knob) -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().filter(|named| knob.moves(named)).map(|named| named.name)
}

fn useless<'n>(flag: &str, scenario: &str, others: impl Iterator<Item = &'n str>) -> CommandError {
    let others: Vec<&str> = others.collect();
    let message = format!(
        "the argument '{flag}' does not apply to the scenario '{scenario}': it must be one of {}",
        others.join(", "),
    );
    CommandError::flag(ErrorKind::ArgumentConflict, &message)
}
