//! Headers that an endpoint wants on every attempt: checked, and filled in.

use http::{HeaderName, HeaderValue};
use stagger::ConfigError;
use stagger_scheduler::model::{HeaderTemplate, Message};

/// The `User-Agent`.
pub(crate) const AGENT: &str = concat!("stagger/", env!("CARGO_PKG_VERSION"));
/// Headers that one endpoint may want; with the longest values they fill the head that most servers
/// take.
pub const MAX_HEADERS: usize = 32;
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

/// Checks a header before it is saved: a name is a token (RFC 9110 section 5.6.2), a value has no control
/// characters, and neither can be one of the dispatcher's own headers.
///
/// ```
/// use stagger_scheduler::model::HeaderTemplate;
/// use stagger_sender::check_header;
/// let header = |name: &str, value: &str| HeaderTemplate {
///     name: name.into(),
///     value: value.into(),
///     sensitive: false,
/// };
/// assert!(check_header(&header("x-trace", "{message.id}/{attempt.number}")).is_ok());
/// assert!(check_header(&header("x-trace", "a\r\nhost: b")).is_err());
/// assert!(check_header(&header("webhook-id", "mine")).is_err());
/// ```
///
/// # Errors
/// `endpoint.headers` with the bound it breaks; the value itself is not repeated.
pub fn check_header(header: &HeaderTemplate) -> Result<(), ConfigError> {
    name(header)?;
    if header.value.len() > MAX_VALUE {
        return Err(wrong(header, "of at most 4096 bytes"));
    }
    if pieces(&header.value).any(|piece| matches!(piece, Piece::Unknown)) {
        let bound = "filled in with {message.id}, {event.type}, {attempt.number}";
        return Err(wrong(header, bound));
    }
    value(header, &header.value).map(|_| ())
}

/// The value of a header, if it is the same on every attempt.
///
/// # Errors
/// See [`check_header`].
pub(crate) fn fixed(header: &HeaderTemplate) -> Result<Option<HeaderValue>, ConfigError> {
    let is_filled = pieces(&header.value).any(|piece| matches!(piece, Piece::Filled(_)));
    if is_filled { Ok(None) } else { value(header, &header.value).map(Some) }
}

/// The name of a header, if it may be sent.
///
/// # Errors
/// See [`check_header`].
pub(crate) fn name(header: &HeaderTemplate) -> Result<HeaderName, ConfigError> {
    let wrong = |bound| ConfigError::new("endpoint.headers", header.name.escape_debug(), bound);
    if header.name.len() > MAX_NAME {
        return Err(wrong("a name of at most 128 characters"));
    }
    let name = HeaderName::from_bytes(header.name.as_bytes())
        .map_err(|_| wrong("a name of letters, digits and !#$%&'*+-.^_`|~"))?;
    let ours = OURS.iter().any(|prefix| name.as_str().starts_with(prefix));
    if ours || RESERVED.contains(&name.as_str()) {
        return Err(wrong("a header that does not belong to the dispatcher"));
    }
    Ok(name)
}

/// The value of a header on one attempt, if it may be sent.
///
/// # Errors
/// See [`check_header`].
pub(crate) fn fill(
    header: &HeaderTemplate,
    message: &Message,
    number: u32,
) -> Result<HeaderValue, ConfigError> {
    let mut text = String::with_capacity(header.value.len() + 32);
    for piece in pieces(&header.value) {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Filled(Fact::MessageId) => text.push_str(&message.id.to_string()),
            Piece::Filled(Fact::EventType) => text.push_str(message.event_type.as_str()),
            Piece::Filled(Fact::AttemptNumber) => text.push_str(&number.to_string()),
            Piece::Unknown => {}
        }
    }
    value(header, &text)
}

fn value(header: &HeaderTemplate, text: &str) -> Result<HeaderValue, ConfigError> {
    let visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    // A receiver strips them, and would see another value than the saved one (RFC 9110 section 5.5).
    let trimmed = text.trim_matches(' ') == text;
    match HeaderValue::from_str(text) {
        Ok(mut value) if visible && trimmed => {
            value.set_sensitive(header.sensitive);
            Ok(value)
        }
        _ => Err(wrong(header, "of visible ASCII characters, with spaces inside only")),
    }
}

fn wrong(header: &HeaderTemplate, bound: &str) -> ConfigError {
    let name = header.name.escape_debug();
    ConfigError::new("endpoint.headers", name, format!("a value {bound}"))
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
        _ if is_fact_misspelt(words) => Piece::Unknown,
        _ => return None,
    };
    Some((piece, words.len() + 2))
}

/// Whether the words have the letters of a fact, with other marks or in other letters between them.
fn is_fact_misspelt(words: &str) -> bool {
    let letters: String = words
        .chars()
        .filter(|letter| !matches!(letter, '.' | '_' | '-' | ' '))
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    matches!(&letters[..], "messageid" | "eventtype" | "attemptnumber")
}

#[cfg(test)]
mod tests {
    use stagger::Instant;
    use stagger_scheduler::model::{ApplicationId, MessageId};
    use uuid::Uuid;

    use super::*;

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
            channels: Vec::new(),
            trace: None,
            attributes: stagger_scheduler::model::EventAttributes::default(),
        }
    }

    /// netbox-community/netbox #22746, ZerosAndOnesLLC/AiFw #311, rmyndharis/OpenWA #403.
    #[test]
    fn a_line_break_adds_no_second_header() {
        let names = ["x\r\nhost", "x\nhost: b", "", "x y", "x:", "é", "x\0"];
        for name in names {
            let header = header(name, "a");
            assert!(check_header(&header).is_err(), "{name:?}");
        }
        let values = ["a\r\nhost: b", "a\nb", "Bearer abc\n", "\u{7f}", "a\tb", " a", "a ", "é"];
        for value in values {
            let header = header("x-a", value);
            let error = check_header(&header).expect_err(value).to_string();
            assert!(!error.contains("Bearer"), "{error}");
            assert!(fill(&header, &message(), 1).is_err(), "{value:?}");
        }
    }

    #[test]
    fn headers_of_the_dispatcher_cannot_be_replaced() {
        for name in RESERVED.iter().chain(&["webhook-id", "Webhook-X", "stagger-attempt", "HOST"]) {
            assert!(check_header(&header(name, "a")).is_err(), "{name}");
        }
        for name in ["user-agent", "authorization", "x-webhook-id", "content-encoding"] {
            assert_eq!(check_header(&header(name, "a")), Ok(()), "{name}");
        }
    }

    #[test]
    fn facts_are_filled_in_and_other_braces_are_left() {
        let fill = |value| fill(&header("x-a", value), &message(), 7).expect("a good value");
        let id = message().id.to_string();
        assert_eq!(fill("{message.id}").to_str().expect("text"), id);
        assert_eq!(fill("{event.type}#{attempt.number}"), "invoice.paid#7");
        assert_eq!(fill(r#"{"a":{attempt.number}}{}{{"#), r#"{"a":7}{}{{"#);
        assert_eq!(fill(""), "");
        assert!(fill("a").is_sensitive());
    }

    #[test]
    fn a_slip_in_a_fact_is_told_when_saved() {
        for value in [
            "{message.ids}",
            "a{event.typ}",
            "{attempt.number}{x.y}",
            "{message_id}",
            "{eventType}",
            "{ attempt.number }",
            "{Message.Id}",
        ] {
            assert!(check_header(&header("x-a", value)).is_err(), "{value}");
        }
        assert!(check_header(&header("x-a", "{message}")).is_ok());
    }

    #[test]
    fn a_name_or_a_value_has_a_longest() {
        assert!(check_header(&header(&"x".repeat(MAX_NAME), "a")).is_ok());
        assert!(check_header(&header(&"x".repeat(MAX_NAME + 1), "a")).is_err());
        assert!(check_header(&header("x-a", &"x".repeat(MAX_VALUE))).is_ok());
        assert!(check_header(&header("x-a", &"x".repeat(MAX_VALUE + 1))).is_err());
    }
}
