//! A tree as YAML in block style; keys and texts that YAML could take for something else are quoted.

use std::fmt::Write;

use serde_json::Value;

/// The text of one document.
pub(super) fn document(tree: &Value) -> String {
    let mut text = String::new();
    value(tree, 0, &mut text);
    text
}

fn value(tree: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match tree {
        Value::Object(map) => {
            for (key, inner) in map {
                let _ = write!(text, "{indent}{}:", word(key));
                inside(inner, depth + 1, text);
            }
        }
        Value::Array(list) => {
            for inner in list {
                let mut item = String::new();
                value(inner, depth + 1, &mut item);
                let _ = write!(text, "{indent}- {}", item.trim_start());
            }
        }
        scalar => {
            let _ = writeln!(text, "{indent}{}", shown(scalar));
        }
    }
}

/// The text after a key.
fn inside(tree: &Value, depth: usize, text: &mut String) {
    match tree {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            value(tree, depth, text);
        }
        Value::Array(list) if !list.is_empty() => {
            text.push('\n');
            value(tree, depth, text);
        }
        scalar => {
            let _ = writeln!(text, " {}", shown(scalar));
        }
    }
}

fn shown(scalar: &Value) -> String {
    match scalar {
        Value::String(text) => word(text),
        other => other.to_string(),
    }
}

/// A text without quotes where it starts with a letter and is no word of YAML, or starts with a digit and has a unit.
fn word(text: &str) -> String {
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_./,".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let unit = text.ends_with(|c: char| c.is_ascii_lowercase());
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = starts
        && unit
        && text.chars().all(inner)
        && !text.contains(|c: char| c == 'e' && text.starts_with(|c: char| c.is_ascii_digit()));
    if plain && !words.contains(&text.to_lowercase().as_str()) {
        return text.to_owned();
    }
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SettingsDocument;
    use serde_json::json;

    #[test]
    fn a_tree_is_read_as_it_was_written() {
        let tree = json!({ "a": { "b": [{ "c": "5s", "d": [] }, { "e": "yes" }], "f": {} }, "5xx": "5xx,reset",
            "1e3s": "1e3s", "x: y": "#no", "n": 0.5, "t": true, "long": "a b" });
        let text = document(&tree);
        assert_eq!(SettingsDocument::read(&text).expect("YAML")[0].tree(), &tree, "{text}");
    }
}
