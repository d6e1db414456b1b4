//! Text to a tree of values: JSON, YAML, or properties.

use serde_json::{Map, Value};

use crate::ImportError;

/// Reads the text as what it looks like.
///
/// # Errors
/// What no reader takes, in the words of the one that should have.
pub(crate) fn tree(text: &str) -> Result<Value, ImportError> {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if trimmed.is_empty() {
        return Err(ImportError::new("", "nothing", "a settings file"));
    }
    if trimmed.starts_with(['{', '[']) {
        return serde_json::from_str(trimmed)
            .map_err(|error| ImportError::new("", error, "JSON without mistakes"));
    }
    if is_properties(trimmed) {
        return properties(trimmed);
    }
    let tree: Value = serde_saphyr::from_str(trimmed).map_err(|error| {
        let first = error.to_string();
        ImportError::new("", first.lines().next().unwrap_or("no YAML"), "YAML without mistakes")
    })?;
    if tree.is_object() || tree.is_array() {
        return Ok(tree);
    }
    Err(ImportError::new("", tree, "a file of keys and values"))
}

fn meaningful(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '!']))
}

/// Every line is `dotted.key=value`: YAML has no `=` before its first `:`.
fn is_properties(text: &str) -> bool {
    meaningful(text).all(|line| {
        line.split_once('=').is_some_and(|(key, _)| !key.contains(':') && key.contains('.'))
    })
}

fn properties(text: &str) -> Result<Value, ImportError> {
    let mut root = Map::new();
    for line in meaningful(text) {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim(), value.trim());
        insert(&mut root, key, key, value)?;
    }
    Ok(Value::Object(root))
}

fn insert(
    table: &mut Map<String, Value>,
    whole: &str,
    key: &str,
    value: &str,
) -> Result<(), ImportError> {
    let Some((head, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), Value::String(value.to_owned()));
        return Ok(());
    };
    let inner = table.entry(head).or_insert_with(|| Value::Object(Map::new()));
    match inner {
        Value::Object(inner) => insert(inner, whole, rest, value),
        _ => Err(ImportError::new(whole, value, "a key whose first part has no value of its own")),
    }
}
