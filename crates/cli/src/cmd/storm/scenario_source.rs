//! Sources of scenarios: the catalogue, or a file.

use std::path::Path;

use stagger_sim::{Named, Scenario, StormOptions};

use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::scenario_file::{self, ScenarioOverrides};
use crate::toml_file::{Document, Flaw};
use stagger_text::nearest;

/// The source of a scenario, with settings that change from one time to the next.
#[derive(Debug)]
pub(super) enum ScenarioSource {
    /// One that ships.
    Named(&'static Named, StormOptions),
    /// The text of a file.
    File(Box<ScenarioText>),
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
        let text = read(file)?;
        let given = ScenarioOverrides { options, equal: flags.equal };
        Ok(Self::File(Box::new(ScenarioText { file: file.display().to_string(), text, given })))
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
        }
    }
}

impl ScenarioText {
    fn scenario(&self, settings: &[(&str, &str)]) -> Result<Scenario, CommandError> {
        let shown = |flaw: Flaw| CommandError::File(flaw.show(&self.file, &self.text));
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

/// The text of a file.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn read(file: &Path) -> Result<String, CommandError> {
    let refused = |error| CommandError::File(format!("error: {}: {error}", file.display()));
    std::fs::read_to_string(file).map_err(refused)
}

fn set(options: &mut StormOptions, key: &str, value: &str) -> Result<(), CommandError> {
    let bad = |bound: &str| {
        CommandError::bad_value(&format!("--sweep: {key} = {value}: must be {bound}"))
    };
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
        _ => {
            let near = nearest(key, KEYS.into_iter());
            let hint = near.map_or_else(
                || format!("there are {}", KEYS.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            return Err(CommandError::bad_value(&format!("--sweep: unknown key {key}: {hint}")));
        }
    }
    Ok(())
}
