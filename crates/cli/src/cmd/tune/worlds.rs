//! The worlds of a search: from flags, from a scenario file, or from an access log.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use stagger_core::{Backoff, ConfigError, Policy, Span};
use stagger_replay::{Reading, Replay};
use stagger_sim::{Play, Scenario, StormOptions};
use stagger_text::settings::{Document, Flaw};
use stagger_tune::{OutageRange, WorldModel, WorldSource, WorldTemplate};

use crate::command_error::CommandError;
use crate::flags::TuneFlags;
use crate::policy_file::read;
use crate::scenario_file::{self, ScenarioOverrides};
use crate::streams;

/// A source of worlds, with what a reader is told about it.
#[derive(Debug)]
pub(super) struct DescribedWorlds {
    pub(super) source: WorldSource,
    /// Names and values.
    pub(super) parameters: Vec<(String, String)>,
}

/// Load and capacity of worlds that no flag describes.
const LOAD: f64 = 100.0;
const CAPACITY: f64 = 200.0;
/// The name under which the policy that is searched stands in a scenario.
const MARKER: &str = "tuned";

/// The worlds of these flags.
///
/// # Errors
/// A flag or a file that is wrong.
pub(super) fn described(flags: &TuneFlags) -> Result<DescribedWorlds, CommandError> {
    match (&flags.scenario, &flags.from_log) {
        (Some(file), _) => of_scenario(file),
        (None, Some(file)) => of_log(flags, file),
        (None, None) => of_flags(flags),
    }
}

fn of_flags(flags: &TuneFlags) -> Result<DescribedWorlds, CommandError> {
    let rate = |flag: &str, text: &Option<String>, usual: f64| match text {
        None => Ok(usual),
        Some(text) => {
            text.parse::<f64>().map_err(|_| CommandError::invalid(flag, text, "a number"))
        }
    };
    let count = |flag: &str, text: &str| {
        text.parse::<u32>().map_err(|_| CommandError::invalid(flag, text, "a whole number"))
    };
    let load = rate("--load", &flags.load, LOAD)?;
    let capacity = rate("--capacity", &flags.capacity, CAPACITY)?;
    let mut model = WorldModel::new(load, capacity).map_err(|error| refused(&error))?;
    if let Some(text) = &flags.service {
        model = model.with_service(span("--service", text)?).map_err(|error| refused(&error))?;
    }
    if let Some(text) = &flags.processes {
        let processes = count("--processes", text)?;
        model = model.with_processes(processes).map_err(|error| refused(&error))?;
    }
    if let Some(text) = &flags.queue {
        model = model.with_queue(count("--queue", text)?);
    }
    if !flags.outage.is_empty() {
        let outages: Result<Vec<OutageRange>, ConfigError> =
            flags.outage.iter().map(|text| text.parse()).collect();
        let outages = outages.map_err(|error| refused(&error))?;
        model = model.with_outages(outages).map_err(|error| refused(&error))?;
    }
    let parameters = parameters(&model);
    Ok(DescribedWorlds { source: WorldSource::Model(model), parameters })
}

fn parameters(model: &WorldModel) -> Vec<(String, String)> {
    let outages: Vec<String> = model.outages().iter().map(ToString::to_string).collect();
    let queue = model.queue().map_or_else(|| "no bound".to_owned(), |queue| queue.to_string());
    [
        ("load", format!("{}/s", model.load())),
        ("capacity", format!("{}/s", model.capacity())),
        ("service", model.service().to_string()),
        ("processes", model.processes().to_string()),
        ("queue", queue),
        ("outage", outages.join(" or ")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// A policy that no file has: its time of an attempt keeps a log from setting one of its own.
fn marker() -> Result<Policy, ConfigError> {
    let odd = Span::from_nanos(3_599_999_999_937);
    Policy::builder().backoff(Backoff::constant(odd)).max_attempts(7).attempt_timeout(odd).build()
}

/// The options under which a scenario has an entry with the marker.
fn marked(marker: Policy) -> StormOptions {
    StormOptions { policies: vec![(MARKER.to_owned(), marker)], ..StormOptions::default() }
}

fn of_scenario(file: &Path) -> Result<DescribedWorlds, CommandError> {
    let (name, text) = read(file)?;
    let shown =
        |flaw: Flaw| CommandError::File(flaw.show(&name, &text, streams::errors_have_colours()));
    let marker = marker().map_err(|error| refused(&error))?;
    let given = ScenarioOverrides { options: marked(marker), equal: None };
    let document = Document::parse(&text).map_err(shown)?;
    let scenario = scenario_file::read(&name, &document, &given).map_err(shown)?;
    let source = WorldSource::Plans(
        templates(&scenario, &marker)
            .map_err(|error| CommandError::File(format!("error: {name}: {error}")))?,
    );
    Ok(DescribedWorlds { source, parameters: vec![("scenario".to_owned(), scenario.name)] })
}

fn of_log(flags: &TuneFlags, file: &Path) -> Result<DescribedWorlds, CommandError> {
    let name = file.display().to_string();
    let reading =
        Reading { format: flags.log_format, map: flags.log_map.clone(), ..Reading::default() };
    let log =
        File::open(file).map_err(Into::into).and_then(|file| reading.read(BufReader::new(file)));
    let log = log.map_err(|error| CommandError::Log(format!("{name}: {error}")))?;
    let marker = marker().map_err(|error| refused(&error))?;
    let replay = Replay::new(&log, &marked(marker), flags.workers);
    let replay = replay.map_err(|error| {
        CommandError::of_setting(&error, |text| text.replace("capacity", "--workers"))
    })?;
    let source = WorldSource::Plans(
        templates(&replay.scenario, &marker)
            .map_err(|error| CommandError::Log(format!("{name}: {error}")))?,
    );
    let mut parameters = vec![("log".to_owned(), name)];
    let own = ["base", "cap", "attempts"];
    let told = replay.scenario.parameters.into_iter();
    parameters.extend(told.filter(|(name, _)| !own.contains(&name.as_str())));
    Ok(DescribedWorlds { source, parameters })
}

/// A template for each case of a scenario.
fn templates(scenario: &Scenario, marker: &Policy) -> Result<Vec<WorldTemplate>, ConfigError> {
    let entries = scenario.cases.iter().flat_map(|case| &case.entries);
    let marked = entries.filter(|entry| entry.name == MARKER);
    let plans = marked.filter_map(|entry| match &entry.play {
        Play::Run(plan) => Some((**plan).clone()),
        Play::Contention(_) => None,
    });
    plans.map(|plan| WorldTemplate::new(plan, marker)).collect()
}

/// A span of a flag.
pub(super) fn span(flag: &str, text: &str) -> Result<Span, CommandError> {
    text.parse().map_err(|error| CommandError::invalid(flag, text, &format!("{error}")))
}

/// The refusal of a value, whose field is a flag without its dashes.
pub(super) fn refused(error: &ConfigError) -> CommandError {
    CommandError::of_setting(error, |text| match text {
        "success" | "deadline" | "p99" | "load" | "capacity" | "service" | "processes"
        | "queue" | "outage" | "events" => format!("--{text}"),
        _ => text.to_owned(),
    })
}
