//! `stagger storm`: flags to a scenario, its report to a page.

use stagger_sim::Shapes;

use super::files::{Files, heat_map};
use super::playback::Playback;
use super::target::Target;
use super::{page, replay};
use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::render::Storm;

/// Plays what the flags ask for, and returns the page.
///
/// # Errors
/// A flag that the scenario does not know, or values that do not go together.
pub(crate) fn storm(flags: &StormFlags) -> Result<String, CommandError> {
    if let Some(file) = &flags.from_log {
        return replay::replay(flags, file);
    }
    match Target::of(flags)? {
        Target::List => Files::none(flags, "list").map(|()| page::list(flags.format)),
        Target::Shapes => Files::none(flags, "shapes").and_then(|()| shapes(flags)),
        Target::Scenario(scenario) => {
            let files = Files::of(flags)?;
            let playback = Playback::begin(flags, &scenario.name);
            let report = playback.play(&scenario);
            playback.finish();
            files.write(&report, None)?;
            Ok(page::report(flags.format, &Storm::new(&scenario, &report)))
        }
        Target::Grid(grid) => {
            let files = Files::of(flags)?;
            let playback = Playback::begin(flags, &grid.scenario.name);
            let report = playback.play(&grid.scenario);
            playback.finish();
            files.write(&report, Some(heat_map(&grid.swept, &report)))?;
            Ok(page::sweep(flags.format, &grid.swept, &report))
        }
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
    let playback = Playback::begin(flags, "shapes");
    let report = playback.draw(&shapes).map_err(|error| CommandError::of_option(&error))?;
    playback.finish();
    Ok(page::shapes(flags.format, &shapes, &report))
}
