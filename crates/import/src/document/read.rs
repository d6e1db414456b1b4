//! Texts to documents, in the likeliest notation.

use super::syntax::Syntax;
use super::tree::SettingsDocument;
use super::{blocks, ini, json, properties, sections, yaml};
use crate::ImportError;

impl SettingsDocument {
    /// All documents of a text: JSON (with comments and trailing commas), YAML, properties, environment
    /// variables, INI, or the notation of nginx or HAProxy, told apart by their looks.
    ///
    /// # Errors
    /// A text that is none of these, with the first mistake that the likeliest reader found.
    pub fn read(text: &str) -> Result<Vec<Self>, ImportError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Err(ImportError::new("", "nothing", "a settings file"));
        }
        let documents = match Syntax::of(text) {
            Syntax::Json => vec![json::read(text)?],
            Syntax::Yaml => yaml::read(text)?,
            Syntax::Properties => vec![properties::read(text)?],
            Syntax::Ini => vec![ini::read(text)?],
            Syntax::Blocks => vec![blocks::read(text)?],
            Syntax::Sections => vec![sections::read(text)?],
        };
        let whole = |document: &Self| document.tree().is_object() || document.tree().is_array();
        match documents.iter().find(|document| !whole(document)) {
            Some(scalar) => Err(ImportError::new("", scalar.tree(), "a file of keys and values")),
            None => Ok(documents),
        }
    }
}
