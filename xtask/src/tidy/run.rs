//! The chore itself.

use std::error::Error;

use super::report::TidyReport;
use super::tree::Tree;
use xtask_workbench::{Format, Workspace};

/// Checks the workspace and shows the report; false when something is not tidy.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let workspace = Workspace::load()?;
    let tree = Tree::read(&workspace.workspace_root)?;
    let report = TidyReport::of(&tree, &workspace.packages);
    format.show(&report, &report)?;
    Ok(report.is_clean())
}
