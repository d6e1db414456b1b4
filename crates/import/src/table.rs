//! One table of a tree: values are asked for by name, and what nobody asked for is left out.

use std::cell::RefCell;

use serde_json::{Map, Value};
use stagger_core::{ConfigError, Ratio, Span};

use crate::{ImportError, Imported};

/// A table under its dotted path.
#[derive(Debug)]
pub(crate) struct SettingsTable<'a> {
    pub(crate) path: String,
    map: &'a Map<String, Value>,
    asked: RefCell<Vec<String>>,
}

/// The parser of a text as a span.
pub(crate) type Read = fn(&str) -> Option<Span>;

/// A key without case, `-` and `_`: all products write theirs in more than one way.
pub(crate) fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

impl<'a> SettingsTable<'a> {
    pub(crate) fn new(path: impl Into<String>, map: &'a Map<String, Value>) -> Self {
        Self { path: path.into(), map, asked: RefCell::default() }
    }

    /// The value of a key, and the key as it is written.
    pub(crate) fn get(&self, key: &str) -> Option<(&'a str, &'a Value)> {
        let found = self.map.iter().find(|(name, _)| plain(name) == plain(key));
        let (name, value) = found.filter(|(_, value)| !value.is_null())?;
        self.asked.borrow_mut().push(name.clone());
        Some((name, value))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.keys().any(|name| plain(name) == plain(key))
    }

    /// The path of a key.
    pub(crate) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn table(&self, key: &str) -> Result<Option<Self>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(None) };
        match value {
            Value::Object(map) => Ok(Some(SettingsTable::new(self.at(name), map))),
            _ => Err(ImportError::new(self.at(name), value, "a table")),
        }
    }

    /// The tables of a table whose keys are names.
    pub(crate) fn named(&self) -> Vec<(&'a str, Self)> {
        let tables = self.map.iter().filter_map(|(name, value)| {
            Some((name.as_str(), SettingsTable::new(self.at(name), value.as_object()?)))
        });
        tables.collect()
    }

    /// All keys with their values.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        self.map.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn number(
        &self,
        key: &str,
        (least, most): (f64, f64),
    ) -> Result<Option<f64>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(None) };
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let bound = format!("a number from {least} to {most}");
                Err(ImportError::new(self.at(name), value, bound))
            }
        }
    }

    pub(crate) fn count(
        &self,
        key: &str,
        (least, most): (u32, u32),
    ) -> Result<Option<u32>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(None) };
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let number = number.and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let bound = format!("a whole number from {least} to {most}");
                Err(ImportError::new(self.at(name), value, bound))
            }
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(None) };
        let flag = value.as_bool().or_else(|| value.as_str()?.trim().to_lowercase().parse().ok());
        match flag {
            Some(flag) => Ok(Some(flag)),
            None => Err(ImportError::new(self.at(name), value, "true or false")),
        }
    }

    /// One of some words, without case, `-` and `_`.
    pub(crate) fn word<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(None) };
        let meant = value
            .as_str()
            .and_then(|text| words.iter().find(|(word, _)| plain(word) == plain(text)));
        match meant {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                Err(ImportError::new(self.at(name), value, format!("one of {}", all.join(", "))))
            }
        }
    }

    pub(crate) fn span(
        &self,
        key: &str,
        read: Read,
        form: &str,
    ) -> Result<Option<Span>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(None) };
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            other => other.to_string(),
        };
        match read(&text) {
            Some(span) => Ok(Some(span)),
            None => Err(ImportError::new(self.at(name), value, form)),
        }
    }

    /// A refusal of our own engine, under the key that it comes from.
    pub(crate) fn refused(
        &self,
        key: &str,
    ) -> impl FnOnce(ConfigError) -> ImportError + use<'_, 'a> {
        let (name, value) = self
            .get(key)
            .map_or_else(|| (key.to_owned(), None), |(name, value)| (name.to_owned(), Some(value)));
        move |error| {
            let value = value.map_or_else(|| error.value().to_owned(), ToString::to_string);
            ImportError::new(
                self.at(&name),
                value,
                format!("{} (as {})", error.bound(), error.field()),
            )
        }
    }

    /// A share of one.
    pub(crate) fn share(&self, key: &str, number: f64) -> Result<Ratio, ImportError> {
        Ratio::try_from(number).map_err(self.refused(key))
    }

    /// Notes a setting that was asked for as mapped only nearly.
    pub(crate) fn nearly(&self, key: &str, why: &str, imported: &mut Imported) {
        if let Some((name, value)) = self.get(key) {
            imported.leave_out(self.at(name), value, why);
        }
    }

    /// Leaves out what nobody asked for; `why` knows some keys by their plain names.
    pub(crate) fn leave_rest(&self, imported: &mut Imported, why: fn(&str) -> &'static str) {
        for (name, value) in self.map {
            if !self.asked.borrow().contains(name) {
                imported.leave_out(self.at(name), value, why(&plain(name)));
            }
        }
    }
}
