//! The flags of `stagger explain`.

use clap::Args;

/// The flags of `stagger explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {}
