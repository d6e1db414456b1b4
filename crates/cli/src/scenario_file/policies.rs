//! Policies by their names.

use stagger_core::Policy;

use super::Reader;
use super::document::Document;
use super::engine;
use super::flaw::Flaw;

/// The policies of a file: of its `[policy.NAME]` tables, or the one that the whole file is, which
/// has no name.
///
/// # Errors
/// What the engine refuses.
pub(crate) fn policies(document: &Document<'_>) -> Result<Vec<(Option<String>, Policy)>, Flaw> {
    let reader = document.reader();
    if reader.names().any(|(name, _)| name == "policy") {
        let named = read(&reader)?;
        return Ok(named.into_iter().map(|(name, policy)| (Some(name), policy)).collect());
    }
    Ok(vec![(None, engine::read("", &reader.whole())?)])
}

/// The tables `[policy.NAME]` below this one.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Vec<(String, Policy)>, Flaw> {
    let Some(tables) = reader.table("policy")? else { return Ok(Vec::new()) };
    let read = |(name, value)| Ok((str::to_owned(name), engine::read(&tables.name(name), value)?));
    tables.names().map(read).collect()
}
