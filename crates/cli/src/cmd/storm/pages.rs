//! The pages of a report and of a sweep, in the form that is asked for.

use stagger_sim::StormReport;

use crate::flags::StormFormat;
use crate::render::{self, LoadReport, Storm, Swept};
use crate::streams;

/// The report of a scenario or of a log.
pub(super) fn report_page(format: StormFormat, storm: &Storm<'_>) -> String {
    match format {
        StormFormat::Table => render::table(storm, streams::page_width()),
        StormFormat::Json => render::json(storm),
        StormFormat::Csv => render::csv(storm),
    }
}

/// The report of a sweep.
pub(super) fn sweep_page(format: StormFormat, swept: &Swept, report: &StormReport) -> String {
    match format {
        StormFormat::Table => render::sweep_table(swept, report, streams::page_width()),
        StormFormat::Json => render::sweep_json(swept, report),
        StormFormat::Csv => render::sweep_csv(swept, report),
    }
}

/// The report of runs over sockets.
pub(super) fn load_page(format: StormFormat, report: &LoadReport) -> String {
    match format {
        StormFormat::Table => render::load_table(report, streams::page_width()),
        StormFormat::Json => render::load_json(report),
        StormFormat::Csv => render::load_csv(report),
    }
}
