//! `stagger storm`: flags to a scenario or a log, its report to a page in the form that is asked for.

use clap::error::ErrorKind;
use comfy_table::ContentArrangement;
use serde::Serialize;
use stagger_sim::{CATALOGUE, Shapes, ShapesReport};

use super::files::{Files, heat_map};
use super::pages::{report_page, sweep_page};
use super::playback::Playback;
use super::replay;
use super::sockets;
use super::target::{Origin, SHAPES, Target};
use crate::command_error::CommandError;
use crate::flags::{StormFlags, StormFormat};
use crate::render::{self, Storm};
use crate::shipped::ShippedScenario;
use crate::streams;

/// Plays what the flags ask for, and returns the page.
///
/// # Errors
/// A flag that the scenario does not know, or values that do not go together.
pub(crate) fn storm(flags: &StormFlags) -> Result<String, CommandError> {
    if !flags.from_log.is_empty() {
        return replay::replay(flags);
    }
    match Target::of(flags)? {
        Target::List => no_sockets(flags, "list").map(|()| list_page(flags.format)),
        Target::Shapes => no_sockets(flags, "shapes").and_then(|()| shapes(flags)),
        Target::Scenario(scenario, origin) => {
            if let Some(page) = sockets::played(flags, &scenario)? {
                return Ok(page);
            }
            let files = Files::of(flags)?;
            let playback = Playback::begin(flags, &scenario.name);
            let report = playback.play(&scenario)?;
            playback.finish();
            files.write(&report, None, None)?;
            let storm = Storm::new(&scenario, &report).reading_out(origin == Origin::File);
            Ok(report_page(flags.format, &storm))
        }
        Target::Grid(grid) => {
            let files = Files::of(flags)?;
            let playback = Playback::begin(flags, &grid.scenario.name);
            let report = playback.play(&grid.scenario)?;
            playback.finish();
            files.write(&report, Some(heat_map(&grid.swept, &report)), None)?;
            Ok(sweep_page(flags.format, &grid.swept, &report))
        }
    }
}

/// No files and no sockets, for what has neither pictures nor callers.
///
/// # Errors
/// A flag that asks for one.
fn no_sockets(flags: &StormFlags, of: &str) -> Result<(), CommandError> {
    if let Some(flag) = flags.load.given() {
        let message = format!("the argument '{flag}' does not apply to '{of}'");
        return Err(CommandError::flag(ErrorKind::ArgumentConflict, &message));
    }
    Files::none(flags, of)
}

fn shapes(flags: &StormFlags) -> Result<String, CommandError> {
    let default = Shapes::default();
    let shapes = Shapes {
        seed: flags.seed.unwrap_or(default.seed),
        runs: flags.runs.unwrap_or(default.runs),
        chains: flags.callers.unwrap_or(default.chains),
        base: flags.base.unwrap_or(default.base),
        cap: flags.cap.unwrap_or(default.cap),
    };
    let playback = Playback::begin(flags, "shapes");
    let report = playback.draw(&shapes).map_err(|error| CommandError::of_option(&error))?;
    playback.finish();
    Ok(shapes_page(flags.format, &shapes, &report))
}

/// The shapes of the laws.
fn shapes_page(format: StormFormat, shapes: &Shapes, report: &ShapesReport) -> String {
    match format {
        StormFormat::Table => render::shapes_table(shapes, report, streams::page_width()),
        StormFormat::Json => render::shapes_json(shapes, report),
        StormFormat::Csv => render::shapes_csv(report),
    }
}

/// One scenario of the list.
#[derive(Clone, Copy, Debug, Serialize)]
struct Listed {
    name: &'static str,
    /// The table of the reference that it reproduces.
    table: Option<&'static str>,
    about: &'static str,
}

/// The list: every scenario with its table and one line.
fn list_page(format: StormFormat) -> String {
    let named =
        CATALOGUE.iter().map(|it| Listed { name: it.name, table: it.table, about: it.about });
    let shapes = Listed { name: SHAPES.0, table: Some(SHAPES.1), about: SHAPES.2 };
    let shipped = ShippedScenario::all();
    let shipped = shipped.map(|it| Listed { name: it.name, table: None, about: it.about });
    let all: Vec<Listed> = named.chain([shapes]).chain(shipped).collect();
    let columns = [("scenario", &["name"][..]), ("table", &["table"]), ("about", &["about"])];
    match format {
        StormFormat::Table => {
            let mut table = render::plain(&columns.map(|(name, _)| name.to_owned()));
            let width = u16::try_from(streams::page_width()).unwrap_or(u16::MAX);
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            for it in all {
                table.add_row([it.name, it.table.unwrap_or_default(), it.about]);
            }
            render::text(&table) + "\n"
        }
        StormFormat::Json => render::page(&all),
        StormFormat::Csv => render::csv_lines(None, &columns, all.iter()),
    }
}
