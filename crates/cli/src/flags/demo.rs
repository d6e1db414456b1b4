//! The flags of `stagger demo`.

use clap::Args;

/// The flags of `stagger demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoFlags {
    /// End when everything is delivered, instead of keeping the page open until Ctrl-C
    #[arg(long)]
    pub(crate) once: bool,
}
