//! Entries of the API as lines for people.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::flags::ListKind;

/// The columns of a list: the path of each value within an entry.
pub(super) const fn columns(kind: ListKind) -> &'static [&'static str] {
    match kind {
        ListKind::Applications => &["/id", "/name"],
        ListKind::Endpoints => &["/id", "/status/state", "/url"],
        ListKind::Messages => &["/created_at", "/id", "/event_type", "/size"],
        ListKind::Deliveries => &["/updated_at", "/message", "/endpoint", "/state", "/attempts"],
    }
}

/// Entries as a table: columns as wide as their widest value.
pub(super) fn table(entries: &[Value], columns: &[&str]) -> String {
    let cells = |entry: &Value| -> Vec<String> {
        columns
            .iter()
            .map(|path| entry.pointer(path).map_or_else(|| "-".to_owned(), text))
            .collect()
    };
    let rows: Vec<_> = entries.iter().map(cells).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The members of one thing, a line each; what is empty is left out.
pub(super) fn members(thing: &Value) -> String {
    let mut page = String::new();
    let none = Map::new();
    for (name, value) in thing.as_object().unwrap_or(&none) {
        let is_empty = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        if !is_empty {
            // Writing to a string does not fail.
            let _ = writeln!(page, "{name}: {}", text(value));
        }
    }
    page
}

/// A value in one line: a text without its quotes, all else as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace(char::is_control, " "),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Values as lines of JSON.
pub(super) fn json_lines<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_missing_value_moved_the_columns_after_it() {
        let entries = [
            json!({"id": "ep_1", "status": {"state": "active"}, "url": "https://a.test/"}),
            json!({"id": "ep_20", "status": null, "url": "https://b.test/\u{1b}[2J"}),
        ];
        let page = table(&entries, columns(ListKind::Endpoints));
        assert_eq!(page, "ep_1   active  https://a.test/\nep_20  -       https://b.test/ [2J\n");
        assert_eq!(members(&json!({"id": "x", "events": [], "slots": 3})), "id: x\nslots: 3\n");
    }
}
