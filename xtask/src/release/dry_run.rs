//! The chore: one line for each thing that a release publishes.

use std::error::Error;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use xtask_workbench::{Format, Workspace};

use super::kit::Kit;
use super::step::{Step, StepResult, Steps};
use super::{binaries, deb, packages};
use crate::site::Book;

/// The command line of the chore.
#[derive(Debug, Args)]
pub(crate) struct ReleaseOptions {
    /// Publishes nothing. It must be given: the release itself is made by the workflow, on a tag
    #[arg(long, required = true)]
    dry_run: bool,
    /// The only part to build
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// The platforms of the programs; this machine's, and all others that it can build for, when
    /// none is given
    #[arg(long)]
    target: Vec<String>,
    /// The profile of the programs; only `dist` is what a release has
    #[arg(long, default_value = "dist")]
    profile: String,
    /// The folder of what is built; target/kit when none is given
    #[arg(long)]
    out: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A part of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// The crates, each built and documented from its own package
    Packages,
    /// The pages of docs/
    Site,
    /// The program `stagger` for each platform
    Binaries,
    /// The program as a Debian package
    Deb,
}

/// Builds what was asked for; false when a part could not be built.
pub(crate) fn run(options: &ReleaseOptions) -> Result<bool, Box<dyn Error>> {
    let workspace = Workspace::load()?;
    let kit = Kit::new(&workspace, options.out.as_deref(), &options.profile)?;
    let asked = |part| options.only.is_none_or(|only| only == part);
    let mut steps = Vec::new();
    if asked(Part::Packages) {
        steps.extend(packages::build(&workspace)?);
    }
    if asked(Part::Site) {
        steps.push(site(&workspace, &kit)?);
    }
    if asked(Part::Binaries) {
        steps.extend(binaries::build(&kit, &options.target)?);
    }
    if asked(Part::Deb) {
        steps.push(deb::build(&kit)?);
    }
    let steps = Steps(steps);
    options.format.show(&steps.0, &steps)?;
    Ok(steps.are_good())
}

fn site(workspace: &Workspace, kit: &Kit) -> Result<Step, Box<dyn Error>> {
    let book = Book::read(&workspace.workspace_root)?;
    let outcome = match book.faults().first() {
        Some(fault) => StepResult::Failed(fault.clone()),
        None => {
            book.write(&kit.out.join("site"))?;
            StepResult::Built { bytes: kit.pack("site", "stagger-site")? }
        }
    };
    Ok(Step::new("site", "docs", outcome))
}
