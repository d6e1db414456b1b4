//! Lengths of time as each product writes and reads them.

use stagger_core::Span;

/// The parser of a text as a length of time.
pub(crate) type Read = fn(&str) -> Option<Span>;

const MILLI: u64 = 1_000_000;

/// protobuf's: `0.025s`, `15s`.
pub(crate) fn protobuf(text: &str) -> Option<Span> {
    let number = text.strip_suffix('s')?;
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    if !plain {
        return None;
    }
    format!("0{number}s").parse().ok()
}

/// Spring's: `500ms`, `1s`, `PT1.5S`, or a number of milliseconds.
pub(crate) fn spring(text: &str) -> Option<Span> {
    if let Ok(millis) = text.parse::<u64>() {
        return millis.checked_mul(MILLI).map(Span::from_nanos);
    }
    match text.strip_prefix("PT").or_else(|| text.strip_prefix("pt")) {
        Some(iso) => iso.to_lowercase().parse().ok(),
        None => text.replace(' ', "").parse().ok(),
    }
}

/// Go's `time.ParseDuration`, and the durations of Kubernetes resources: `1h30m`, `1.5s`, `25ms`.
pub(crate) fn go(text: &str) -> Option<Span> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let units = text.chars().all(|c| c.is_ascii_digit() || ".hmsnuµ".contains(c));
    (digits && units)
        .then(|| text.replace('µ', "u"))
        .and_then(|text| format!("0{text}").parse().ok())
}

/// nginx's: `1m30s`, `500ms`, or a number of seconds.
///
/// Source: <https://nginx.org/en/docs/syntax.html>.
pub(crate) fn nginx(text: &str) -> Option<Span> {
    match text.parse::<u64>() {
        Ok(seconds) => Some(Span::from_secs(seconds)),
        Err(_) => text.parse().ok(),
    }
}

/// HAProxy's: one number with a unit, or milliseconds.
///
/// Source: <https://docs.haproxy.org/dev/configuration.html#2.5>.
pub(crate) fn haproxy(text: &str) -> Option<Span> {
    match text.parse::<u64>() {
        Ok(millis) => millis.checked_mul(MILLI).map(Span::from_nanos),
        Err(_) => text.parse().ok(),
    }
}

/// .NET's `TimeSpan`: `00:00:02`, `00:00:00.5`, `1.00:00:00`.
pub(crate) fn timespan(text: &str) -> Option<Span> {
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else { return None };
    let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
    let below = |text: &str, most: u64| text.parse::<u64>().ok().filter(|n| *n < most);
    let (days, hours) = (below(days, 10_000)?, below(hours, 24)?);
    let minutes = below(minutes, 60)?;
    let digits = seconds.chars().all(|c| c.is_ascii_digit() || c == '.');
    let seconds: Span = format!("{seconds}s").parse().ok().filter(|_| digits)?;
    let whole = Span::from_secs(((days * 24 + hours) * 60 + minutes) * 60);
    (seconds < Span::from_secs(60)).then(|| whole.saturating_add(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_product_has_its_own_form() {
        let ms = |n| Some(Span::from_millis(n));
        assert_eq!((protobuf("0.025s"), protobuf(".5s"), protobuf("1ms")), (ms(25), ms(500), None));
        assert_eq!(
            (spring("500"), spring("2s"), spring("PT1.5S")),
            (ms(500), ms(2_000), ms(1_500))
        );
        assert_eq!((timespan("00:00:02"), timespan("00:00:00.5")), (ms(2_000), ms(500)));
        assert_eq!(timespan("1.00:00:01"), ms(86_401_000));
        for text in ["2", "2s", "00:60:00", "24:00:00", "00:00:-1", "::", "00:00:61"] {
            assert_eq!(timespan(text), None, "{text}");
        }
    }
}
