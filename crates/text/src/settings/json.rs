//! A JSON text as the same tables as TOML, with the places of all keys and values.
//!
//! `serde_json` judges the text; it tells no places of what is right, so these are found here, in a text
//! that is known to be JSON.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::flaw::Flaw;

/// Whether a text is JSON rather than TOML, which never begins with a brace.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Reads the text. A key whose value is null is left out, as writers of JSON mean it.
///
/// # Errors
/// A text that is no JSON, or has no counterpart in TOML.
pub(super) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Flaw> {
    // As values and not ignored, because depth is bounded only where something is built.
    if let Err(error) = serde_json::from_str::<Value>(text) {
        let at = offset(text, error.line(), error.column());
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        return Err(Flaw::new(at..at + 1, format!("is no JSON: {message}")));
    }
    let mut places = Places { text, at: 0 };
    places.space();
    let (start, root) = (places.at, places.table()?);
    Ok(Spanned::new(start..places.at, root))
}

/// The byte at a line and a column in bytes, both counted from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    before + column.saturating_sub(1)
}

/// A walk over a text that is JSON.
struct Places<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Places<'t> {
    fn next(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    fn space(&mut self) {
        while matches!(self.next(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Skips the space, and then this byte if it comes next.
    fn skip(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.next() == byte;
        self.at += usize::from(found);
        found
    }

    fn table(&mut self) -> Result<DeTable<'t>, Flaw> {
        let mut table = DeTable::new();
        self.skip(b'{');
        while !self.skip(b'}') {
            self.skip(b',');
            self.space();
            let (name, at) = self.text();
            self.skip(b':');
            if let Some(value) = self.value()? {
                if table.get(&*name).is_some() {
                    return Err(Flaw::new(at, format!("{name} is there twice")));
                }
                table.insert(Spanned::new(at, name), value);
            }
        }
        Ok(table)
    }

    fn list(&mut self) -> Result<DeArray<'t>, Flaw> {
        let mut list = DeArray::new();
        self.skip(b'[');
        while !self.skip(b']') {
            self.skip(b',');
            self.space();
            let start = self.at;
            let value = self.value()?;
            let value = value.ok_or_else(|| Flaw::new(start..self.at, "null in a list"))?;
            list.push(value);
        }
        Ok(list)
    }

    /// The value that comes next; `None` for null.
    fn value(&mut self) -> Result<Option<Spanned<DeValue<'t>>>, Flaw> {
        self.space();
        let start = self.at;
        let value = match self.next() {
            b'{' => DeValue::Table(self.table()?),
            b'[' => DeValue::Array(self.list()?),
            b'"' => DeValue::String(self.text().0),
            _ => {
                let word = self.word();
                if word == "null" {
                    return Ok(None);
                }
                // Numbers and words of JSON are those of TOML.
                let value = DeValue::parse(word).map(Spanned::into_inner);
                value.map_err(|error| Flaw::new(start..self.at, error.message().trim_end()))?
            }
        };
        Ok(Some(Spanned::new(start..self.at, value)))
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> &'t str {
        let start = self.at;
        while !matches!(self.next(), b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' | 0) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// A text in quotes, and its place.
    fn text(&mut self) -> (Cow<'t, str>, Range<usize>) {
        let start = self.at;
        self.at += 1;
        while !matches!(self.next(), b'"' | 0) {
            self.at += if self.next() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        let quoted = &self.text[start..self.at];
        let read = serde_json::from_str::<String>(quoted).map(Cow::Owned);
        (read.unwrap_or(Cow::Borrowed(quoted)), start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> DeTable<'_> {
        parse(text).expect("JSON").into_inner()
    }

    #[test]
    fn a_value_has_the_place_where_it_is_written() {
        let text = "{ \"a\\u0062\": {\"é\": [1, -2.5e3, true, \"x\\\"\"], \"none\": null},\n\"b\" : \"c\"}";
        let root = table(text);
        let at = |value: &Spanned<DeValue<'_>>| text[value.span()].to_owned();
        assert_eq!(at(root.get("b").expect("there")), "\"c\"");
        let DeValue::Table(inner) = root.get("ab").expect("there").get_ref() else {
            panic!("table")
        };
        assert!(inner.get("none").is_none());
        let DeValue::Array(list) = inner.get("é").expect("there").get_ref() else {
            panic!("list")
        };
        let items: Vec<_> = list.iter().map(at).collect();
        assert_eq!(items, ["1", "-2.5e3", "true", "\"x\\\"\""]);
        assert_eq!(list[3].get_ref().as_str(), Some("x\""));
    }

    #[test]
    fn what_is_no_json_or_has_no_counterpart_is_refused_at_its_place() {
        let flaw = |text: &str| {
            let flaw = parse(text).expect_err(text);
            (flaw.at().start, flaw.message().to_owned())
        };
        assert_eq!(flaw("{\n \"a\": }"), (8, "is no JSON: expected value".to_owned()));
        assert_eq!(flaw("{\"a\": [null]}"), (7, "null in a list".to_owned()));
        assert_eq!(flaw("{\"a\": 1, \"a\": 2}"), (9, "a is there twice".to_owned()));
        assert!(flaw("{\"a\": 1} x").1.contains("trailing characters"));
        let (_, deep) = flaw(&"{\"a\":".repeat(1_000));
        assert!(deep.contains("recursion limit"), "{deep}");
    }
}
