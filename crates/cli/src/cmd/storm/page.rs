//! Pages of `stagger storm` on standard output, in the form that is asked for.

use stagger_sim::{CATALOGUE, Shapes, ShapesReport, StormReport};

use super::target::SHAPES;
use crate::flags::StormFormat;
use crate::render::{self, Listed, Storm, Swept};
use crate::terminal;

/// The report of a scenario or of a log.
pub(super) fn report(format: StormFormat, storm: &Storm<'_>) -> String {
    match format {
        StormFormat::Table => render::table(storm, terminal::page_width()),
        StormFormat::Json => render::json(storm),
        StormFormat::Csv => render::csv(storm),
    }
}

/// The report of a sweep.
pub(super) fn sweep(format: StormFormat, swept: &Swept, report: &StormReport) -> String {
    match format {
        StormFormat::Table => render::sweep_table(swept, report, terminal::page_width()),
        StormFormat::Json => render::sweep_json(swept, report),
        StormFormat::Csv => render::sweep_csv(swept, report),
    }
}

/// The shapes of the laws.
pub(super) fn shapes(format: StormFormat, shapes: &Shapes, report: &ShapesReport) -> String {
    match format {
        StormFormat::Table => render::shapes_table(shapes, report, terminal::page_width()),
        StormFormat::Json => render::shapes_json(shapes, report),
        StormFormat::Csv => render::shapes_csv(report),
    }
}

/// The list: every scenario with its table and one line.
pub(super) fn list(format: StormFormat) -> String {
    let named = CATALOGUE.iter().map(|named| Listed {
        name: named.name,
        table: named.table,
        about: named.about,
    });
    let shapes = Listed { name: SHAPES.0, table: Some(SHAPES.1), about: SHAPES.2 };
    let all: Vec<Listed> = named.chain([shapes]).collect();
    match format {
        StormFormat::Table => render::list_table(&all, terminal::page_width()),
        StormFormat::Json => render::list_json(&all),
        StormFormat::Csv => render::list_csv(&all),
    }
}
