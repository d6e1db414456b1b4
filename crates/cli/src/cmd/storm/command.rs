//! `stagger storm`: flags to a scenario, its report to a page.

use stagger_sim::Shapes;

use super::files::Files;
use super::replay;
use super::stage::Stage;
use super::target::Target;
use super::{heat, list};
use crate::command_error::CommandError;
use crate::flags::{Format, StormFlags};
use crate::render::{self, Storm};
use crate::width;

/// Plays what the flags ask for, and gives the page.
///
/// # Errors
/// A flag that the scenario does not know, or values that do not go together.
pub(crate) fn storm(flags: &StormFlags) -> Result<String, CommandError> {
    if let Some(file) = &flags.from_log {
        return replay::page(flags, file);
    }
    match Target::of(flags)? {
        Target::List => Files::none(flags, "list").map(|()| list::page(flags.format)),
        Target::Shapes => Files::none(flags, "shapes").and_then(|()| shapes(flags)),
        Target::Scenario(scenario) => {
            let files = Files::of(flags)?;
            let stage = Stage::set(flags, &scenario.name);
            let report = stage.play(&scenario);
            stage.clear();
            files.write(&report, None)?;
            Ok(print(flags.format, &Storm::new(&scenario, &report)))
        }
        Target::Grid(grid) => {
            let files = Files::of(flags)?;
            let stage = Stage::set(flags, &grid.scenario.name);
            let report = stage.play(&grid.scenario);
            stage.clear();
            files.write(&report, Some(heat::grid(&grid.swept, &report)))?;
            Ok(match flags.format {
                Format::Table => render::sweep_table(&grid.swept, &report, width::of_page()),
                Format::Json => render::sweep_json(&grid.swept, &report),
                Format::Csv => render::sweep_csv(&grid.swept, &report),
            })
        }
    }
}

/// The report in the form asked for.
pub(super) fn print(format: Format, storm: &Storm<'_>) -> String {
    match format {
        Format::Table => render::table(storm, width::of_page()),
        Format::Json => render::json(storm),
        Format::Csv => render::csv(storm),
    }
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
    let stage = Stage::set(flags, "shapes");
    let report = stage.draw(&shapes).map_err(|error| CommandError::of_option(&error))?;
    stage.clear();
    Ok(match flags.format {
        Format::Table => render::shapes_table(&shapes, &report, width::of_page()),
        Format::Json => render::shapes_json(&shapes, &report),
        Format::Csv => render::shapes_csv(&report),
    })
}
