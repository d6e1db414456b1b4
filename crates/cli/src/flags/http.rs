//! The flags of `stagger http`.

use clap::Args;

/// The flags of `stagger http`.
#[derive(Debug, Args)]
pub(crate) struct HttpFlags {}
