//! Policies to figures, figures to a page and an exit code.

use std::process::ExitCode;

use super::account::Account;
use super::{json, page, text};
use crate::command_error::CommandError;
use crate::flags::{ExplainFlags, ExplainFormat};
use crate::output_file::{check, put};
use crate::stdout;

/// Runs the command. Everything is read and checked before anything is written.
///
/// # Errors
/// A file that cannot be read, is wrong, or cannot be written.
pub(crate) fn explain(flags: &ExplainFlags) -> Result<ExitCode, CommandError> {
    let accounts = accounts(flags)?;
    let wrote = stdout::write(&match flags.format {
        ExplainFormat::Table => text::text(&accounts),
        ExplainFormat::Json => json::json(&accounts),
    });
    Ok(if accounts.iter().any(Account::fails) { ExitCode::FAILURE } else { wrote })
}

fn accounts(flags: &ExplainFlags) -> Result<Vec<Account>, CommandError> {
    if let Some(path) = &flags.html {
        if path.as_os_str() == "-" {
            let why = "invalid value '-' for '--html': must be the name of a file";
            return Err(CommandError::bad_value(why));
        }
        check("--html", path)?;
    }
    let loaded = flags.source.load()?;
    let entries = loaded.iter().flat_map(|loaded| &loaded.policies);
    let accounts: Vec<Account> = entries.map(|entry| Account::of(entry, &flags.calls)).collect();
    if let Some(path) = &flags.html {
        put(path, page::page(&accounts).as_bytes())?;
    }
    Ok(accounts)
}
