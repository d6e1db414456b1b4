//! The default budget in the layouts that people use: `cargo xtask bench budget`.
//!
//! Each layout makes the same calls in virtual time, first to a server that answers and then to one that hangs
//! or refuses. The attempts are counted where they arrive, never by the library's own figures.

mod axum;
mod caller;
mod closures;
mod connection;
mod layout;
mod outage;
mod redis;
mod redis_clock;
mod report;
mod reqwest;
mod tonic;
mod tower;
mod upstream;

use std::error::Error;

use clap::ValueEnum;

pub(super) use layout::Layout;
use outage::Outage;
use report::Report;

use crate::format::{Format, note};

/// Measures these layouts, all when none is named, in an outage of so many seconds. False when a bound is broken.
pub(super) fn run(
    format: Format,
    layouts: &[Layout],
    seconds: u64,
) -> Result<bool, Box<dyn Error>> {
    let layouts = if layouts.is_empty() { Layout::value_variants() } else { layouts };
    let outage = Outage::of(seconds);
    let rows = layouts.iter().map(|layout| outage.measure(*layout));
    let report = Report(rows.collect::<Result<_, _>>()?);
    format.show(&report.0, &report)?;
    let broken = report.broken();
    broken.iter().for_each(|bound| note(bound));
    Ok(broken.is_empty())
}
