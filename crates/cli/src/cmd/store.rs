//! `stagger store`: backup, restore, check.

use std::path::Path;
use std::process::ExitCode;

use stagger_dispatch::Error;
use stagger_dispatch::config::Config;
use stagger_dispatch::store::SqliteStore;

use crate::flags::{StoreCommand, StoreFlags};
use crate::{stderr, stdout};

/// Does what the flags ask for.
pub(crate) fn store(flags: &StoreFlags) -> ExitCode {
    let store = Config { data: flags.data.clone(), ..Config::default() }.store_file();
    match act(&flags.command, &store) {
        Ok(page) => stdout::write(&page),
        Err(error) => stderr::refuse(&error),
    }
}

fn act(command: &StoreCommand, store: &Path) -> Result<String, Error> {
    match command {
        StoreCommand::Backup { file } => {
            SqliteStore::backup(store, file)?;
            Ok(format!("{} holds a copy of {}\n", file.display(), store.display()))
        }
        StoreCommand::Restore { file } => {
            SqliteStore::restore(file, store)?;
            Ok(format!("{} is what {} was\n", store.display(), file.display()))
        }
        StoreCommand::Check => Ok(format!("{}\n", SqliteStore::check(store)?)),
    }
}
