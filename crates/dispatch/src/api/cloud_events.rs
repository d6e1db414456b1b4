//! Messages that come as CloudEvents 1.0.2: in binary mode, in structured mode, and in batches of these (HTTP binding and
//! JSON format).

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use stagger_scheduler::model::{AttributeValue, EventAttributes, EventType, IdempotencyKey};

use super::body;
use super::problem::Problem;
use super::state::Api;
use super::trace::trace_of;
use crate::Error;
use crate::node::Submission;

const STRUCTURED: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";
/// The prefix of headers with attributes.
const PREFIX: &str = "ce-";
const JSON: &str = "application/json";
/// Longest content type: the longest registered types with room for parameters.
const MAX_CONTENT_TYPE: usize = 255;
/// Longest value of `type`, `id` and the like that is looked at, in bytes.
const MAX_HEADER: usize = 4 << 10;

/// The body of a request with one message.
#[derive(Debug)]
pub(super) enum MessageBody {
    /// A message of the API's own form.
    Own(Bytes),
    /// An event.
    Event(Box<Submission>),
}

impl FromRequest<Api> for MessageBody {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let headers = head.headers;
        let (max_body, max_payload) = (api.options().max_body, api.options().max_payload);
        let is_binary = headers.keys().any(|name| name.as_str().starts_with(PREFIX));
        let event = match essence(&headers).as_str() {
            BATCH => {
                let detail = "a batch of events is accepted at .../messages/batch";
                return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
            }
            STRUCTURED => {
                let bytes = body::read(&headers, body, max_body).await?;
                event(body::json(&bytes)?, max_payload)?
            }
            _ if is_binary => {
                let bytes = body::read(&headers, body, max_payload).await?;
                in_headers(&headers, &bytes)?
            }
            _ => {
                body::wants_json(&headers)?;
                return body::read(&headers, body, max_body).await.map(Self::Own);
            }
        };
        Ok(Self::Event(Box::new(event)))
    }
}

/// The events of a batch; `None` if the request is no batch of events.
///
/// # Errors
/// The place of an event, and what is wrong with it.
pub(super) fn batch(
    headers: &HeaderMap,
    body: &[u8],
    max_payload: usize,
) -> Option<Result<Vec<Submission>, Problem>> {
    let read = || {
        let events: Vec<Members<'_>> = body::json(body)?;
        let one = |(at, members)| event(members, max_payload).map_err(|problem| problem.within(at));
        events.into_iter().enumerate().map(one).collect()
    };
    (essence(headers) == BATCH).then(read)
}

type Members<'b> = BTreeMap<Cow<'b, str>, &'b RawValue>;

/// An event in structured mode (JSON format, section 3).
fn event(mut members: Members<'_>, max_payload: usize) -> Result<Submission, Problem> {
    let mut data = members.remove("data");
    let data_base64 = members.remove("data_base64");
    let mut attributes = BTreeMap::new();
    for (name, raw) in members {
        if let Some(value) = value(&name, raw)? {
            attributes.insert(name.into_owned(), value);
        }
    }
    let content_type = content_type(attributes.remove("datacontenttype"))?;
    // A member of null is not set, except data, whose value it may be.
    if data_base64.is_some_and(|raw| raw.get() != "null")
        && data.is_some_and(|raw| raw.get() == "null")
    {
        data = None;
    }
    let payload = match (data, data_base64.filter(|raw| raw.get() != "null")) {
        (Some(_), Some(_)) => {
            return Err(Error::invalid("data_base64", "(both)", "left out beside data").into());
        }
        (Some(raw), None) => payload_of(raw, content_type.as_deref()),
        (None, Some(raw)) => {
            let bytes = serde_json::from_str::<Cow<'_, str>>(raw.get()).ok();
            let bytes = bytes.and_then(|text| STANDARD.decode(text.as_bytes()).ok());
            let bound = "a text of base64 with its padding";
            bytes.map(Bytes::from).ok_or_else(|| Error::invalid("data_base64", raw.get(), bound))?
        }
        (None, None) => Bytes::new(),
    };
    if payload.len() > max_payload {
        return Err(Problem::too_large("the data", max_payload).at("data"));
    }
    submission(attributes, content_type.unwrap_or_else(|| JSON.to_owned()), payload)
}

/// The bytes of `data`: JSON as it stands there, or the text of a type that is not JSON (JSON format, section 3.1.1).
fn payload_of(raw: &RawValue, content_type: Option<&str>) -> Bytes {
    let text = match content_type {
        Some(content_type) if !is_json(content_type) => {
            serde_json::from_str::<String>(raw.get()).ok()
        }
        _ => None,
    };
    text.map_or_else(|| Bytes::copy_from_slice(raw.get().as_bytes()), Bytes::from)
}

/// The value of an attribute (JSON format, section 2.2); `None` if it is null, which is not set.
fn value(name: &str, raw: &RawValue) -> Result<Option<AttributeValue>, Problem> {
    let read: Result<Option<AttributeValue>, _> = serde_json::from_str(raw.get());
    read.map_err(|_| {
        let bound = "a text, a whole number of 32 bits, true or false";
        Problem::refused(name.to_owned().into(), raw.get(), bound)
    })
}

/// An event in binary mode (HTTP binding, section 3.1).
fn in_headers(headers: &HeaderMap, body: &[u8]) -> Result<Submission, Problem> {
    let mut attributes = BTreeMap::new();
    for name in headers.keys() {
        let Some(attribute) = name.as_str().strip_prefix(PREFIX) else { continue };
        let mut values = headers.get_all(name).iter();
        let (value, more) = (values.next(), values.next());
        let text = value.filter(|value| more.is_none() && value.len() <= MAX_HEADER);
        let text = text.and_then(|value| decoded(value.as_bytes()));
        let text = text.ok_or_else(|| {
            let shown = String::from_utf8_lossy(value.map_or(&b""[..], |value| value.as_bytes()));
            let bound = "one value of at most 4096 bytes, in percent-encoded UTF-8";
            Problem::refused(name.as_str().to_owned().into(), &shown, bound)
        })?;
        attributes.insert(attribute.to_owned(), AttributeValue::Text(text));
    }
    if attributes.contains_key("datacontenttype") {
        let bound = "left out: the header Content-Type has it";
        return Err(Problem::refused("ce-datacontenttype".into(), "(given)", bound));
    }
    let told = headers
        .get(CONTENT_TYPE)
        .map(|value| AttributeValue::Text(String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let content_type = content_type(told)?;
    let content_type = content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    // A copy: the body may be a slice of a connection's buffer, and would keep all of it.
    submission(attributes, content_type, Bytes::copy_from_slice(body))
}

/// A message from the attributes of an event. Source and id together are its idempotency key, because they name an event
/// (specification, section 3.1.1).
fn submission(
    mut attributes: BTreeMap<String, AttributeValue>,
    content_type: String,
    payload: Bytes,
) -> Result<Submission, Problem> {
    let text = |name: &'static str, bound: &str| match attributes.get(name) {
        Some(AttributeValue::Text(text)) if !text.is_empty() => Ok(text.clone()),
        Some(other) => Err(Error::invalid(name, other, bound)),
        None => Err(Error::invalid(name, "(missing)", bound)),
    };
    if text("specversion", "1.0")? != "1.0" {
        return Err(Error::invalid("specversion", text("specversion", "1.0")?, "1.0").into());
    }
    let (id, source) = (text("id", "a text that is not empty")?, text("source", "a URI")?);
    let event_type = event_type(&text("type", TYPE_BOUND)?)?;
    attributes.remove("specversion");
    attributes.remove("type");
    let attributes = EventAttributes::new(attributes)?;
    let trace = attributes.text("traceparent");
    let trace = trace_of(trace, attributes.text("tracestate"));
    let key = Some(key_of(&source, &id)?);
    Ok(Submission {
        event_type,
        payload,
        content_type,
        key,
        channels: Vec::new(),
        trace,
        attributes,
    })
}

const TYPE_BOUND: &str = "words of letters, digits, _ and - joined by full stops, at most 128 in all, that do not begin \
     with stagger.";

fn event_type(text: &str) -> Result<EventType, Error> {
    let parsed: Option<EventType> = text.parse().ok();
    let parsed = parsed.filter(|event_type| !event_type.is_operational());
    parsed.ok_or_else(|| Error::invalid("type", text, TYPE_BOUND))
}

/// The idempotency key of an event: a hash, because both parts may be longer than a key, and of other characters.
fn key_of(source: &str, id: &str) -> Result<IdempotencyKey, Error> {
    let mut hash = Sha256::new();
    for part in [source, id] {
        // OK because no machine has texts of more bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Ok(format!("cloudevent:{}", URL_SAFE_NO_PAD.encode(hash.finalize())).parse()?)
}

fn content_type(given: Option<AttributeValue>) -> Result<Option<String>, Error> {
    let Some(given) = given else { return Ok(None) };
    let visible = |text: &str| text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match given {
        AttributeValue::Text(text)
            if (1..=MAX_CONTENT_TYPE).contains(&text.len()) && visible(&text) =>
        {
            Ok(Some(text))
        }
        other => {
            let bound = "a media type of at most 255 visible ASCII characters";
            Err(Error::invalid("datacontenttype", other, bound))
        }
    }
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.split_once('/').is_some_and(|(_, it)| it == "json" || it.ends_with("+json"))
}

/// A header's value as text: quotation marks around it are taken away, and percent-encoded bytes are those of UTF-8 (HTTP
/// binding, section 3.1.3.3). `None` if it is neither.
fn decoded(value: &[u8]) -> Option<String> {
    let value = value.trim_ascii();
    let unquoted = match value.strip_prefix(b"\"") {
        Some(rest) => Cow::Owned(unquoted(rest.strip_suffix(b"\"")?)?),
        None => Cow::Borrowed(value),
    };
    let mut bytes = Vec::with_capacity(unquoted.len());
    let mut rest = &unquoted[..];
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        bytes.push(digit(digits[0])? << 4 | digit(digits[1])?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

/// The text between quotation marks, without the backslashes before characters (RFC 9110 section 5.6.4).
fn unquoted(quoted: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => text.push(bytes.next()?),
            b'"' => return None,
            byte => text.push(byte),
        }
    }
    Some(text)
}

fn essence(headers: &HeaderMap) -> String {
    let told = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    told.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Submission, String> {
        let members = body::json(json.as_bytes()).map_err(Problem::into_detail)?;
        event(members, 100).map_err(Problem::into_detail)
    }

    fn with(members: &str) -> Result<Submission, String> {
        read(&format!(
            r#"{{"specversion":"1.0","id":"A-1","source":"/shop","type":"order.taken"{members}}}"#
        ))
    }

    #[test]
    fn data_is_what_its_type_says() {
        let data = |members: &str| {
            let event = with(members).unwrap();
            (event.content_type, String::from_utf8(event.payload.to_vec()).unwrap())
        };
        let pair = |content_type: &str, data: &str| (content_type.to_owned(), data.to_owned());
        assert_eq!(data(""), pair("application/json", ""));
        assert_eq!(data(r#","data":{"a": 1.0}"#), pair("application/json", "{\"a\": 1.0}"));
        assert_eq!(data(r#","data":null"#), pair("application/json", "null"));
        assert_eq!(data(r#","data":"a""#), pair("application/json", "\"a\""));
        let text = r#","datacontenttype":"text/plain","data":"a\nb""#;
        assert_eq!(data(text), pair("text/plain", "a\nb"));
        let xml = r#","datacontenttype":"text/xml","data_base64":"PGEvPg==""#;
        assert_eq!(data(xml), pair("text/xml", "<a/>"));
        let other = r#","datacontenttype":"application/a+json","data":"a""#;
        assert_eq!(data(other), pair("application/a+json", "\"a\""));
    }

    #[test]
    fn attributes_keep_their_types_and_null_is_none() {
        let event = with(r#","subject":null,"sampled":true,"rank":-7,"myext":"a""#).unwrap();
        let all: Vec<_> =
            event.attributes.iter().map(|(name, it)| (name, it.to_string())).collect();
        let text = |text: &str| text.to_owned();
        let expected = [
            ("id", text("A-1")),
            ("myext", text("a")),
            ("rank", text("-7")),
            ("sampled", text("true")),
            ("source", text("/shop")),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn source_and_id_are_one_key() {
        let key = |source: &str, id: &str| key_of(source, id).unwrap();
        assert_eq!(key("/a", "b"), key("/a", "b"));
        assert_ne!(key("/a", "b"), key("/", "ab"));
        assert_ne!(key("/a", "b"), key("/a", "c"));
        assert_eq!(with("").unwrap().key, Some(key("/shop", "A-1")));
    }

    #[test]
    fn an_event_with_missing_or_wrong_attributes_is_refused() {
        for (json, words) in [
            (r#"{"id":"1","source":"/","type":"a"}"#, "specversion = (missing)"),
            (r#"{"specversion":"0.3","id":"1","source":"/","type":"a"}"#, "specversion = 0.3"),
            (r#"{"specversion":"1.0","source":"/","type":"a"}"#, "id = (missing)"),
            (r#"{"specversion":"1.0","id":"","source":"/","type":"a"}"#, "id = "),
            (r#"{"specversion":"1.0","id":7,"source":"/","type":"a"}"#, "id = 7"),
            (r#"{"specversion":"1.0","id":"1","type":"a"}"#, "source = (missing)"),
            (r#"{"specversion":"1.0","id":"1","source":"a b","type":"a"}"#, "source = a b"),
            (r#"{"specversion":"1.0","id":"1","source":"/"}"#, "type = (missing)"),
            (r#"{"specversion":"1.0","id":"1","source":"/","type":"a b"}"#, "type = a b"),
            (
                r#"{"specversion":"1.0","id":"1","source":"/","type":"stagger.x"}"#,
                "type = stagger.x",
            ),
        ] {
            let refused = read(json).expect_err(json);
            assert!(refused.starts_with(words), "{refused}");
        }
        for (members, words) in [
            (r#","time":"yesterday""#, "time = yesterday"),
            (r#","myExt":"a""#, "attributes = myExt"),
            (r#","myext":[1]"#, "myext = [1]"),
            (r#","myext":1.5"#, "myext = 1.5"),
            (r#","myext":4294967296"#, "myext = 4294967296"),
            (r#","data":1,"data_base64":"AA==""#, "data_base64 = (both)"),
            (r#","data_base64":"!""#, "data_base64 = \"!\""),
            (r#","data_base64":7"#, "data_base64 = 7"),
            (r#","datacontenttype":"a\nb""#, "datacontenttype"),
        ] {
            let refused = with(members).expect_err(members);
            assert!(refused.starts_with(words), "{refused}");
        }
        let long = format!(r#","data":"{}""#, "a".repeat(100));
        assert!(with(&long).expect_err("too long").contains("at most 100 bytes"));
        assert!(read("[]").is_err() && read("{").is_err());
    }

    /// The examples of the HTTP binding, section 3.1.3.
    #[test]
    fn header_values_are_decoded() {
        let text = |value: &str| decoded(value.as_bytes());
        let euro = Some("Euro \u{20ac} \u{1f600}".to_owned());
        assert_eq!(text("Euro%20%E2%82%AC%20%F0%9F%98%80"), euro);
        assert_eq!(text("\"Euro%20%e2%82%ac %F0%9F%98%80\""), euro);
        assert_eq!(text(r#""a\"b\\c""#).as_deref(), Some(r#"a"b\c"#));
        for bad in ["%", "%2", "%GG", "%FF", "\"a", "\"a\"b\"", "\"a\\\""] {
            assert_eq!(text(bad), None, "{bad}");
        }
    }
}
