//! The list of scenarios.

use std::fmt::Write;

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

/// One line a scenario.
pub(crate) fn list_table(all: &[Listed]) -> String {
    let mut table = plain(&["scenario", "table", "what happens"].map(str::to_owned));
    for listed in all {
        table.add_row([listed.name, listed.table.unwrap_or_default(), listed.about]);
    }
    text(&table) + "\n"
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
