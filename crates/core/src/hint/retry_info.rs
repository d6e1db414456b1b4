//! `google.rpc.RetryInfo`: in the details of a gRPC status, and in the JSON of an HTTP error.

use alloc::vec::Vec;

use super::decimal;
use crate::Span;

/// The longest value that is read: servers and proxies bound all of a reply's headers by 8 to 16 KiB.
const MAX_DETAILS: usize = 16 * 1024;
/// The bytes of a body that are searched; an error is at its start.
const MAX_BODY: usize = 64 * 1024;
const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Reads the bytes of `grpc-status-details-bin`: base64, with its padding or without any (gRPC over HTTP/2,
/// "Binary-Header"). `None` for a value that is none, or that has more than 16 KiB.
///
/// ```
/// use stagger_core::hint::status_details;
/// assert_eq!(status_details(b"CAg").as_deref(), Some(&[8, 8][..]));
/// assert_eq!(status_details(b"CAg="), status_details(b"CAg"));
/// assert_eq!(status_details(b"not base64"), None);
/// ```
#[must_use]
pub fn status_details(value: &[u8]) -> Option<Vec<u8>> {
    if value.len() > MAX_DETAILS {
        return None;
    }
    let text = match (value.len() % 4, value) {
        (0, [text @ .., b'=', b'='] | [text @ .., b'=']) => text,
        _ => value,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0_u32;
        for symbol in group {
            bits = bits << 6 | sextet(*symbol)?;
        }
        // Bits beyond the last whole byte are zero, or two texts would stand for the same bytes.
        let [_, first, second, third] = (bits << (24 - 6 * group.len())).to_be_bytes();
        match group.len() {
            4 => bytes.extend([first, second, third]),
            3 if third == 0 => bytes.extend([first, second]),
            2 if second == 0 => bytes.push(first),
            _ => return None,
        }
    }
    Some(bytes)
}

fn sextet(symbol: u8) -> Option<u32> {
    Some(u32::from(match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Reads the delay of the `google.rpc.RetryInfo` among the details of a status: a `google.rpc.Status` in
/// protobuf's binary form. Zero if it is there without a delay; `None` if it is not there, or malformed.
///
/// ```
/// use stagger_core::{Span, hint::{retry_info, status_details}};
/// let header = b"CAgaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIOg";
/// let details = status_details(header).expect("base64");
/// assert_eq!(retry_info(&details), Some(Span::from_secs(58)));
/// ```
#[must_use]
pub fn retry_info(details: &[u8]) -> Option<Span> {
    let mut longest = None;
    fields(details, |field| {
        if let (3, Value::Bytes(any)) = field {
            longest = longest.max(Some(delay_of_any(any)?));
        }
        Some(())
    })?;
    longest.flatten()
}

/// The delay of a `google.protobuf.Any`; the inner `None` for one of another type.
fn delay_of_any(any: &[u8]) -> Option<Option<Span>> {
    let (mut is_retry_info, mut value) = (false, &[][..]);
    fields(any, |field| {
        match field {
            (1, Value::Bytes(url)) => is_retry_info = url.ends_with(b"/google.rpc.RetryInfo"),
            (2, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
        Some(())
    })?;
    if !is_retry_info {
        return Some(None);
    }
    let mut delay = Span::ZERO;
    fields(value, |field| {
        if let (1, Value::Bytes(bytes)) = field {
            delay = duration(bytes)?;
        }
        Some(())
    })?;
    Some(Some(delay))
}

/// Reads a `google.protobuf.Duration`. A negative one is malformed here: nothing waits for the past.
fn duration(message: &[u8]) -> Option<Span> {
    let (mut secs, mut nanos) = (0_u64, 0_u64);
    fields(message, |field| {
        match field {
            (1, Value::Varint(value)) => secs = value,
            (2, Value::Varint(value)) => nanos = value,
            _ => {}
        }
        Some(())
    })?;
    let positive = i64::try_from(secs).is_ok() && nanos < NANOS_PER_SEC;
    positive.then(|| Span::from_nanos(secs.saturating_mul(NANOS_PER_SEC).saturating_add(nanos)))
}

enum Value<'m> {
    Varint(u64),
    Bytes(&'m [u8]),
    /// Four or eight bytes, of which no message here has any.
    Fixed,
}

/// Gives each field of a message to `take`, with its number. `None` if the message is malformed or `take`
/// says so.
fn fields<'m>(
    mut message: &'m [u8],
    mut take: impl FnMut((u64, Value<'m>)) -> Option<()>,
) -> Option<()> {
    while !message.is_empty() {
        let (key, rest) = varint(message)?;
        let (value, rest) = match key & 7 {
            0 => {
                let (value, rest) = varint(rest)?;
                (Value::Varint(value), rest)
            }
            1 => (Value::Fixed, rest.get(8..)?),
            2 => {
                let (length, rest) = varint(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            5 => (Value::Fixed, rest.get(4..)?),
            // Groups were given up before protobuf was published; six and seven are no types.
            _ => return None,
        };
        take((key >> 3, value))?;
        message = rest;
    }
    Some(())
}

/// Reads a number of at most ten bytes, seven bits each, the lowest first.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        // Of the tenth byte one bit is left in 64.
        if at == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// Reads the longest `"retryDelay": "58s"` in the JSON body of an error, as Google's HTTP interfaces write
/// the delay of a `RetryInfo`. `None` when there is none in the first 64 KiB.
///
/// ```
/// use stagger_core::{Span, hint::retry_delay};
/// let body = br#"{"error":{"code":429,"details":[{
///     "@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"58.5s"}]}}"#;
/// assert_eq!(retry_delay(body), Some(Span::from_millis(58_500)));
/// ```
#[must_use]
pub fn retry_delay(body: &[u8]) -> Option<Span> {
    // Inside a JSON string a quote has a backslash before it, so these bytes are never part of one.
    const KEY: &[u8] = b"\"retryDelay\"";
    let body = &body[..body.len().min(MAX_BODY)];
    let starts = body.windows(KEY.len()).enumerate().filter(|(_, window)| *window == KEY);
    starts.filter_map(|(at, _)| delay_after(&body[at + KEY.len()..])).max()
}

/// Reads `: "58s"`, the form of a `google.protobuf.Duration` in JSON.
fn delay_after(text: &[u8]) -> Option<Span> {
    let text = text.trim_ascii_start().strip_prefix(b":")?;
    let text = text.trim_ascii_start().strip_prefix(b"\"")?;
    let end = text.iter().position(|&byte| byte == b'"')?;
    decimal::span(text[..end].strip_suffix(b"s")?, decimal::SECONDS)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use proptest::prelude::*;

    use super::*;

    /// A field of bytes.
    fn nested(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2, u8::try_from(bytes.len()).expect("short")];
        field.extend_from_slice(bytes);
        field
    }

    fn any(kind: &str, value: &[u8]) -> Vec<u8> {
        let url = [b"type.googleapis.com/google.rpc.", kind.as_bytes()].concat();
        [nested(1, &url), nested(2, value)].concat()
    }

    /// A status RESOURCE_EXHAUSTED with these details.
    fn status(details: &[Vec<u8>]) -> Vec<u8> {
        let mut status = [&[0x08, 8][..], &nested(2, b"quota")].concat();
        details.iter().for_each(|any| status.extend(nested(3, any)));
        status
    }

    fn of_duration(duration: &[u8]) -> Option<Span> {
        retry_info(&status(&[any("RetryInfo", &nested(1, duration))]))
    }

    #[test]
    fn a_delay_in_the_details_was_no_hint() {
        assert_eq!(of_duration(&[0x08, 58]), Some(Span::from_secs(58)));
        // 500 000 000 ns.
        let half = [0x10, 0x80, 0xca, 0xb5, 0xee, 0x01];
        assert_eq!(of_duration(&half), Some(Span::from_millis(500)));
        assert_eq!(of_duration(&[]), Some(Span::ZERO));
        assert_eq!(retry_info(&status(&[any("RetryInfo", &[])])), Some(Span::ZERO));
        let others = [any("ErrorInfo", b"\x0a\x01x"), any("RetryInfo", &nested(1, &[0x08, 7]))];
        assert_eq!(retry_info(&status(&others)), Some(Span::from_secs(7)));
        assert_eq!(retry_info(&status(&others[..1])), None);
        assert_eq!(retry_info(&status(&[])), None);
        // Fields that nobody knows yet are passed over, of every type.
        let unknown = [&[0x78, 1, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4][..], &[0x08, 9]];
        assert_eq!(of_duration(&unknown.concat()), Some(Span::from_secs(9)));
    }

    #[test]
    fn what_is_malformed_is_no_hint() {
        let minus_one = [0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(of_duration(&minus_one), None);
        assert_eq!(of_duration(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2]), None);
        // 1 000 000 000 ns are a second.
        assert_eq!(of_duration(&[0x10, 0x80, 0x94, 0xeb, 0xdc, 0x03]), None);
        assert_eq!(of_duration(&[0x0b, 0x0c]), None, "a group");
        let whole = status(&[any("RetryInfo", &nested(1, &[0x08, 58]))]);
        for cut in 1..whole.len() {
            let read = retry_info(&whole[..cut]);
            assert!(read.is_none(), "the first {cut} bytes: {read:?}");
        }
        let longest = [0x08, 255, 255, 255, 255, 255, 255, 255, 255, 127];
        assert_eq!(of_duration(&longest), Some(Span::MAX));
    }

    #[test]
    fn base64_has_one_text_for_the_same_bytes() {
        for (text, bytes) in [
            ("", &[][..]),
            ("Zg", b"f"),
            ("Zg==", b"f"),
            ("Zm8", b"fo"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("+/+/", &[0xfb, 0xff, 0xbf]),
        ] {
            assert_eq!(status_details(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
        for text in
            ["Z", "Zg=", "Zh==", "Zm9=", "Zm9v====", "Zm9v=", "=", "Zg==Zg==", "-_-_", "Zm 9v"]
        {
            assert_eq!(status_details(text.as_bytes()), None, "{text}");
        }
        assert_eq!(status_details(&[b'A'; MAX_DETAILS]).map(|bytes| bytes.len()), Some(12_288));
        assert_eq!(status_details(&[b'A'; MAX_DETAILS + 4]), None);
    }

    #[test]
    fn a_delay_in_a_body_was_no_hint() {
        let read = |body: &str| retry_delay(body.as_bytes()).map(Span::as_nanos);
        assert_eq!(read(r#"{"retryDelay":"58s"}"#), Some(58_000_000_000));
        assert_eq!(read("{\"retryDelay\"\n:\t\"0.5s\"}"), Some(500_000_000));
        assert_eq!(read(r#"[{"retryDelay":"1s"},{"retryDelay":"3s"}]"#), Some(3_000_000_000));
        assert_eq!(read(r#"{"message":"\"retryDelay\":\"9s\""}"#), None, "said, not meant");
        for other in ["\"58\"", "58", "\"-1s\"", "\"1m\"", "\"s\"", "\"58s", "null", "\"1e3s\""] {
            assert_eq!(read(&alloc::format!("{{\"retryDelay\":{other}}}")), None, "{other}");
        }
        let far = [&vec![b' '; MAX_BODY][..], br#"{"retryDelay":"58s"}"#].concat();
        assert_eq!(retry_delay(&far), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = (retry_info(&bytes), status_details(&bytes), retry_delay(&bytes));
            let (info, body) = (nested(1, &bytes[..bytes.len().min(90)]), &bytes);
            let _ = retry_info(&status(&[any("RetryInfo", &info)]));
            let _ = retry_delay(&[b"\"retryDelay\":\"", &body[..]].concat());
        }

        #[test]
        fn every_delay_is_read_as_written(secs in 0..1_000_u64, nanos in 0..NANOS_PER_SEC) {
            let mut message = vec![0x08];
            for (key, mut number) in [(None, secs), (Some(0x10), nanos)] {
                message.extend(key);
                while number > 0x7f {
                    message.push(u8::try_from(number & 0x7f).expect("seven bits") | 0x80);
                    number >>= 7;
                }
                message.push(u8::try_from(number).expect("seven bits"));
            }
            let expected = Some(Span::from_nanos(secs * NANOS_PER_SEC + nanos));
            prop_assert_eq!(of_duration(&message), expected);
        }
    }
}
