//! A tree of settings, whole or under construction, and the bytes of the text that each of its values comes from.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::ImportError;

/// The bytes of each value, by its dotted path.
pub(crate) type Places = BTreeMap<String, Range<usize>>;

/// Settings as one tree, whatever their notation, with the place of each in its text.
///
/// ```
/// use stagger_import::SettingsDocument;
/// let text = "a: { b: 1 }\n---\nc: 2\n";
/// let documents = SettingsDocument::read(text)?;
/// assert_eq!(documents.len(), 2);
/// assert_eq!(documents[0].place("a.b").map(|at| &text[at]), Some("1"));
/// # Ok::<(), stagger_import::ImportError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsDocument {
    tree: Value,
    places: Places,
}

impl SettingsDocument {
    pub(super) const fn new(tree: Value, places: Places) -> Self {
        Self { tree, places }
    }

    /// The settings; lists are arrays, and everything that has keys is an object.
    #[must_use]
    pub const fn tree(&self) -> &Value {
        &self.tree
    }

    /// The same document with other settings, whose places are lost.
    #[must_use]
    pub const fn with_tree(tree: Value) -> Self {
        Self { tree, places: Places::new() }
    }

    /// The bytes that a dotted path stands at in the text, or else those of the innermost table on the way.
    #[must_use]
    pub fn place(&self, path: &str) -> Option<Range<usize>> {
        let mut path = path;
        loop {
            if let Some(at) = self.places.get(path) {
                return Some(at.clone());
            }
            path = path.rsplit_once('.')?.0;
        }
    }
}

/// The path of a key below another path.
pub(crate) fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A tree whose values are added one at a time, by paths of keys.
#[derive(Debug, Default)]
pub(super) struct TreeBuilder {
    pub(super) root: Map<String, Value>,
    pub(super) places: Places,
}

impl TreeBuilder {
    /// Adds a value. A key that is there already becomes a list of all its values.
    ///
    /// # Errors
    /// A key on the way that has a value of its own.
    pub(super) fn add(
        &mut self,
        keys: &[&str],
        value: &str,
        at: Range<usize>,
    ) -> Result<(), ImportError> {
        let whole = keys.join(".");
        let Some((last, way)) = keys.split_last() else { return Ok(()) };
        let table = self.table(way, &whole, value, &at)?;
        let text = Value::String(value.to_owned());
        match table.get_mut(*last) {
            Some(Value::Array(list)) => list.push(text),
            Some(Value::Object(_)) => return Err(clash(&whole, value)),
            Some(known) => *known = Value::Array(vec![known.take(), text]),
            None => {
                table.insert((*last).to_owned(), text);
                self.places.insert(whole, at);
            }
        }
        Ok(())
    }

    /// The table at the end of some keys, which is made where there is none.
    ///
    /// # Errors
    /// A key on the way that has a value of its own.
    pub(super) fn table(
        &mut self,
        keys: &[&str],
        whole: &str,
        value: &str,
        at: &Range<usize>,
    ) -> Result<&mut Map<String, Value>, ImportError> {
        let mut table = &mut self.root;
        let mut path = String::new();
        for key in keys {
            path = below(&path, key);
            self.places.entry(path.clone()).or_insert_with(|| at.clone());
            let inner = table.entry(*key).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = inner else { return Err(clash(whole, value)) };
            table = inner;
        }
        Ok(table)
    }
}

fn clash(key: &str, value: &str) -> ImportError {
    ImportError::new(key, value, "a key whose first part has no value of its own")
}

/// The lines of a text with the place of each, without blanks around them; empty ones are left out.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut start = 0;
    text.split('\n').filter_map(move |line| {
        let trimmed = line.trim();
        let at = start + (line.len() - line.trim_start().len());
        start += line.len() + 1;
        (!trimmed.is_empty()).then(|| (trimmed, at..at + trimmed.len()))
    })
}
