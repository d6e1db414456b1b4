//! The flags of `stagger operator`: who may sign in to a dispatcher, and with which role.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger operator add alice --role operator    print a new key, once
  stagger operator list                         the names, and the role of each
  stagger operator remove alice                 end her sessions, and her key";

/// A file of operators, and the command for it.
#[derive(Debug, Args)]
pub(crate) struct OperatorFlags {
    #[command(subcommand)]
    pub(crate) command: OperatorCommand,

    /// The data folder of the dispatcher, in which operators.toml is
    #[arg(long, value_name = "FOLDER", default_value = "stagger-data", global = true)]
    pub(crate) data: PathBuf,

    /// The file of operators, if it is another: serve --operators-file
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OperatorCommand {
    /// Add an operator and print the key, which is kept as its hash only
    #[command(after_help = "Examples:\n  stagger operator add bob --role viewer")]
    Add {
        /// The name: letters, digits or any of . _ @ + -
        name: String,
        /// The role: viewer sees, operator also retries, replays, enables and disables, admin may do everything
        #[arg(long, value_name = "ROLE", value_parser = ["admin", "operator", "viewer"])]
        role: String,
    },
    /// Remove an operator; the key and the sessions end
    #[command(after_help = "Examples:\n  stagger operator remove bob --data stagger-data")]
    Remove {
        /// The name
        name: String,
    },
    /// List the operators with their roles
    #[command(after_help = "Examples:\n  stagger operator list --data stagger-data")]
    List,
}
