//! The flags of `stagger exec`.

use clap::Args;

/// The flags of `stagger exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecFlags {}
