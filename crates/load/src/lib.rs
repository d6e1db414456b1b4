#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod attempt_tag;
mod bounds;
mod callers;
mod comparison;
mod connections;
mod destination;
mod error;
mod forecast;
mod gauge;
mod load_row;
mod open_files;
mod server;

pub use attempt_tag::{AttemptTag, TAG_HEADER};
pub use bounds::LoadBounds;
pub use callers::LoadRun;
pub use comparison::{LoadComparison, LoadFigures};
pub use destination::{LoadTarget, LoadUrl};
pub use error::LoadError;
pub use forecast::LoadForecast;
pub use gauge::{AnswerCounts, LoadMeasurement, RunEnd};
pub use load_row::{LoadRow, LoadRows, SkippedRow};
pub use open_files::raise_open_files;
pub use server::{ScenarioServer, ServerCounts};
