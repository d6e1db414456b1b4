//! INI: sections with keys, as the configuration file of the AWS SDKs has them.

use super::tree::{SettingsDocument, TreeBuilder, lines};
use crate::ImportError;

/// The table of the keys before the first section.
const TOP: &str = "";

pub(super) fn read(text: &str) -> Result<SettingsDocument, ImportError> {
    let mut tree = TreeBuilder::default();
    let mut section = TOP.to_owned();
    for (line, at) in lines(text).filter(|(line, _)| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
            tree.table(&[&section], &section, "", &at)?;
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        tree.add(&[&section, key.trim()], value.trim(), at)?;
    }
    Ok(SettingsDocument::new(tree.root.into(), tree.places))
}
