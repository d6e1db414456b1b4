//! A file of settings: flat TOML, every key and value with its place.

use std::fmt;
use std::ops::Range;

use stagger_text::position;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::settings;

/// A setting that is wrong, and where it stands: file, line and column, or variable, or flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    message: String,
}

impl ConfigFault {
    pub(super) fn at(place: &str, what: &dyn fmt::Display) -> Self {
        Self { message: format!("{place}: {what}") }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigFault {}

/// A key and its value as text.
pub(super) struct ConfigEntry {
    pub(super) key: String,
    pub(super) value: String,
    /// File, line and column of the value.
    pub(super) place: String,
}

/// Reads the settings of a text.
///
/// # Errors
/// The text is no TOML, or has an unknown key, or a value that is a table.
pub(super) fn entries(file: &str, text: &str) -> Result<Vec<ConfigEntry>, ConfigFault> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or_default();
        ConfigFault::at(&place(file, text, &at), &error.message())
    })?;
    table.get_ref().iter().map(|(key, value)| entry(file, text, key, value)).collect()
}

fn entry(
    file: &str,
    text: &str,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
) -> Result<ConfigEntry, ConfigFault> {
    let name = key.get_ref().as_ref();
    if !settings::keys().any(|known| known == name) {
        return Err(ConfigFault::at(&place(file, text, &key.span()), &unknown(name)));
    }
    let place = place(file, text, &value.span());
    let Some(written) = written(value.get_ref()) else {
        return Err(ConfigFault::at(&place, &format!("{name} is no plain value")));
    };
    Ok(ConfigEntry { key: name.to_owned(), value: written, place })
}

/// A value as a flag would give it: lists with commas between.
fn written(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Boolean(yes) => Some(yes.to_string()),
        DeValue::Array(list) => {
            let items: Option<Vec<_>> = list.iter().map(|item| written(item.get_ref())).collect();
            Some(items?.join(","))
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

fn unknown(name: &str) -> String {
    match settings::nearest(name) {
        Some(known) => format!("unknown key {name}; did you mean {known}?"),
        None => {
            let known: Vec<_> = settings::keys().collect();
            format!("unknown key {name}; there are {}", known.join(", "))
        }
    }
}

fn place(file: &str, text: &str, span: &Range<usize>) -> String {
    let (line, column) = position(text, span.start);
    format!("{file}:{line}:{column}")
}
