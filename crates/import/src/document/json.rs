//! JSON with places: RFC 8259, and comments and trailing commas, which .NET's configuration reader takes too.
//!
//! Source: <https://learn.microsoft.com/dotnet/core/extensions/configuration-providers#json-configuration-provider>.

use serde_json::{Map, Value};

use super::tree::{Places, SettingsDocument, below};
use crate::ImportError;

/// The deepest nesting that is read: no settings file is nearly as deep, and the reader calls itself.
const MOST_DEPTH: usize = 128;

pub(super) fn read(text: &str) -> Result<SettingsDocument, ImportError> {
    let mut reader = Reader { text, at: 0, places: Places::new() };
    let tree = reader.value("", 0)?;
    reader.skip()?;
    if reader.at < text.len() {
        return Err(reader.error("more text after the end"));
    }
    Ok(SettingsDocument::new(tree, reader.places))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    places: Places,
}

impl Reader<'_> {
    fn error(&self, why: &str) -> ImportError {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.split('\n').count();
        let column = before.rsplit('\n').next().map_or(1, |last| last.chars().count() + 1);
        let found = format!("{why} at line {line} column {column}");
        ImportError::new("", found, "JSON without mistakes")
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Goes on to the next token: blanks, `// ...` and `/* ... */` are none.
    fn skip(&mut self) -> Result<(), ImportError> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/")
                    .map(|end| end + 2)
                    .ok_or_else(|| self.error("a comment without an end"))?
            } else {
                0
            };
            self.at += blanks + comment;
            if comment == 0 {
                return Ok(());
            }
        }
    }

    fn takes(&mut self, token: char) -> Result<bool, ImportError> {
        self.skip()?;
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len_utf8();
        }
        Ok(found)
    }

    fn value(&mut self, path: &str, depth: usize) -> Result<Value, ImportError> {
        if depth > MOST_DEPTH {
            return Err(self.error("nesting deeper than 128"));
        }
        self.skip()?;
        let start = self.at;
        let value = match self.rest().chars().next() {
            None => return Err(self.error("the text ends where a value should be")),
            Some('{') => self.object(path, depth)?,
            Some('[') => self.array(path, depth)?,
            Some('"') => Value::String(self.string()?),
            Some(_) => self.word()?,
        };
        self.places.insert(path.to_owned(), start..self.at);
        Ok(value)
    }

    fn object(&mut self, path: &str, depth: usize) -> Result<Value, ImportError> {
        let mut map = Map::new();
        self.at += 1;
        loop {
            if self.takes('}')? {
                return Ok(Value::Object(map));
            }
            if !self.rest().starts_with('"') {
                return Err(self.error("no key in quotes"));
            }
            let key = self.string()?;
            if !self.takes(':')? {
                return Err(self.error("no : after a key"));
            }
            let value = self.value(&below(path, &key), depth + 1)?;
            map.insert(key, value);
            if !self.takes(',')? && !self.rest().starts_with('}') {
                return Err(self.error("neither , nor }"));
            }
        }
    }

    fn array(&mut self, path: &str, depth: usize) -> Result<Value, ImportError> {
        let mut list = Vec::new();
        self.at += 1;
        loop {
            if self.takes(']')? {
                return Ok(Value::Array(list));
            }
            let value = self.value(&below(path, &list.len().to_string()), depth + 1)?;
            list.push(value);
            if !self.takes(',')? && !self.rest().starts_with(']') {
                return Err(self.error("neither , nor ]"));
            }
        }
    }

    /// A string, whose escapes serde_json reads.
    fn string(&mut self) -> Result<String, ImportError> {
        let mut escaped = false;
        let inside = self.rest().char_indices().skip(1);
        let end = inside.into_iter().find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else { return Err(self.error("a string without an end")) };
        let quoted = self.text.get(self.at..=self.at + end).unwrap_or("");
        let text = serde_json::from_str(quoted).map_err(|_| self.error("no string"))?;
        self.at += end + 1;
        Ok(text)
    }

    /// A number, true, false or null.
    fn word(&mut self) -> Result<Value, ImportError> {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || ",]}:/\"".contains(c));
        let end = end.unwrap_or(rest.len());
        let word = serde_json::from_str(&rest[..end]);
        let value = word.map_err(|_| self.error("no value"))?;
        self.at += end;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_were_mistakes() {
        let text = "// a\n{ \"a\": [1, 2,], /* b */ \"c\\\"d\": { \"e\": null, }, }";
        let document = read(text).expect("read");
        let plain: Value = serde_json::from_str(r#"{"a":[1,2],"c\"d":{"e":null}}"#).expect("JSON");
        assert_eq!(document.tree(), &plain);
        assert_eq!(document.place("a.1").map(|at| &text[at]), Some("2"));
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        for (text, words) in [
            ("{", "at line 1 column 2"),
            ("{\"a\" 1}", "no : after a key at line 1 column 6"),
            ("[1 2]", "neither , nor ]"),
            ("{\"a\": tru}", "no value"),
            ("{} {}", "more text after the end"),
            ("{\"a\": \"b}", "a string without an end"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(read(&"[".repeat(1_000)).is_err(), "a bound on the depth");
    }
}
