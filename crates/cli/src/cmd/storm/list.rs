//! `stagger storm list`: every scenario with its table and one line.

use stagger_sim::CATALOGUE;

use super::target::SHAPES;
use crate::flags::Format;
use crate::render::{self, Listed};
use crate::width;

/// The list in the form asked for.
pub(super) fn page(format: Format) -> String {
    let named = CATALOGUE.iter().map(|named| Listed {
        name: named.name,
        table: named.table,
        about: named.about,
    });
    let shapes = Listed { name: SHAPES.0, table: Some(SHAPES.1), about: SHAPES.2 };
    let all: Vec<Listed> = named.chain([shapes]).collect();
    match format {
        Format::Table => render::list_table(&all, width::of_page()),
        Format::Json => render::list_json(&all),
        Format::Csv => render::list_csv(&all),
    }
}
