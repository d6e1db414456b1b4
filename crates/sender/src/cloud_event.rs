//! A message as an event of `CloudEvents` 1.0.2, by its HTTP binding (binary and structured mode) and JSON format.

use std::fmt::Write as _;

use base64::Engine;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use stagger::Instant;
use stagger_scheduler::model::{AttributeValue, Message};

use crate::secret::BASE64;

/// The prefix of headers with attributes (HTTP binding, section 3.1.3.1).
pub(crate) const PREFIX: &str = "ce-";
/// The type of an event in structured mode (HTTP binding, section 3.2.1).
const STRUCTURED: &str = "application/cloudevents+json; charset=UTF-8";

const SPEC_VERSION: &str = "1.0";

/// An event in structured mode.
pub(crate) struct StructuredEvent {
    pub(crate) body: Bytes,
    pub(crate) content_type: &'static str,
}

/// The attributes of a message in headers; `None` if a value cannot be sent.
pub(crate) fn headers(message: &Message) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let header = |(name, value): (&str, AttributeValue)| {
        let name = HeaderName::from_bytes(format!("{PREFIX}{name}").as_bytes()).ok()?;
        let value = HeaderValue::from_str(&encoded(&value.to_string())).ok()?;
        Some((name, value))
    };
    attributes(message).into_iter().map(header).collect()
}

/// A message with its payload in one JSON object. A payload of JSON stands in it as it is; another one, also one that only
/// says that it is JSON, in base64 (JSON format, section 3.1).
pub(crate) fn structured(message: &Message, payload: &[u8]) -> StructuredEvent {
    let value = |value| match value {
        AttributeValue::Boolean(value) => Value::from(value),
        AttributeValue::Integer(value) => Value::from(value),
        AttributeValue::Text(value) => Value::from(value),
    };
    let given = attributes(message);
    let mut object: Map<String, Value> =
        given.into_iter().map(|(name, it)| (name.to_owned(), value(it))).collect();
    object.insert("datacontenttype".to_owned(), message.content_type.clone().into());
    let mut body = Value::Object(object).to_string();
    body.pop();
    match json(&message.content_type, payload) {
        Some(text) => {
            body.push_str(",\"data\":");
            body.push_str(text);
        }
        None => {
            body.push_str(",\"data_base64\":\"");
            BASE64.encode_string(payload, &mut body);
            body.push('"');
        }
    }
    body.push('}');
    StructuredEvent { body: body.into(), content_type: STRUCTURED }
}

/// All attributes except the content type, with the values that a message has where its sender gave none.
fn attributes(message: &Message) -> Vec<(&str, AttributeValue)> {
    let own = &message.attributes;
    let text = |name: &str, usual: &dyn Fn() -> String| {
        AttributeValue::Text(own.text(name).map_or_else(usual, str::to_owned))
    };
    let fixed = ["id", "source", "time"];
    let mut all = vec![
        ("specversion", AttributeValue::Text(SPEC_VERSION.to_owned())),
        ("id", text("id", &|| message.id.to_string())),
        ("source", text("source", &|| format!("/v1/applications/{}", message.application))),
        ("type", AttributeValue::Text(message.event_type.to_string())),
        ("time", text("time", &|| rfc3339(message.created_at))),
    ];
    let further = own.iter().filter(|(name, _)| !fixed.contains(name));
    all.extend(further.map(|(name, value)| (name, value.clone())));
    all
}

/// The payload as text, if its type is JSON and it is.
fn json<'p>(content_type: &str, payload: &'p [u8]) -> Option<&'p str> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (_, subtype) = essence.split_once('/')?;
    let says_so = subtype == "json" || subtype.ends_with("+json");
    let text = says_so.then(|| std::str::from_utf8(payload).ok()).flatten()?;
    serde_json::from_str::<IgnoredAny>(text).is_ok().then_some(text)
}

/// A value for a header: blanks, quotation marks, percent signs and everything outside visible ASCII are the
/// percent-encoded bytes of UTF-8 (HTTP binding, section 3.1.3.2).
fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'"' | b'%' => _ = write!(text, "%{byte:02X}"),
            b'!'..=b'~' => text.push(byte.into()),
            _ => _ = write!(text, "%{byte:02X}"),
        }
    }
    text
}

/// An instant since the Unix epoch by RFC 3339, in milliseconds, UTC.
fn rfc3339(at: Instant) -> String {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    let millis = at.as_nanos() / 1_000_000;
    let (days, millis) = (millis / DAY, millis % DAY);
    // "Days to civil" of Howard Hinnant's date algorithms, for days from 1970-01-01 on: years begin in March, and
    // 400 of them are an era.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (secs, millis) = (millis / 1_000, millis % 1_000);
    let (hour, minute, second) = (secs / 3_600, secs / 60 % 60, secs % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use stagger::Span;
    use stagger_scheduler::model::EventAttributes;

    use super::*;

    fn message(content_type: &str, attributes: &[(&str, AttributeValue)]) -> Message {
        let given = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Message {
            id: "msg_0190163d8694739b84f6b0d3ccc3a5a3".parse().unwrap(),
            application: "app_0190163d8694739b84f6b0d3ccc3a5a1".parse().unwrap(),
            event_type: "invoice.paid".parse().unwrap(),
            key: None,
            content_type: content_type.to_owned(),
            size: 0,
            created_at: Instant::ORIGIN + Span::from_millis(1_709_251_199_250),
            channels: Vec::new(),
            trace: None,
            attributes: EventAttributes::new(given).unwrap(),
        }
    }

    fn text(value: &str) -> AttributeValue {
        AttributeValue::Text(value.to_owned())
    }

    #[test]
    fn instants_are_written_by_the_calendar() {
        for (secs, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Instant::ORIGIN + Span::from_secs(secs)), date);
        }
    }

    /// The example of the HTTP binding, section 3.1.3.2.
    #[test]
    fn header_values_are_percent_encoded() {
        assert_eq!(encoded("Euro \u{20ac} \u{1f600}"), "Euro%20%E2%82%AC%20%F0%9F%98%80");
        assert_eq!(encoded("a\"%b"), "a%22%25b");
    }

    #[test]
    fn binary_mode_has_each_attribute_in_a_header() {
        let given = [("subject", text("in \u{e9}")), ("sampled", AttributeValue::Boolean(true))];
        let headers = headers(&message("application/json", &given)).unwrap();
        let lines: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        let expected = [
            "ce-specversion: 1.0",
            "ce-id: msg_0190163d8694739b84f6b0d3ccc3a5a3",
            "ce-source: /v1/applications/app_0190163d8694739b84f6b0d3ccc3a5a1",
            "ce-type: invoice.paid",
            "ce-time: 2024-02-29T23:59:59.250Z",
            "ce-sampled: true",
            "ce-subject: in%20%C3%A9",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn structured_mode_has_json_as_it_is_and_all_else_in_base64() {
        let given = [
            ("id", text("A-1")),
            ("source", text("/shop")),
            ("time", text("2018-04-05T17:31:00Z")),
            ("rank", AttributeValue::Integer(7)),
        ];
        let event = |content_type: &str, payload: &[u8]| {
            let event = structured(&message(content_type, &given), payload);
            String::from_utf8(event.body.to_vec()).unwrap()
        };
        let head = |content_type: &str| {
            format!(
                r#"{{"datacontenttype":"{content_type}","id":"A-1","rank":7,"source":"/shop","specversion":"1.0","time":"2018-04-05T17:31:00Z","type":"invoice.paid","#
            )
        };
        for json in ["application/json", "text/json;charset=utf-8", "application/a+JSON"] {
            let expected = format!("{}\"data\":{{\"a\": 1.0}}}}", head(json));
            assert_eq!(event(json, b"{\"a\": 1.0}"), expected);
        }
        for (content_type, payload) in [
            ("text/plain", &b"{}"[..]),
            ("application/json", b"{\"a\":"),
            ("application/json", b"\"\xFF\""),
            ("application/json", b"1,\"data\":2"),
            ("jsonish", b"1"),
        ] {
            let base64 = BASE64.encode(payload);
            let expected = format!("{}\"data_base64\":\"{base64}\"}}", head(content_type));
            assert_eq!(event(content_type, payload), expected);
        }
    }
}
