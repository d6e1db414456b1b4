//! `[vary]`: one key with the values that it takes, each of them a case.

use crate::toml_file::{Flaw, Reader, Value, shown};
use stagger_core::Span;
use toml::de::DeValue;

/// Cases beyond this are a sweep.
const MAX_VALUES: usize = 100;

/// A key and its values.
#[derive(Debug)]
pub(super) struct Vary<'r, 't> {
    pub(super) key: &'r str,
    /// The name of an axis.
    pub(super) name: String,
    pub(super) values: Vec<&'r Value<'t>>,
}

/// The setting that is varied, if one is.
pub(super) fn read<'r, 't>(reader: &Reader<'r, 't>) -> Result<Option<Vary<'r, 't>>, Flaw> {
    let Some(table) = reader.table("vary")? else { return Ok(None) };
    let key = table.need("key", table.text("key")?)?;
    let values = table.need("values", table.list("values")?)?;
    let name = table.text("name")?;
    table.done()?;
    if values.is_empty() || values.len() > MAX_VALUES {
        return Err(table.wrong("values", &format!("a list of 1 to {MAX_VALUES} values")));
    }
    let spans = values.iter().any(|value| span(value.get_ref()).is_some());
    let unit = if spans { " [s]" } else { "" };
    let name = name.map_or_else(|| format!("{key}{unit}"), str::to_owned);
    Ok(Some(Vary { key, name, values }))
}

/// The name of a value, and its place on an axis: spans in seconds, words by their number.
pub(super) fn place(value: &DeValue<'_>, number: usize) -> (String, f64) {
    let label = shown(value);
    #[expect(clippy::cast_precision_loss, reason = "at most a hundred values")]
    let place = match span(value) {
        Some(span) => span.as_secs_f64(),
        None => label.parse().unwrap_or(number as f64),
    };
    (label, place)
}

fn span(value: &DeValue<'_>) -> Option<Span> {
    if let DeValue::String(text) = value { text.parse().ok() } else { None }
}
