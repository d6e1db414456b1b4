//! Signals to processes that the chores started.

use std::error::Error;
use std::process::Command;

/// Sends a signal by its name, as `-TERM`.
pub(crate) fn signal(pid: u32, name: &str) -> Result<(), Box<dyn Error>> {
    let status = Command::new("kill").args([name, &pid.to_string()]).status()?;
    if status.success() { Ok(()) } else { Err(format!("kill {name} {pid}: {status}").into()) }
}
