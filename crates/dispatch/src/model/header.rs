//! A header that an endpoint wants on every attempt.

use http::{HeaderName, HeaderValue};

use super::Message;
use crate::Error;

/// Headers that one endpoint may want; with the longest values they fill the head that most servers
/// take.
pub(crate) const MAX_HEADERS: usize = 32;
/// Longest name, in bytes.
const MAX_NAME: usize = 128;
/// Longest value before filling in, in bytes: a bearer token with room to spare.
const MAX_VALUE: usize = 4096;

/// Headers that frame the request or speak for the dispatcher; `content-type` is the message's own,
/// and nothing unpacks a reply that `accept-encoding` asked for.
const RESERVED: [&str; 13] = [
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The prefixes of the dispatcher's own headers.
const OURS: [&str; 2] = ["webhook-", "stagger-"];

/// A name, and a value in which `{message.id}`, `{event.type}` and `{attempt.number}` are filled in.
///
/// Checked when saved and again when filled in: a name is a token (RFC 9110 section 5.6.2), a value
/// has no control characters, and neither can be one of the dispatcher's own headers.
///
/// ```
/// use stagger_dispatch::model::HeaderTemplate;
/// let header = |name: &str, value: &str| HeaderTemplate {
///     name: name.into(),
///     value: value.into(),
///     sensitive: false,
/// };
/// assert!(header("x-trace", "{message.id}/{attempt.number}").check().is_ok());
/// assert!(header("x-trace", "a\r\nhost: b").check().is_err());
/// assert!(header("webhook-id", "mine").check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderTemplate {
    /// The name, in lower case.
    pub name: String,
    /// The value before filling in.
    pub value: String,
    /// Whether the value must not be shown: `authorization`, and headers that their owner marks.
    pub sensitive: bool,
}

impl HeaderTemplate {
    /// Checks it before it is saved.
    ///
    /// # Errors
    /// `endpoint.headers` with the bound it breaks; the value itself is not repeated.
    pub fn check(&self) -> Result<(), Error> {
        self.parse_name()?;
        if self.value.len() > MAX_VALUE {
            return Err(self.wrong("of at most 4096 bytes"));
        }
        if let Some(Piece::Unknown) = pieces(&self.value).find(|p| matches!(p, Piece::Unknown)) {
            return Err(self.wrong("filled in with {message.id}, {event.type}, {attempt.number}"));
        }
        self.parse_value(&self.value).map(|_| ())
    }

    /// Its value, if it is the same on every attempt.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub(crate) fn fixed(&self) -> Result<Option<HeaderValue>, Error> {
        let is_filled = pieces(&self.value).any(|piece| matches!(piece, Piece::Filled(_)));
        if is_filled { Ok(None) } else { self.parse_value(&self.value).map(Some) }
    }

    /// Its name, if it may be sent.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub(crate) fn parse_name(&self) -> Result<HeaderName, Error> {
        let wrong = |bound| Error::invalid("endpoint.headers", self.name.escape_debug(), bound);
        if self.name.len() > MAX_NAME {
            return Err(wrong("a name of at most 128 characters"));
        }
        let name = HeaderName::from_bytes(self.name.as_bytes())
            .map_err(|_| wrong("a name of letters, digits and !#$%&'*+-.^_`|~"))?;
        let ours = OURS.iter().any(|prefix| name.as_str().starts_with(prefix));
        if ours || RESERVED.contains(&name.as_str()) {
            return Err(wrong("a header that does not belong to the dispatcher"));
        }
        Ok(name)
    }

    /// Its value on one attempt, if it may be sent.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub(crate) fn fill(&self, message: &Message, number: u32) -> Result<HeaderValue, Error> {
        let mut value = String::with_capacity(self.value.len() + 32);
        for piece in pieces(&self.value) {
            match piece {
                Piece::Text(text) => value.push_str(text),
                Piece::Filled(Fact::MessageId) => value.push_str(&message.id.to_string()),
                Piece::Filled(Fact::EventType) => value.push_str(message.event_type.as_str()),
                Piece::Filled(Fact::AttemptNumber) => value.push_str(&number.to_string()),
                Piece::Unknown => {}
            }
        }
        self.parse_value(&value)
    }

    fn parse_value(&self, text: &str) -> Result<HeaderValue, Error> {
        let visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        // A receiver strips them, and would see another value than the saved one (RFC 9110 section
        // 5.5).
        let trimmed = text.trim_matches(' ') == text;
        match HeaderValue::from_str(text) {
            Ok(mut value) if visible && trimmed => {
                value.set_sensitive(self.sensitive);
                Ok(value)
            }
            _ => Err(self.wrong("of visible ASCII characters, with spaces inside only")),
        }
    }

    fn wrong(&self, bound: &str) -> Error {
        Error::invalid("endpoint.headers", self.name.escape_debug(), format!("a value {bound}"))
    }
}

/// A value that a template fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    MessageId,
    EventType,
    AttemptNumber,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'v> {
    Text(&'v str),
    Filled(Fact),
    /// Words in braces that look like a fact, and are none: a slip, rather than a value of its own.
    Unknown,
}

/// A value in pieces. Braces around anything but words joined by full stops are text.
fn pieces(value: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((piece, length)) = braced(rest) {
            rest = &rest[length..];
            return Some(piece);
        }
        let next = rest.bytes().skip(1).position(|b| b == b'{').map_or(rest.len(), |at| at + 1);
        let (text, after) = rest.split_at(next);
        rest = after;
        Some(Piece::Text(text))
    })
}

/// The fact that `text` begins with, and the length of its words with braces.
fn braced(text: &str) -> Option<(Piece<'_>, usize)> {
    let (words, _) = text.strip_prefix('{')?.split_once('}')?;
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic());
    let piece = match words {
        "message.id" => Piece::Filled(Fact::MessageId),
        "event.type" => Piece::Filled(Fact::EventType),
        "attempt.number" => Piece::Filled(Fact::AttemptNumber),
        _ if words.contains('.') && words.split('.').all(is_word) => Piece::Unknown,
        _ => return None,
    };
    Some((piece, words.len() + 2))
}

#[cfg(test)]
mod tests {
    use stagger::Instant;
    use uuid::Uuid;

    use super::*;
    use crate::model::{ApplicationId, MessageId};

    fn header(name: &str, value: &str) -> HeaderTemplate {
        HeaderTemplate { name: name.into(), value: value.into(), sensitive: true }
    }

    fn message() -> Message {
        Message {
            id: MessageId::from_uuid(Uuid::from_u128(1)),
            application: ApplicationId::from_uuid(Uuid::from_u128(2)),
            event_type: "invoice.paid".parse().expect("a type"),
            key: None,
            content_type: "application/json".into(),
            size: 2,
            created_at: Instant::ORIGIN,
        }
    }

    /// netbox-community/netbox #22746, ZerosAndOnesLLC/AiFw #311, rmyndharis/OpenWA #403.
    #[test]
    fn a_line_break_adds_no_second_header() {
        let names = ["x\r\nhost", "x\nhost: b", "", "x y", "x:", "é", "x\0"];
        for name in names {
            let header = header(name, "a");
            assert!(header.check().is_err_and(|e| e.is_invalid()), "{name:?}");
        }
        let values = ["a\r\nhost: b", "a\nb", "Bearer abc\n", "\u{7f}", "a\tb", " a", "a ", "é"];
        for value in values {
            let header = header("x-a", value);
            let error = header.check().expect_err(value).to_string();
            assert!(!error.contains("Bearer"), "{error}");
            assert!(header.fill(&message(), 1).is_err(), "{value:?}");
        }
    }

    #[test]
    fn headers_of_the_dispatcher_cannot_be_replaced() {
        for name in RESERVED.iter().chain(&["webhook-id", "Webhook-X", "stagger-attempt", "HOST"]) {
            assert!(header(name, "a").check().is_err(), "{name}");
        }
        for name in ["user-agent", "authorization", "x-webhook-id", "content-encoding"] {
            assert_eq!(header(name, "a").check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn facts_are_filled_in_and_other_braces_are_left() {
        let fill = |value| header("x-a", value).fill(&message(), 7).expect("a good value");
        let id = message().id.to_string();
        assert_eq!(fill("{message.id}").to_str().expect("text"), id);
        assert_eq!(fill("{event.type}#{attempt.number}"), "invoice.paid#7");
        assert_eq!(fill(r#"{"a":{attempt.number}}{}{{"#), r#"{"a":7}{}{{"#);
        assert_eq!(fill(""), "");
        assert!(fill("a").is_sensitive());
    }

    #[test]
    fn a_slip_in_a_fact_is_told_when_saved() {
        for value in ["{message.ids}", "a{event.typ}", "{attempt.number}{x.y}"] {
            assert!(header("x-a", value).check().is_err(), "{value}");
        }
        assert!(header("x-a", "{message}").check().is_ok());
    }

    #[test]
    fn a_name_or_a_value_has_a_longest() {
        assert!(header(&"x".repeat(MAX_NAME), "a").check().is_ok());
        assert!(header(&"x".repeat(MAX_NAME + 1), "a").check().is_err());
        assert!(header("x-a", &"x".repeat(MAX_VALUE)).check().is_ok());
        assert!(header("x-a", &"x".repeat(MAX_VALUE + 1)).check().is_err());
    }
}
