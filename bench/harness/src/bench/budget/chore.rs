//! The choice of layouts and of their output.

use std::error::Error;

use clap::ValueEnum;

use super::layout::Layout;
use super::outage::OutagePlan;
use super::report::BudgetReport;
use xtask_workbench::{Format, note};

/// Measures these layouts, all when none is named, in an outage of so many seconds. False when a bound is broken.
pub(in crate::bench) fn run(
    format: Format,
    layouts: &[Layout],
    seconds: u64,
) -> Result<bool, Box<dyn Error>> {
    let layouts = if layouts.is_empty() { Layout::value_variants() } else { layouts };
    let outage = OutagePlan::of(seconds);
    let rows = layouts.iter().map(|layout| outage.measure(*layout));
    let report = BudgetReport(rows.collect::<Result<_, _>>()?);
    format.show(&report.0, &report)?;
    let broken = report.broken();
    broken.iter().for_each(|bound| note(bound));
    Ok(broken.is_empty())
}
