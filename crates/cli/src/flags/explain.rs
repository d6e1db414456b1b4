//! The flags of `stagger explain`.

use clap::Args;

use crate::policy_file::PolicySource;

/// The flags of `stagger explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {
    #[command(flatten)]
    pub(crate) source: PolicySource,
}
