//! Reports as text: a table for people, JSON and CSV for programs.

mod answer;
mod load;
mod log_findings;
mod measures;
mod records;
mod shapes;
mod storm;
mod sweep;
mod table;

pub(crate) use answer::YOURS;
pub(crate) use load::{LoadReport, load_csv, load_json, load_table};
pub(crate) use log_findings::LogFindings;
pub(crate) use records::{csv, csv_lines, json, millis, page};
pub(crate) use shapes::{shapes_csv, shapes_json, shapes_table};
pub(crate) use stagger_text::{hanging, wrapped};
pub(crate) use storm::{Storm, merged, sparkline};
pub(crate) use sweep::{SweepCell, Swept, sweep_csv, sweep_json, sweep_table};
pub(crate) use table::{align, plain, table, text};
