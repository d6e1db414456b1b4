//! The flags of `stagger import`.

use clap::Args;

/// The flags of `stagger import`.
#[derive(Debug, Args)]
pub(crate) struct ImportFlags {}
