//! The list of scenarios.

use std::fmt::Write;

use comfy_table::ContentArrangement;
use serde::Serialize;

use super::csv::quoted;
use super::json::page;
use super::table::{plain, text};

/// One scenario.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: &'static str,
    /// The table of the reference that it reproduces.
    pub(crate) table: Option<&'static str>,
    pub(crate) about: &'static str,
}

/// One row a scenario, in lines of at most so many columns.
pub(crate) fn list_table(all: &[Listed], width: usize) -> String {
    let mut table = plain(&["scenario", "table", "about"].map(str::to_owned));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns(width));
    for listed in all {
        table.add_row([listed.name, listed.table.unwrap_or_default(), listed.about]);
    }
    text(&table) + "\n"
}

/// Terminals wider than this are as wide as it.
fn columns(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

/// An array of objects.
pub(crate) fn list_json(all: &[Listed]) -> String {
    page(&all)
}

/// One line a scenario, with a header.
pub(crate) fn list_csv(all: &[Listed]) -> String {
    let mut page = String::from("scenario,table,about\n");
    for listed in all {
        let (name, table, about) = (listed.name, listed.table.unwrap_or_default(), listed.about);
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{name},{table},{}", quoted(about));
    }
    page
}
