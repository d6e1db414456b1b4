//! `stagger store`: backup, restore, check.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use stagger_dispatch::Error;
use stagger_dispatch::model::DeliveryState;
use stagger_dispatch::store::{self, Health};

use crate::flags::{StoreCommand, StoreFlags};
use crate::{stderr, stdout};

/// Does what the flags ask for.
pub(crate) fn store(flags: &StoreFlags) -> ExitCode {
    match act(&flags.command, &flags.data) {
        Ok(page) => stdout::write(&page),
        Err(error) => stderr::refuse(&error),
    }
}

fn act(command: &StoreCommand, data: &Path) -> Result<String, Error> {
    match command {
        StoreCommand::Backup { file } => {
            store::backup(data, file)?;
            Ok(format!("{} holds a copy of the store in {}\n", file.display(), data.display()))
        }
        StoreCommand::Restore { file } => {
            store::restore(file, data)?;
            Ok(format!("the store in {} is what {} was\n", data.display(), file.display()))
        }
        StoreCommand::Check => store::check(data).map(|health| page(&health)),
    }
}

fn page(health: &Health) -> String {
    let mut page = format!("sound, version {}\n{} messages\n", health.version, health.messages);
    for state in DeliveryState::ALL {
        // Writing to a string does not fail.
        let _ = writeln!(page, "{} deliveries {}", health.deliveries.of(state), state.name());
    }
    page
}
