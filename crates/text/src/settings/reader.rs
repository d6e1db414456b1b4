//! One table of a file: values are asked for by key, and the other keys are refused.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use crate::{hint, nearest};
use stagger_core::{Ratio, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flaw::Flaw;

/// A table under a dotted path.
#[derive(Debug)]
pub struct Reader<'r, 't> {
    path: String,
    at: Range<usize>,
    table: &'r DeTable<'t>,
    asked: RefCell<Vec<&'static str>>,
}

/// A value with its place.
pub type Value<'t> = Spanned<DeValue<'t>>;

impl<'r, 't> Reader<'r, 't> {
    /// A reader of the table that stands under this path, and at this place.
    #[must_use]
    pub const fn new(path: String, at: Range<usize>, table: &'r DeTable<'t>) -> Self {
        Self { path, at, table, asked: RefCell::new(Vec::new()) }
    }

    /// The value of a key.
    pub fn value(&self, key: &'static str) -> Option<&'r Value<'t>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key)
    }

    /// The table as a value.
    pub fn whole(&self) -> Value<'t> {
        Spanned::new(self.at.clone(), DeValue::Table(self.table.clone()))
    }

    /// All keys of a table whose keys are names.
    pub fn names(&self) -> impl Iterator<Item = (&'r str, &'r Value<'t>)> {
        self.table.iter().map(|(name, value)| (name.get_ref().as_ref(), value))
    }

    /// A span, in text with its unit.
    ///
    /// # Errors
    /// A value that is no span.
    pub fn span(&self, key: &'static str) -> Result<Option<Span>, Flaw> {
        self.value(key).map(|value| self.as_span(key, value)).transpose()
    }

    /// A span above zero.
    ///
    /// # Errors
    /// A value that is no span, or is zero.
    pub fn above_zero(&self, key: &'static str) -> Result<Option<Span>, Flaw> {
        match self.span(key)? {
            Some(Span::ZERO) => Err(self.wrong(key, "more than 0s")),
            span => Ok(span),
        }
    }

    /// A whole number within bounds.
    ///
    /// # Errors
    /// A value that is no whole number, or out of its bounds.
    pub fn count(&self, key: &'static str, bounds: (u32, u32)) -> Result<Option<u32>, Flaw> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (bounds.0..=bounds.1).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                Err(self.wrong(key, &format!("a whole number from {} to {}", bounds.0, bounds.1)))
            }
        }
    }

    /// A number within bounds, whole or not.
    ///
    /// # Errors
    /// A value that is no number, or out of its bounds.
    pub fn number(&self, key: &'static str, bounds: (f64, f64)) -> Result<Option<f64>, Flaw> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number: Option<f64> = match value.get_ref() {
            DeValue::Integer(digits) => digits.as_str().parse().ok(),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => None,
        };
        match number.filter(|number| (bounds.0..=bounds.1).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(key, &format!("a number from {} to {}", bounds.0, bounds.1))),
        }
    }

    /// A share or a factor, kept to the millionth.
    ///
    /// # Errors
    /// A value that is no number, or out of its bounds.
    pub fn ratio(&self, key: &'static str, bounds: (f64, f64)) -> Result<Option<Ratio>, Flaw> {
        let number = self.number(key, bounds)?;
        number
            .map(|number| Ratio::try_from(number).map_err(|e| self.wrong(key, e.bound())))
            .transpose()
    }

    /// Any text.
    ///
    /// # Errors
    /// A value that is no text.
    pub fn text(&self, key: &'static str) -> Result<Option<&'r str>, Flaw> {
        match self.value(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "text in quotes")),
        }
    }

    /// Yes or no.
    ///
    /// # Errors
    /// Another value.
    pub fn boolean(&self, key: &'static str) -> Result<Option<bool>, Flaw> {
        match self.value(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::Boolean(yes)) => Ok(Some(*yes)),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    /// A text, a whole number, a boolean, or a list of these with commas between, as a flag would give it;
    /// and its place.
    ///
    /// # Errors
    /// A value that no flag could give.
    pub fn plain(&self, key: &'static str) -> Result<Option<(String, Range<usize>)>, Flaw> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match plain(value.get_ref()) {
            Some(text) => Ok(Some((text, value.span()))),
            None => Err(self.wrong(key, "text, a whole number, true or false, or a list of these")),
        }
    }

    /// One of some words.
    ///
    /// # Errors
    /// A value that is no text, or another word, with the nearest one.
    pub fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Result<Option<T>, Flaw> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*meaning));
        }
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let meant = nearest(text, all.iter().copied());
        let meant = meant.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(self.wrong(key, &format!("one of {}{meant}", all.join(", "))))
    }

    /// A list of values.
    ///
    /// # Errors
    /// A value that is no list.
    pub fn list(&self, key: &'static str) -> Result<Option<Vec<&'r Value<'t>>>, Flaw> {
        match self.value(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::Array(list)) => Ok(Some(list.iter().collect())),
            Some(_) => Err(self.wrong(key, "a list")),
        }
    }

    /// A table within this one.
    ///
    /// # Errors
    /// A value that is no table.
    pub fn table(&self, key: &'static str) -> Result<Option<Reader<'r, 't>>, Flaw> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::Table(table) => Ok(Some(Reader::new(self.name(key), value.span(), table))),
                _ => Err(self.wrong(key, "a table")),
            },
        }
    }

    /// A list of tables; none when it is not there.
    ///
    /// # Errors
    /// A value that is no list of tables.
    pub fn tables(&self, key: &'static str) -> Result<Vec<Reader<'r, 't>>, Flaw> {
        let list = self.list(key)?.unwrap_or_default();
        let table = |(index, value): (usize, &'r Value<'t>)| match value.get_ref() {
            DeValue::Table(table) => {
                Ok(Reader::new(format!("{}.{index}", self.name(key)), value.span(), table))
            }
            _ => Err(self.wrong(key, "a list of tables")),
        };
        list.into_iter().enumerate().map(table).collect()
    }

    /// Returns a value that must be there.
    ///
    /// # Errors
    /// The key is not there.
    pub fn need<T>(&self, key: &'static str, value: Option<T>) -> Result<T, Flaw> {
        value.ok_or_else(|| Flaw::new(self.at.clone(), format!("{} must be set", self.name(key))))
    }

    /// Refuses the keys that were not asked for.
    ///
    /// # Errors
    /// The first of them, with the key that was probably meant.
    pub fn done(&self) -> Result<(), Flaw> {
        self.unknown().into_iter().next().map_or(Ok(()), Err)
    }

    /// All keys that were not asked for.
    pub fn unknown(&self) -> Vec<Flaw> {
        let asked = self.asked.borrow();
        let unknown = self.table.keys().filter(|key| !asked.contains(&key.get_ref().as_ref()));
        let flaw = |key: &Spanned<Cow<'_, str>>| {
            let name = key.get_ref().as_ref();
            let hint = hint(name, &asked);
            Flaw::new(key.span(), format!("unknown key {}: {hint}", self.name(name)))
        };
        unknown.map(flaw).collect()
    }

    /// A refusal of the value of a key.
    pub fn wrong(&self, key: &'static str, bound: &str) -> Flaw {
        match self.table.get(key) {
            Some(value) => refused(&self.name(key), value, bound),
            None => Flaw::new(self.at.clone(), format!("{}: must be {bound}", self.name(key))),
        }
    }

    /// A mistake of the table as a whole.
    pub fn flaw(&self, message: &str) -> Flaw {
        Flaw::new(self.at.clone(), format!("{}: {message}", self.path))
    }

    /// The dotted name of a key.
    pub fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A span that stands under a key, alone or in a list.
    ///
    /// # Errors
    /// A value that is no span.
    pub fn as_span(&self, key: &'static str, value: &Value<'t>) -> Result<Span, Flaw> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            // A bare 0 is read, and every other number without its unit is refused by its own words.
            DeValue::Integer(digits) => digits.as_str(),
            DeValue::Float(digits) => digits.as_str(),
            _ => return Err(refused(&self.name(key), value, "a span such as \"250ms\"")),
        };
        text.parse().map_err(|error: stagger_core::ParseSpanError| {
            refused(&self.name(key), value, &error.to_string())
        })
    }
}

/// A refusal of a value that stands at its place.
#[must_use]
pub fn refused(name: &str, value: &Value<'_>, bound: &str) -> Flaw {
    Flaw::new(value.span(), format!("{name} = {}: must be {bound}", shown(value.get_ref())))
}

fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Boolean(_) => Some(shown(value)),
        DeValue::Array(list) => {
            let items: Option<Vec<_>> = list.iter().map(|item| plain(item.get_ref())).collect();
            Some(items?.join(","))
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// A value as it is shown in a message.
#[must_use]
pub fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
