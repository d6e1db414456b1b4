//! One table of settings: it notes what was asked for, and lists the rest.

use std::cell::RefCell;

use serde_json::{Map, Value};
use stagger_core::{ConfigError, Ratio, Span};

use crate::key::plain;
use crate::spans::Read;
use crate::{ImportError, Imported};

/// A table under its dotted path.
#[derive(Debug)]
pub(crate) struct SettingsTable<'a> {
    pub(crate) path: String,
    map: &'a Map<String, Value>,
    /// Whether its product takes each key in one spelling only.
    exact: bool,
    asked: RefCell<Vec<String>>,
    ignored: RefCell<Vec<String>>,
}

impl<'a> SettingsTable<'a> {
    pub(crate) fn new(path: impl Into<String>, map: &'a Map<String, Value>) -> Self {
        let (asked, ignored) = (RefCell::default(), RefCell::default());
        Self { path: path.into(), map, exact: false, asked, ignored }
    }

    /// A table whose keys have one spelling.
    pub(crate) fn exact(path: impl Into<String>, map: &'a Map<String, Value>) -> Self {
        Self { exact: true, ..Self::new(path, map) }
    }

    fn is(&self, name: &str, key: &str) -> bool {
        name == key || (!self.exact && plain(name) == plain(key))
    }

    /// The value of a key, and the key as it is written.
    pub(crate) fn get(&self, key: &str) -> Option<(&'a str, &'a Value)> {
        let (name, value) = self.map.iter().find(|(name, _)| self.is(name, key))?;
        self.asked.borrow_mut().push(name.clone());
        (!value.is_null()).then_some((name.as_str(), value))
    }

    /// The text of a key.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(|(_, value)| value.as_str())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.keys().any(|name| self.is(name, key))
    }

    /// Keys that are not about retries, and are not listed as left out.
    pub(crate) fn ignore(&self, keys: &[&str]) {
        let known = self.map.keys().filter(|name| keys.iter().any(|key| self.is(name, key)));
        self.ignored.borrow_mut().extend(known.cloned());
    }

    fn inner(&self, key: &str, map: &'a Map<String, Value>) -> Self {
        SettingsTable { exact: self.exact, ..SettingsTable::new(self.at(key), map) }
    }

    /// The path of a key.
    pub(crate) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn table(&self, key: &str) -> Result<Option<Self>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(None) };
        match value {
            Value::Object(map) => Ok(Some(self.inner(name, map))),
            _ => Err(ImportError::new(self.at(name), value, "a table")),
        }
    }

    /// The tables of a table whose keys are names.
    pub(crate) fn named(&self) -> Vec<(&'a str, Self)> {
        let tables = self.map.iter().filter_map(|(name, value)| {
            Some((name.as_str(), self.inner(name, value.as_object()?)))
        });
        tables.collect()
    }

    /// The tables of a list.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Self>, ImportError> {
        let Some((name, value)) = self.get(key) else { return Ok(Vec::new()) };
        let Value::Array(list) = value else {
            return Err(ImportError::new(self.at(name), value, "a list"));
        };
        let table = |(number, value): (usize, &'a Value)| {
            let path = format!("{name}.{number}");
            match value {
                Value::Object(map) => Ok(self.inner(&path, map)),
                _ => Err(ImportError::new(self.at(&path), value, "a table")),
            }
        };
        list.iter().enumerate().map(table).collect()
    }

    /// The table itself.
    pub(crate) const fn map(&self) -> &'a Map<String, Value> {
        self.map
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
            Value::Object(parts) => whole_seconds(parts).unwrap_or_else(|| value.to_string()),
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

    /// Leaves out the keys that were not asked for; `why` knows some by their plain names.
    pub(crate) fn leave_rest(&self, imported: &mut Imported, why: fn(&str) -> &'static str) {
        let (asked, ignored) = (self.asked.borrow(), self.ignored.borrow());
        for (name, value) in self.map {
            if asked.contains(name) {
                imported.has_read(self.at(name));
            } else if !ignored.contains(name) {
                imported.leave_out(self.at(name), value, why(&plain(name)));
            }
        }
    }
}

/// A length of time as protobuf's message has it: `{ seconds: 1, nanos: 500000000 }`.
fn whole_seconds(parts: &Map<String, Value>) -> Option<String> {
    let known = parts.keys().all(|key| key == "seconds" || key == "nanos");
    let part = |key: &str| match parts.get(key) {
        None => Some(0),
        Some(value) => value.as_u64().or_else(|| value.as_str()?.parse().ok()),
    };
    let (seconds, nanos) = (part("seconds")?, part("nanos").filter(|n| *n < 1_000_000_000)?);
    (known && !parts.is_empty()).then(|| format!("{seconds}.{nanos:09}s"))
}
