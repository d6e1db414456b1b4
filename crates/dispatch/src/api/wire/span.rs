//! Spans in replies: in the largest unit that divides them, as people write them.

use serde::{Serialize, Serializer};
use serde_json::Value;
use stagger::Span;

/// The units that are longer than a second, in seconds.
const UNITS: [(u64, &str); 3] = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "m")];

/// The text of a span: `5d`, `90m`, `1.5s`.
pub(crate) fn text(span: Span) -> String {
    let second = Span::from_secs(1).as_nanos();
    let nanos = span.as_nanos();
    let fits = |(unit, _): &&(u64, &str)| nanos > 0 && nanos.is_multiple_of(unit * second);
    match UNITS.iter().find(fits) {
        Some((unit, name)) => format!("{}{name}", nanos / (unit * second)),
        None => span.to_string(),
    }
}

/// Writes a span.
pub(super) fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&text(*span))
}

/// Writes a span that may be missing.
#[expect(clippy::ref_option, reason = "serde calls it so")]
pub(super) fn serialize_some<S: Serializer>(
    span: &Option<Span>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    span.map(text).serialize(serializer)
}

/// Rewrites the spans within a value, which the engine has written in seconds.
pub(super) fn rewrite(value: &mut Value) {
    match value {
        Value::String(written) => {
            let digits =
                written.strip_suffix('s').filter(|it| it.bytes().all(|b| b.is_ascii_digit()));
            if let Some(seconds) = digits.and_then(|digits| digits.parse().ok()) {
                *written = text(Span::from_secs(seconds));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Object(members) => members.values_mut().for_each(rewrite),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_days_came_back_as_432000_seconds() {
        for (written, read) in [
            ("5d", "5d"),
            ("120h", "5d"),
            ("90m", "90m"),
            ("1h 30m", "90m"),
            ("3600s", "1h"),
            ("61s", "61s"),
            ("1500ms", "1.5s"),
            ("0s", "0s"),
        ] {
            let span: Span = written.parse().expect("a span");
            assert_eq!(text(span), read);
            assert_eq!(read.parse::<Span>().expect("a span"), span);
        }
        let mut value = serde_json::json!({"a": ["86400s", "s", "1.5s", "gas", 7]});
        rewrite(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["1d", "s", "1.5s", "gas", 7]}));
    }
}
