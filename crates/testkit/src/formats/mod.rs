//! Settings files of other products, and what an import and an export of them must keep.

mod fixtures;
mod report;

pub use fixtures::{Fixture, fixtures};
pub use report::{FormatReport, report, round_trip, unlisted};
