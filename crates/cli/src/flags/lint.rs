//! The flags of `stagger lint`.

use clap::Args;

/// The flags of `stagger lint`.
#[derive(Debug, Args)]
pub(crate) struct LintFlags {}
