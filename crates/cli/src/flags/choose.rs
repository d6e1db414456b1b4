//! The flags of `stagger choose`.

use clap::Args;

/// The flags of `stagger choose`.
#[derive(Debug, Args)]
pub(crate) struct ChooseFlags {}
