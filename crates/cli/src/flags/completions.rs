//! The flags of `stagger completions` and `stagger man`.

use clap::Args;

/// The flags of `stagger completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsFlags {}

/// The flags of `stagger man`.
#[derive(Debug, Args)]
pub(crate) struct ManFlags {}
