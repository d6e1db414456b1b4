//! The flags of `stagger store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger store backup today.db                 a consistent copy, also while it is served
  stagger store restore today.db                put it back; nothing may be serving then
  stagger store check                           is the file sound, and how much is in it?
  stagger store check --store postgres://me@db/webhooks     the same of a database
  stagger store migrate --store postgres://me@db/webhooks   bring it to this release's version
  stagger store copy --from stagger-data --to postgres://me@db/webhooks   move to a database";

/// A store, and the command for it.
#[derive(Debug, Args)]
pub(crate) struct StoreFlags {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,

    /// The folder of the store
    #[arg(long, value_name = "FOLDER", default_value = "stagger-data", global = true)]
    pub(crate) data: PathBuf,

    /// The PostgreSQL database that is the store, instead of a folder: postgres://...
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy the store into a file; it may be in use meanwhile
    #[command(after_help = "Examples:\n  stagger store backup today.db")]
    Backup {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Put a backup in the store's place, while no dispatcher uses it
    #[command(after_help = "Examples:\n  stagger store restore today.db --data other-data")]
    Restore {
        /// The file that `backup` wrote
        file: PathBuf,
    },
    /// Check that the store is sound, and count what is in it
    #[command(after_help = "Examples:\n  stagger store check --data stagger-data")]
    Check,
    /// Bring the store to this release's version; an empty database gets its tables
    #[command(after_help = "Examples:\n  stagger store migrate --store postgres://me@db/webhooks")]
    Migrate,
    /// Copy everything into another store, which is empty, while no dispatcher uses either
    #[command(
        after_help = "Examples:\n  stagger store copy --from stagger-data --to postgres://me@db/webhooks"
    )]
    Copy {
        /// The store that is copied: a folder or postgres://...
        #[arg(long, value_name = "STORE")]
        from: String,
        /// The store that is filled: a folder or postgres://...
        #[arg(long, value_name = "STORE")]
        to: String,
    },
}
