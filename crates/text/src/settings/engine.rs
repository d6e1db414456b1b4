//! Policies and budgets, which the engine reads in its own text form.

use crate::advised;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::flaw::Flaw;
use super::reader::Value;

/// A part of the engine that is written under `path`.
///
/// # Errors
/// The engine's refusal, at the setting that it names.
pub fn engine<'t, T: Deserialize<'t>>(path: &str, value: &Value<'t>) -> Result<T, Flaw> {
    let read = T::deserialize(ValueDeserializer::from(value.clone()));
    read.map_err(|error| {
        let message = error.message().trim_end();
        let within = |field: &str| {
            if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
        };
        match field(message).and_then(|field| Some((field, place(field, value)?))) {
            Some((_, at)) => Flaw::new(at, within(message)),
            None => {
                let at = error.span().unwrap_or_else(|| value.span());
                // Without the names of our types.
                let shown = match message.split_once(", expected struct ") {
                    Some((given, _)) => format!("{given}, expected a table"),
                    None => advised(message),
                };
                Flaw::new(at, if path.is_empty() { shown } else { format!("{path}: {shown}") })
            }
        }
    })
}

/// The dotted key that a refusal begins with.
fn field(message: &str) -> Option<&str> {
    let (field, _) = message.split_once(" = ")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    field.chars().all(plain).then_some(field)
}

/// The place of the setting of this key, or of the innermost table on the way that is there.
#[must_use]
pub fn place(field: &str, value: &Value<'_>) -> Option<std::ops::Range<usize>> {
    let mut found = None;
    let mut inner = value;
    for part in field.split('.') {
        let DeValue::Table(table) = inner.get_ref() else { break };
        let Some(next) = table.get(part) else { break };
        found = Some(next.span());
        inner = next;
    }
    found
}

/// The last place up to `at` that belongs to a value or to a table of it.
#[must_use]
pub fn last_before(value: &Value<'_>, at: usize) -> Option<usize> {
    let own = Some(value.span().start);
    let inner = match value.get_ref() {
        DeValue::Table(table) => {
            let places = |(key, value): (&Spanned<_>, &Value<'_>)| {
                Some(key.span().start).filter(|start| *start <= at).max(last_before(value, at))
            };
            table.iter().filter_map(places).max()
        }
        _ => None,
    };
    own.filter(|start| *start <= at).max(inner)
}

/// Whether a place lies in a value, or in a table of it that stands elsewhere.
#[must_use]
pub fn holds(value: &Value<'_>, at: usize) -> bool {
    value.span().contains(&at)
        || match value.get_ref() {
            DeValue::Table(table) => {
                table.iter().any(|(key, value)| key.span().contains(&at) || holds(value, at))
            }
            DeValue::Array(list) => list.iter().any(|value| holds(value, at)),
            _ => false,
        }
}
