//! `--policy FILE#NAME`: policies of the user's own.

use stagger_core::Policy;

use crate::command_error::CommandError;
use crate::policy_file::{Loaded, PolicyArgument};

/// The policies that the flags name: all of a file, or one of it.
///
/// # Errors
/// A file that cannot be read or is wrong, or a name that is not in it.
pub(super) fn all(asked: &[PolicyArgument]) -> Result<Vec<(String, Policy)>, CommandError> {
    let mut all = Vec::new();
    for asked in asked {
        let loaded = Loaded::open(asked)?;
        all.extend(loaded.policies.into_iter().map(|entry| (entry.name, entry.policy)));
    }
    Ok(all)
}
