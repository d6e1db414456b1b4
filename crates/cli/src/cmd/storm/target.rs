//! The target of a storm: a scenario, the shapes of the laws, or the list of them all.

use std::ffi::OsStr;

use clap::error::ErrorKind;
use stagger_core::{Policy, Span};
use stagger_sim::{CATALOGUE, Named, Scenario, StormOptions};
use stagger_text::nearest;

use super::grid::SweepGrid;
use super::known_options as known;
use super::scenario_source::ScenarioSource;
use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::policy_file::{Loaded, PolicyArgument};
use crate::shipped::ShippedScenario;

/// The target that the flags ask for.
#[derive(Debug)]
pub(super) enum Target {
    /// The list of what there is.
    List,
    /// A report of its own, because it has no callers.
    Shapes,
    /// Callers, a backend and what goes wrong with it.
    Scenario(Box<Scenario>, Origin),
    /// The same under a grid of settings.
    Grid(Box<SweepGrid>),
}

/// The origin of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The catalogue.
    Catalogue,
    /// A scenario file: one that ships, or one of the user.
    File,
}

/// The report of delays alone, which is no scenario of callers.
pub(super) const SHAPES: (&str, &str, &str) =
    ("shapes", "L11", "The laws alone: means, the weight on the cap, uniform against Gaussian");
/// The scenario that is played when none is named.
const DEFAULT: (&str, Span) = ("lockstep", Span::from_millis(200));

impl Target {
    /// The target of these flags.
    ///
    /// # Errors
    /// A name that is not known, or a flag that does not apply.
    pub(super) fn of(flags: &StormFlags) -> Result<Self, CommandError> {
        if let Some(file) = flags.scenario.as_deref().filter(|name| is_file(name)) {
            known::check_file(flags)?;
            return played(&ScenarioSource::open(file.as_ref(), flags, options(flags)?)?, flags);
        }
        let Some(name) = flags.scenario.as_deref().and_then(OsStr::to_str) else {
            let up_at = flags.up_at.or(Some(DEFAULT.1));
            let named = Named::find(DEFAULT.0).ok_or_else(|| unknown(DEFAULT.0))?;
            let swept = flags.sweep.iter().any(|sweep| sweep.starts_with("up-at="));
            let up_at = if swept { flags.up_at } else { up_at };
            return scenario(named, flags, StormOptions { up_at, ..options(flags)? });
        };
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("list") {
            return known::check_list(flags).map(|()| Self::List);
        }
        if is(SHAPES.0) || is(SHAPES.1) {
            return known::check_shapes(flags).map(|()| Self::Shapes);
        }
        if let Some(shipped) = ShippedScenario::find(name) {
            known::check_file(flags)?;
            return played(&ScenarioSource::shipped(&shipped, flags, options(flags)?), flags);
        }
        let named = Named::find(name).ok_or_else(|| unknown(name))?;
        scenario(named, flags, options(flags)?)
    }
}

/// Names of scenarios are text, and have neither points nor slashes.
fn is_file(name: &OsStr) -> bool {
    name.to_str().is_none_or(|name| name.contains(['.', '/', std::path::MAIN_SEPARATOR]))
}

fn scenario(
    named: &'static Named,
    flags: &StormFlags,
    options: StormOptions,
) -> Result<Target, CommandError> {
    known::check_scenario(named, flags, &options)?;
    played(&ScenarioSource::Named(named, options), flags)
}

fn played(source: &ScenarioSource, flags: &StormFlags) -> Result<Target, CommandError> {
    if !flags.sweep.is_empty() {
        return SweepGrid::of(source, &flags.sweep).map(|grid| Target::Grid(Box::new(grid)));
    }
    let mut scenario = source.scenario(&[])?;
    let given = [
        ("callers", flags.callers.map(|callers| callers.to_string())),
        ("up at", up_at(source).map(|up_at| up_at.to_string())),
    ];
    for (name, value) in given {
        let told = scenario.parameters.iter().any(|(known, _)| known == name);
        let parameter = value.filter(|_| !told).map(|value| (name.to_owned(), value));
        scenario.parameters.extend(parameter);
    }
    let origin = match source {
        ScenarioSource::Named(..) => Origin::Catalogue,
        ScenarioSource::File(_) | ScenarioSource::Log(_) => Origin::File,
    };
    Ok(Target::Scenario(Box::new(scenario), origin))
}

fn up_at(source: &ScenarioSource) -> Option<Span> {
    if let ScenarioSource::Named(_, options) = source { options.up_at } else { None }
}

/// The options of a scenario that the flags change.
pub(super) fn options(flags: &StormFlags) -> Result<StormOptions, CommandError> {
    Ok(StormOptions {
        seed: flags.seed,
        runs: flags.runs,
        callers: flags.callers,
        up_at: flags.up_at,
        beside: flags.beside,
        base: flags.base,
        cap: flags.cap,
        attempts: flags.attempts,
        laws: flags.law.clone(),
        equal: flags.equal.unwrap_or_default(),
        policies: policies(&flags.policy)?,
    })
}

/// Names of all that can be played.
fn names() -> impl Iterator<Item = &'static str> {
    let shipped = ShippedScenario::all().map(|shipped| shipped.name);
    CATALOGUE.iter().map(|named| named.name).chain([SHAPES.0, "list"]).chain(shipped)
}

fn unknown(name: &str) -> CommandError {
    let meant = match nearest(&name.to_ascii_lowercase(), names()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => "'stagger storm list' shows them all".to_owned(),
    };
    let message = format!("there is no scenario '{name}': {meant}");
    CommandError::flag(ErrorKind::InvalidValue, &message)
}

/// The policies that the flags name: all of a file, or one of it.
///
/// # Errors
/// A file that cannot be read or is wrong, or a name that is not in it.
fn policies(asked: &[PolicyArgument]) -> Result<Vec<(String, Policy)>, CommandError> {
    let mut all = Vec::new();
    for asked in asked {
        let loaded = Loaded::open(asked)?;
        all.extend(loaded.policies.into_iter().map(|entry| (entry.name, entry.policy)));
    }
    Ok(all)
}
