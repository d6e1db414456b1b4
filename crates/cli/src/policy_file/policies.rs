//! Policies by their names.

use stagger_core::Policy;

use crate::toml_file::{Flaw, Reader, engine};

/// The tables `[policy.NAME]` below this one.
pub(crate) fn named(reader: &Reader<'_, '_>) -> Result<Vec<(String, Policy)>, Flaw> {
    let Some(tables) = reader.table("policy")? else { return Ok(Vec::new()) };
    let read = |(name, value)| Ok((str::to_owned(name), engine(&tables.name(name), value)?));
    tables.names().map(read).collect()
}
