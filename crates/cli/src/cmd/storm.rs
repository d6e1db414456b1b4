//! `stagger storm`: flags to a scenario, its report to a page.

use std::num::NonZeroUsize;
use std::thread;

use clap::CommandFactory;
use clap::error::ErrorKind;
use stagger_core::ConfigError;
use stagger_sim::{Crew, Law, Lockstep, Poisson, Schedule, Shapes, Tutorial};

use crate::flags::{Flags, Format, Scenario, StormFlags};
use crate::progress;
use crate::render::{self, Storm};

/// Plays what the flags ask for.
///
/// # Errors
/// A flag that the scenario does not know, or values that do not go together.
pub(crate) fn storm(flags: &StormFlags) -> Result<String, clap::Error> {
    refuse_what_does_not_apply(flags)?;
    let page = match flags.scenario {
        Scenario::Lockstep => lockstep(flags),
        Scenario::Tutorial => tutorial(flags),
        Scenario::Poisson => poisson(flags),
        Scenario::Shapes => shapes(flags),
    };
    page.map_err(|error| refuse(ErrorKind::ValueValidation, &in_flags(&error)))
}

fn lockstep(flags: &StormFlags) -> Result<String, ConfigError> {
    let default = Lockstep::default();
    let storm = Lockstep {
        seed: flags.seed,
        runs: flags.runs.unwrap_or(default.runs),
        callers: flags.callers.unwrap_or(default.callers),
        up_at: flags.up_at.unwrap_or(default.up_at),
        schedule: schedule(flags),
        laws: laws(flags),
    };
    let attempts = storm.jobs().saturating_mul(most(storm.callers, storm.schedule));
    let report = play(flags, storm.jobs(), attempts, |crew| storm.run(crew))?;
    Ok(print(flags.format, &Storm::Lockstep(&storm, &report)))
}

fn tutorial(flags: &StormFlags) -> Result<String, ConfigError> {
    let default = Tutorial::default();
    let storm = Tutorial {
        seed: flags.seed,
        runs: flags.runs.unwrap_or(default.runs),
        callers: flags.callers.unwrap_or(default.callers),
        schedule: schedule(flags),
        laws: laws(flags),
        ..default
    };
    let attempts = storm.jobs().saturating_mul(u64::from(storm.callers));
    let report = play(flags, storm.jobs(), attempts, |crew| storm.run(crew))?;
    Ok(print(flags.format, &Storm::Tutorial(&storm, &report)))
}

fn poisson(flags: &StormFlags) -> Result<String, ConfigError> {
    let default = Poisson::default();
    let storm = Poisson {
        seed: flags.seed,
        runs: flags.runs.unwrap_or(default.runs),
        schedule: schedule(flags),
        laws: with_no_retry(laws(flags)),
        ..default
    };
    let callers = u64::from(Poisson::RATE) * Poisson::LENGTH.as_secs_ceil();
    let attempts = storm.jobs().saturating_mul(callers);
    let report = play(flags, storm.jobs(), attempts, |crew| storm.run(crew))?;
    Ok(print(flags.format, &Storm::Poisson(&report)))
}

fn shapes(flags: &StormFlags) -> Result<String, ConfigError> {
    let default = Shapes::default();
    let shapes = Shapes {
        seed: flags.seed,
        runs: flags.runs.unwrap_or(default.runs),
        chains: flags.callers.unwrap_or(default.chains),
        base: flags.base.unwrap_or(default.base),
        cap: flags.cap.unwrap_or(default.cap),
    };
    let draws = shapes.jobs().saturating_mul(u64::from(shapes.chains));
    let report = play(flags, shapes.jobs(), draws, |crew| shapes.run(crew))?;
    Ok(match flags.format {
        Format::Table => render::shapes_table(&shapes, &report),
        Format::Json => render::shapes_json(&shapes, &report),
        Format::Csv => render::shapes_csv(&report),
    })
}

fn print(format: Format, storm: &Storm<'_>) -> String {
    match format {
        Format::Table => render::table(storm),
        Format::Json => render::json(storm),
        Format::Csv => render::csv(storm),
    }
}

fn play<T>(flags: &StormFlags, jobs: u64, work: u64, run: impl FnOnce(&Crew<'_>) -> T) -> T {
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let bar = progress::bar(jobs, work);
    let tell = || bar.inc(1);
    let played = run(&Crew::new(flags.threads.unwrap_or_else(cores)).telling(&tell));
    bar.finish_and_clear();
    played
}

/// The most attempts that one run can make, for the progress bar to know what is long.
fn most(callers: u32, schedule: Schedule) -> u64 {
    u64::from(callers).saturating_mul(u64::from(schedule.attempts))
}

fn schedule(flags: &StormFlags) -> Schedule {
    let default = Schedule::default();
    Schedule {
        base: flags.base.unwrap_or(default.base),
        cap: flags.cap.unwrap_or(default.cap),
        attempts: flags.attempts.unwrap_or(default.attempts),
    }
}

/// The laws asked for, each once, in the order of the reports; all of them by default.
fn laws(flags: &StormFlags) -> Vec<Law> {
    let asked = |law: &Law| flags.law.is_empty() || flags.law.contains(law);
    Law::ALL.into_iter().filter(asked).collect()
}

/// Peaks of Poisson traffic mean nothing without the noise of the arrivals beside them.
fn with_no_retry(mut laws: Vec<Law>) -> Vec<Law> {
    if laws.first() != Some(&Law::NoRetry) {
        laws.insert(0, Law::NoRetry);
    }
    laws
}

fn refuse_what_does_not_apply(flags: &StormFlags) -> Result<(), clap::Error> {
    use Scenario::{Lockstep, Poisson, Shapes, Tutorial};
    let rules: [(&str, bool, &[Scenario]); 4] = [
        ("--up-at", flags.up_at.is_some(), &[Lockstep]),
        ("--callers", flags.callers.is_some(), &[Lockstep, Tutorial, Shapes]),
        ("--attempts", flags.attempts.is_some(), &[Lockstep, Tutorial, Poisson]),
        ("--law", !flags.law.is_empty(), &[Lockstep, Tutorial, Poisson]),
    ];
    for (flag, given, scenarios) in rules {
        if given && !scenarios.contains(&flags.scenario) {
            let known: Vec<&str> = scenarios.iter().map(|scenario| scenario.name()).collect();
            let scenario = flags.scenario.name();
            let message = format!(
                "the argument '{flag}' does not apply to the scenario '{scenario}': \
                 it must be one of {}",
                known.join(", "),
            );
            return Err(refuse(ErrorKind::ArgumentConflict, &message));
        }
    }
    Ok(())
}

/// The engine's refusal with its fields called by their flags.
fn in_flags(error: &ConfigError) -> String {
    let named =
        |text: &str| text.replace("backoff.", "--").replace("limits.max_attempts", "--attempts");
    let flag = named(error.field());
    format!("invalid value '{}' for '{flag}': must be {}", error.value(), named(error.bound()))
}

fn refuse(kind: ErrorKind, message: &str) -> clap::Error {
    let mut command = Flags::command();
    command.build();
    match command.find_subcommand_mut("storm") {
        Some(storm) => storm.error(kind, message),
        None => command.error(kind, message),
    }
}
