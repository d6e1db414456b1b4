//! Policies by their names.

use stagger_core::Policy;

use crate::toml_file::{Document, Flaw, Reader, engine};

/// The policies of a file: of its `[policy.NAME]` tables, or the one that the whole file is, which
/// has no name.
///
/// # Errors
/// What the engine refuses.
pub(crate) fn policies(document: &Document<'_>) -> Result<Vec<(Option<String>, Policy)>, Flaw> {
    let reader = document.reader();
    if reader.names().any(|(name, _)| name == "policy") {
        let named = named(&reader)?;
        return Ok(named.into_iter().map(|(name, policy)| (Some(name), policy)).collect());
    }
    Ok(vec![(None, engine("", &reader.whole())?)])
}

/// The tables `[policy.NAME]` below this one.
pub(crate) fn named(reader: &Reader<'_, '_>) -> Result<Vec<(String, Policy)>, Flaw> {
    let Some(tables) = reader.table("policy")? else { return Ok(Vec::new()) };
    let read = |(name, value)| Ok((str::to_owned(name), engine(&tables.name(name), value)?));
    tables.names().map(read).collect()
}
