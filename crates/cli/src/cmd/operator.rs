//! `stagger operator`: adds, removes and lists the operators of a dispatcher.

use std::process::ExitCode;

use stagger_dispatch::Error;
use stagger_dispatch::access::{OperatorFile, Role};
use stagger_dispatch::server::OPERATORS;

use crate::flags::{OperatorCommand, OperatorFlags};
use crate::streams;

/// Does what the flags ask for.
pub(crate) fn operator(flags: &OperatorFlags) -> ExitCode {
    match act(flags) {
        Ok(page) => streams::write(&page),
        Err(error) => streams::refuse(&error),
    }
}

fn act(flags: &OperatorFlags) -> Result<String, Error> {
    let path = flags.file.clone().unwrap_or_else(|| flags.data.join(OPERATORS));
    let file = OperatorFile::open(&path)?;
    match &flags.command {
        OperatorCommand::Add { name, role } => {
            let role: Role = role
                .parse()
                .map_err(|_| Error::invalid("role", role, "admin, operator or viewer"))?;
            let key = file.add(name, role)?;
            streams::note(&format!(
                "{name} is {role} in {}; the key, shown only here:",
                path.display()
            ));
            Ok(format!("{key}\n"))
        }
        OperatorCommand::Remove { name } => {
            file.remove(name)?;
            Ok(format!("{name} is removed from {}\n", path.display()))
        }
        OperatorCommand::List => {
            let operators = file.list()?;
            if operators.is_empty() {
                streams::note(&format!("no operators in {}", path.display()));
            }
            let width = operators.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            let line = |(name, role): &(String, Role)| format!("{name:width$}  {role}\n");
            Ok(operators.iter().map(line).collect())
        }
    }
}
