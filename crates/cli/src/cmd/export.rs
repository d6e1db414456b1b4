//! `stagger export`: policies as settings of another product.

use std::process::ExitCode;

use stagger_core::Policy;
use stagger_import::{Exported, LostKey};

use crate::command_error::CommandError;
use crate::flags::ExportFlags;
use crate::streams;

/// Writes the settings to standard output, and what is lost to standard error too.
///
/// # Errors
/// A file that cannot be read or is wrong, and names that the format cannot say.
pub(crate) fn export(flags: &ExportFlags) -> Result<ExitCode, CommandError> {
    let loaded = flags.source.load()?;
    let entries = loaded.iter().flat_map(|loaded| &loaded.policies);
    let policies: Vec<(&str, &Policy)> = entries.map(|it| (it.name.as_str(), &it.policy)).collect();
    let exported = stagger_import::export(&policies, flags.to)
        .map_err(|error| CommandError::File(format!("error: {error}")))?;
    Ok(write(&exported))
}

fn write(exported: &Exported) -> ExitCode {
    let code = streams::write(&exported.text);
    for LostKey { policy, key, value, instead } in &exported.lost {
        streams::note(&format!("lost: {policy}: {key} = {value}; it is {instead} there"));
    }
    code
}
