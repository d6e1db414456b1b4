//! Durations as protobuf's JSON writes them: `"1.5s"`.

use crate::error::ConfigError;
use crate::time::Span;

/// protobuf's JSON form counts in nanoseconds.
const MAX_DECIMALS: usize = 9;

/// Reads a duration: seconds with at most nine decimals and an `s` behind them, and no other unit.
pub(super) fn duration(field: &'static str, text: &str) -> Result<Span, ConfigError> {
    let refuse = |bound: &str| ConfigError::new(field, alloc::format!("{text:?}"), bound);
    if !is_duration(text) {
        return Err(refuse("seconds as protobuf writes them, such as \"1.5s\""));
    }
    // grpc-go's own example writes ".01s".
    alloc::format!("0{text}")
        .parse()
        .map_err(|_| refuse("at most \"18446744073s\", about 584 years"))
}

fn is_duration(text: &str) -> bool {
    let Some(number) = text.strip_suffix('s') else { return false };
    let (whole, decimals) = number.split_once('.').unwrap_or(("", number));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let fits = decimals.len() <= MAX_DECIMALS || !number.contains('.');
    digits(whole) && digits(decimals) && !decimals.is_empty() && fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_and_nothing_else() {
        let read = |text| duration("retryPolicy.initialBackoff", text);
        assert_eq!(read("1.5s"), Ok(Span::from_millis(1_500)));
        assert_eq!(read(".01s"), Ok(Span::from_millis(10)));
        assert_eq!(read("3.000000001s"), Ok(Span::from_nanos(3_000_000_001)));
        for text in
            ["", "s", "123", "abcs", "-1s", "1ms", "1m 1s", " 1s", "1.s", ".s", "1.5.5s", "1e3s"]
        {
            assert!(read(text).is_err(), "{text:?}");
        }
        assert!(read("0.0000000001s").is_err());
        let error = read("315576000000s").unwrap_err();
        assert_eq!(error.bound(), "at most \"18446744073s\", about 584 years");
    }
}
