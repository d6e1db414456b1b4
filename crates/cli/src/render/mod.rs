//! Reports as text: a table for people, JSON and CSV for programs.

mod csv;
mod json;
mod legend;
mod list;
mod measures;
mod shapes;
mod sparkline;
mod storm;
mod sweep;
mod table;
mod wrap;

pub(crate) use csv::csv;
pub(crate) use json::{json, millis, page};
pub(crate) use list::{Listed, list_csv, list_json, list_table};
pub(crate) use shapes::{shapes_csv, shapes_json, shapes_table};
pub(crate) use sparkline::{merged, sparkline};
pub(crate) use storm::Storm;
pub(crate) use sweep::{SweepCell, Swept, sweep_csv, sweep_json, sweep_table};
pub(crate) use table::{align, plain, table, text};
pub(crate) use wrap::{hanging, wrapped};
