//! The text of a file as tables, in which single values can be replaced.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flaw::Flaw;
use super::{Reader, json};

/// Flaws of one text that are told: the later ones follow from the first, and a file that is no TOML
/// at all has one in each line.
const MAX_FLAWS: usize = 20;

/// A file that is TOML, or the same in JSON; whether its keys mean anything is another question.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    root: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses the text.
    ///
    /// # Errors
    /// A text that is neither TOML nor JSON.
    pub fn parse(text: &'t str) -> Result<Self, Flaw> {
        if json::is_json(text) {
            return json::parse(text).map(|root| Self { root });
        }
        let root = DeTable::parse(text);
        let root = root.map_err(|error| {
            Flaw::new(error.span().unwrap_or_default(), error.message().trim_end())
        })?;
        Ok(Self { root })
    }

    /// Parses what can be parsed, with all that is not TOML in the order of the text.
    #[must_use]
    pub fn recovered(text: &'t str) -> (Self, Vec<Flaw>) {
        if json::is_json(text) {
            let empty = || Self { root: Spanned::new(0..0, DeTable::new()) };
            return match Self::parse(text) {
                Ok(document) => (document, Vec::new()),
                Err(flaw) => (empty(), vec![flaw]),
            };
        }
        let (root, errors) = DeTable::parse_recoverable(text);
        let mut flaws: Vec<Flaw> = Vec::new();
        for error in errors {
            let at = error.span().unwrap_or_default();
            // What else is wrong with a line follows from its first mistake.
            let told = flaws.last().is_some_and(|last| same_line(text, last.at().start, at.start));
            if !told && flaws.len() < MAX_FLAWS {
                flaws.push(Flaw::new(at, error.message().trim_end()));
            }
        }
        (Self { root }, flaws)
    }

    /// The same without a table of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.root.get_mut().remove(name);
        self
    }

    /// The table of this name as the whole document; the same where it is no table.
    #[must_use]
    pub fn inner(mut self, name: &str) -> Self {
        let Some(inner) = self.root.get_mut().remove(name) else { return self };
        let at = inner.span();
        match inner.into_inner() {
            DeValue::Table(table) => Self { root: Spanned::new(at, table) },
            _ => self,
        }
    }

    /// A document that holds nothing but the value of this name, under another one.
    #[must_use]
    pub fn only(mut self, name: &str, under: &str) -> Self {
        let mut table = DeTable::new();
        if let Some(value) = self.root.get_mut().remove(name) {
            table.insert(Spanned::new(value.span(), Cow::Owned(under.to_owned())), value);
        }
        Self { root: Spanned::new(self.root.span(), table) }
    }

    /// The same with a value that is written on the command line: a number, or else text.
    ///
    /// # Errors
    /// As of [`with`](Self::with).
    pub fn with_text(&self, key: &str, text: &'t str) -> Result<Self, String> {
        let number = text.parse::<f64>().ok().and_then(|_| DeValue::parse(text).ok());
        let value =
            number.map_or_else(|| DeValue::String(Cow::Borrowed(text)), Spanned::into_inner);
        self.with(key, Spanned::new(0..0, value))
    }

    /// A reader of the whole.
    #[must_use]
    pub fn reader(&self) -> Reader<'_, 't> {
        Reader::new(String::new(), self.root.span(), self.root.get_ref())
    }

    /// The same document with another value under a dotted key.
    ///
    /// Tables of a list are numbered from 0: `fault.0.lasts`; of a list of one, the number may be
    /// left out. A table that is not there is made.
    ///
    /// # Errors
    /// A key that leads nowhere, as the words that are wrong with it.
    pub fn with(&self, key: &str, value: Spanned<DeValue<'t>>) -> Result<Self, String> {
        let mut changed = self.clone();
        let span = value.span();
        let mut parts = key.split('.').peekable();
        let mut table = changed.root.get_mut();
        while let Some(part) = parts.next() {
            if part.is_empty() {
                return Err(format!("{key} is no key"));
            }
            let name = || Spanned::new(span.clone(), Cow::Owned(part.to_owned()));
            if parts.peek().is_none() {
                if let Some(old) = table.get_mut(part) {
                    *old = value;
                } else {
                    table.insert(name(), value);
                }
                return Ok(changed);
            }
            if table.get(part).is_none() {
                let made = DeValue::Table(DeTable::new());
                table.insert(name(), Spanned::new(span.clone(), made));
            }
            let next = table.get_mut(part).map(Spanned::get_mut);
            table = match next {
                Some(DeValue::Table(inner)) => inner,
                Some(DeValue::Array(list)) => {
                    let index = parts.peek().and_then(|part| part.parse::<usize>().ok());
                    if index.is_some() {
                        parts.next();
                    } else if list.len() > 1 {
                        return Err(format!(
                            "{key}: {part} is a list of {}: say which one, as in {part}.0",
                            list.len()
                        ));
                    }
                    match list.get_mut(index.unwrap_or(0)).map(Spanned::get_mut) {
                        Some(DeValue::Table(inner)) => inner,
                        _ => return Err(format!("{key}: there is no such table in {part}")),
                    }
                }
                _ => return Err(format!("{key}: {part} is no table")),
            };
        }
        Err(format!("{key} is no key"))
    }
}

fn same_line(text: &str, one: usize, other: usize) -> bool {
    text.get(one.min(other)..one.max(other)).is_none_or(|between| !between.contains('\n'))
}
