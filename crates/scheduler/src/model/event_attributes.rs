//! The attributes of a message as a `CloudEvents` event (1.0.2), besides those that it has anyway.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use stagger_core::ConfigError;

/// Most attributes of a message: with the longest values they fill the head that most servers take.
const MAX_ATTRIBUTES: usize = 20;
/// Longest name, in characters: the length that the specification recommends (section 3.1, attribute naming).
const MAX_NAME: usize = 20;
/// Longest value, in bytes.
const MAX_VALUE: usize = 512;
/// Attributes that a message has by itself: its type, its content type and its payload.
const OWN: [&str; 5] = ["specversion", "type", "datacontenttype", "data", "data_base64"];
/// Context attributes that are texts, with a meaning of their own.
const TEXTS: [&str; 5] = ["id", "source", "subject", "time", "dataschema"];

/// The attributes of an event by name: `id`, `source`, `subject`, `time`, `dataschema`, and extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventAttributes(BTreeMap<String, AttributeValue>);

/// The value of an attribute, of one of the types that JSON tells apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// A truth value.
    Boolean(bool),
    /// A whole number of 32 bits.
    Integer(i32),
    /// A text; times, addresses and bytes are texts too.
    Text(String),
}

impl EventAttributes {
    /// The attributes of an event.
    ///
    /// ```
    /// use stagger_scheduler::model::{AttributeValue, EventAttributes};
    /// let given = |name: &str| EventAttributes::new([(name.to_owned(), AttributeValue::Text("a".into()))]);
    /// assert!(given("subject").is_ok() && given("myextension").is_ok());
    /// assert!(given("my-extension").is_err() && given("datacontenttype").is_err() && given("time").is_err());
    /// ```
    ///
    /// # Errors
    /// `attributes`, or one of them, with the bound that it breaks.
    pub fn new(
        given: impl IntoIterator<Item = (String, AttributeValue)>,
    ) -> Result<Self, ConfigError> {
        let attributes: BTreeMap<_, _> = given.into_iter().collect();
        if attributes.len() > MAX_ATTRIBUTES {
            return Err(ConfigError::new("attributes", attributes.len(), "at most 20 attributes"));
        }
        attributes.iter().try_for_each(|(name, value)| check(name, value))?;
        Ok(Self(attributes))
    }

    /// The same, with this source where none was given.
    #[must_use]
    pub fn with_source(mut self, source: Option<&str>) -> Self {
        if let Some(source) = source {
            let text = || AttributeValue::Text(source.to_owned());
            self.0.entry("source".to_owned()).or_insert_with(text);
        }
        self
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The text of an attribute.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            AttributeValue::Text(text) => Some(text),
            AttributeValue::Boolean(_) | AttributeValue::Integer(_) => None,
        }
    }
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

fn check(name: &str, value: &AttributeValue) -> Result<(), ConfigError> {
    let in_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(in_name) {
        let bound = "names of 1 to 20 lower-case letters and digits";
        return Err(ConfigError::new("attributes", name.escape_debug(), bound));
    }
    if OWN.contains(&name) {
        let bound = "none of those that a message has by itself: its type, content type and data";
        return Err(ConfigError::new("attributes", name, bound));
    }
    let AttributeValue::Text(text) = value else {
        return match TEXTS.contains(&name) {
            true => Err(wrong(name, value, "a text")),
            false => Ok(()),
        };
    };
    if text.is_empty() || text.len() > MAX_VALUE {
        return Err(wrong(name, &"(not shown)", "a text of 1 to 512 bytes"));
    }
    // The characters that the specification excludes from its strings (section 3.1, type system).
    if text.chars().any(|c| c.is_control() || is_noncharacter(c)) {
        return Err(wrong(name, &text.escape_debug(), "a text without control characters"));
    }
    let visible = |text: &str| text.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    match name {
        "source" | "dataschema" if !visible(text) => {
            Err(wrong(name, &text.escape_debug(), "a URI of visible ASCII characters"))
        }
        "dataschema" if !has_scheme(text) => {
            Err(wrong(name, text, "an absolute URI: it begins with a scheme and a colon"))
        }
        "time" if !is_time(text) => {
            Err(wrong(name, &text.escape_debug(), "a time by RFC 3339: 2026-01-31T12:00:00Z"))
        }
        _ => Ok(()),
    }
}

fn wrong(name: &str, value: &dyn fmt::Display, bound: &str) -> ConfigError {
    match TEXTS.into_iter().find(|known| *known == name) {
        Some(known) => ConfigError::new(known, value, bound),
        None => ConfigError::new("attributes", format!("{name}: {value}"), bound),
    }
}

const fn is_noncharacter(c: char) -> bool {
    let code = c as u32;
    matches!(code, 0xFDD0..=0xFDEF) || code & 0xFFFE == 0xFFFE
}

/// Whether a URI begins with a scheme (RFC 3986 section 3.1).
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(in_scheme)
}

/// Whether a text has the form of RFC 3339 section 5.6: date, time, fraction of a second, offset.
fn is_time(text: &str) -> bool {
    let Some((head, rest)) = text.split_at_checked(19) else { return false };
    let shape = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte.eq_ignore_ascii_case(&form),
            })
    };
    let number = |from: usize, to: usize| head[from..to].parse::<u32>().unwrap_or(u32::MAX);
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
            if end == 0 {
                return false;
            }
            &fraction[end..]
        }
        None => rest,
    };
    let offset = rest.eq_ignore_ascii_case("z")
        || shape(rest, "+00:00") && in_day(rest)
        || shape(rest, "-00:00") && in_day(rest);
    shape(head, "0000-00-00T00:00:00")
        && (1..=12).contains(&number(5, 7))
        && (1..=31).contains(&number(8, 10))
        && number(11, 13) < 24
        && number(14, 16) < 60
        && number(17, 19) <= 60
        && offset
}

fn in_day(offset: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
    number(&offset[1..3]) < 24 && number(&offset[4..6]) < 60
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str, value: &str) -> Result<EventAttributes, ConfigError> {
        EventAttributes::new([(name.to_owned(), AttributeValue::Text(value.to_owned()))])
    }

    #[test]
    fn times_have_the_form_of_the_standard() {
        for good in [
            "2018-04-05T17:31:00Z",
            "2018-04-05t17:31:00.123456789z",
            "2018-04-05T17:31:60+14:00",
            "0000-01-01T00:00:00-00:00",
        ] {
            assert!(given("time", good).is_ok(), "{good}");
        }
        for bad in [
            "2018-04-05",
            "2018-04-05T17:31:00",
            "2018-04-05 17:31:00Z",
            "2018-13-05T17:31:00Z",
            "2018-04-05T24:31:00Z",
            "2018-04-05T17:31:00.Z",
            "2018-04-05T17:31:00+1:00",
            "2018-04-05T17:31:00+24:00",
            "2018-04-0\u{665}T17:31:00Z",
        ] {
            assert!(given("time", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_and_values_out_of_their_bounds_are_refused() {
        for name in [
            "",
            "Subject",
            "my-ext",
            "my_ext",
            "data",
            "type",
            "specversion",
            "abcdefghijklmnopqrstu",
        ] {
            assert!(given(name, "a").is_err(), "{name}");
        }
        for (name, value) in [
            ("subject", ""),
            ("subject", "a\nb"),
            ("subject", "\u{FFFE}"),
            ("source", "a b"),
            ("source", "\u{e9}"),
            ("dataschema", "/relative"),
            ("dataschema", ":none"),
        ] {
            assert!(given(name, value).is_err(), "{name} {value:?}");
        }
        assert!(given("subject", &"a".repeat(513)).is_err());
        let number = [("subject".to_owned(), AttributeValue::Integer(1))];
        assert!(EventAttributes::new(number).is_err());
        let many = (0..21).map(|at| (format!("a{at}"), AttributeValue::Boolean(true)));
        assert!(EventAttributes::new(many).is_err());
        assert!(given("dataschema", "https://a.test/schema").is_ok());
        assert!(given("subject", "\u{20ac} 1").is_ok());
    }
}
