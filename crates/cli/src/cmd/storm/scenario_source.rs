//! Sources of scenarios: the catalogue, or a file.

use std::path::Path;

use stagger_replay::{AccessLog, Replay, ReplayOptions};
use stagger_sim::{Named, Scenario, StormOptions};
use stagger_text::hint;
use stagger_text::settings::{Document, Flaw};

use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::policy_file::read;
use crate::render::YOURS;
use crate::scenario_file::{self, ScenarioOverrides};
use crate::shipped::ShippedScenario;
use crate::streams;

/// The source of a scenario, with settings that change from one time to the next.
#[derive(Debug)]
pub(super) enum ScenarioSource {
    /// One that ships.
    Named(&'static Named, StormOptions),
    /// The text of a file.
    File(Box<ScenarioText>),
    /// An access log.
    Log(Box<LogReplay>),
}

/// A log that was read, what is known besides, and the settings of the callers.
#[derive(Debug)]
pub(super) struct LogReplay {
    log: AccessLog,
    options: StormOptions,
    known: ReplayOptions,
}

/// A file, and what the command line says beside it.
#[derive(Debug)]
pub(super) struct ScenarioText {
    file: String,
    text: String,
    given: ScenarioOverrides,
}

/// The settings of scenarios that ship.
const KEYS: [&str; 5] = ["callers", "up-at", "base", "cap", "attempts"];
/// The settings of a replay.
const LOG_KEYS: [&str; 4] = ["base", "cap", "attempts", "capacity"];
/// Short names for what is swept most in files.
const SHORT: [(&str, &str); 2] = [("outage", "fault.lasts"), ("load", "arrivals.rate")];

impl ScenarioSource {
    /// Reads a file; the flags win over what it says.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn open(
        file: &Path,
        flags: &StormFlags,
        options: StormOptions,
    ) -> Result<Self, CommandError> {
        let (file, text) = read(file)?;
        let given = ScenarioOverrides { options, equal: flags.equal };
        Ok(Self::File(Box::new(ScenarioText { file, text, given })))
    }

    /// The replays of a log.
    pub(super) fn of_log(log: AccessLog, options: StormOptions, known: ReplayOptions) -> Self {
        Self::Log(Box::new(LogReplay { log, options, known }))
    }

    /// A scenario file that ships. Policies of the command line are rows called `yours`.
    pub(super) fn shipped(
        shipped: &ShippedScenario,
        flags: &StormFlags,
        mut options: StormOptions,
    ) -> Self {
        let alone = options.policies.len() == 1;
        for (name, _) in &mut options.policies {
            *name = if alone { YOURS.to_owned() } else { format!("{YOURS}, {name}") };
        }
        let given = ScenarioOverrides { options, equal: flags.equal };
        let (file, text) = (shipped.name.to_owned(), shipped.text.to_owned());
        Self::File(Box::new(ScenarioText { file, text, given }))
    }

    /// The scenario with other settings: keys with their values as text.
    ///
    /// # Errors
    /// A setting that there is not, or a value that is refused; a file that is wrong.
    pub(super) fn scenario(&self, settings: &[(&str, &str)]) -> Result<Scenario, CommandError> {
        match self {
            Self::Named(named, options) => {
                let mut options = options.clone();
                for (key, value) in settings {
                    set(&mut options, key, value)?;
                }
                named.scenario(&options).map_err(|error| CommandError::of_option(&error))
            }
            Self::File(text) => text.scenario(settings),
            Self::Log(replay) => replay.scenario(settings),
        }
    }
}

impl LogReplay {
    fn scenario(&self, settings: &[(&str, &str)]) -> Result<Scenario, CommandError> {
        let (mut options, mut known) = (self.options.clone(), self.known.clone());
        for (key, value) in settings {
            match *key {
                "capacity" => {
                    let bound = "a whole number from 1 on";
                    let count = value.parse().ok().filter(|count: &u32| *count > 0);
                    known.capacity = Some(count.ok_or_else(|| refused(key, value, bound))?);
                }
                "base" | "cap" | "attempts" => set(&mut options, key, value)?,
                _ => return Err(unknown(key, &LOG_KEYS)),
            }
        }
        let replay = Replay::with(&self.log, &options, &known);
        replay.map(|replay| replay.scenario).map_err(|error| CommandError::of_option(&error))
    }
}

impl ScenarioText {
    fn scenario(&self, settings: &[(&str, &str)]) -> Result<Scenario, CommandError> {
        let shown = |flaw: Flaw| {
            CommandError::File({
                let colours = streams::errors_have_colours();
                flaw.show(&self.file, &self.text, colours)
            })
        };
        let mut document = Document::parse(&self.text).map_err(shown)?;
        // A value of the command line has no place in the file, so it is refused in words alone.
        let swept = |why: &str| CommandError::bad_value(&format!("--sweep: {why}"));
        if !settings.is_empty() {
            // A sweep asks about its own values.
            document = document.without("vary");
        }
        for (key, value) in settings {
            let key = SHORT.iter().find(|(short, _)| short == key).map_or(*key, |(_, long)| long);
            document = document.with_text(key, value).map_err(|why| swept(&why))?;
        }
        let path = Path::new(&self.file);
        let name = path.file_stem().map_or_else(String::new, |stem| stem.display().to_string());
        scenario_file::read(&name, &document, &self.given)
            .map_err(|flaw| if settings.is_empty() { shown(flaw) } else { swept(flaw.message()) })
    }
}

fn set(options: &mut StormOptions, key: &str, value: &str) -> Result<(), CommandError> {
    let bad = |bound: &str| refused(key, value, bound);
    let span = || value.parse().map(Some).map_err(|error| bad(&format!("{error}")));
    let count = || match value.parse::<u32>() {
        Ok(count) if count > 0 => Ok(Some(count)),
        _ => Err(bad("a whole number from 1 on")),
    };
    match key {
        "callers" => options.callers = count()?,
        "attempts" => options.attempts = count()?,
        "up-at" => options.up_at = span()?,
        "base" => options.base = span()?,
        "cap" => options.cap = span()?,
        _ => return Err(unknown(key, &KEYS)),
    }
    Ok(())
}

fn refused(key: &str, value: &str, bound: &str) -> CommandError {
    CommandError::bad_value(&format!("--sweep: {key} = {value}: must be {bound}"))
}

fn unknown(key: &str, keys: &[&str]) -> CommandError {
    CommandError::bad_value(&format!("--sweep: unknown key {key}: {}", hint(key, keys)))
}
