//! `x-ratelimit-reset` and its kin: no standard, so each provider's meaning is named.

use super::{WallTime, decimal, go_duration, rfc3339};
use crate::Span;

/// The meaning of the number in a reset header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResetMeaning {
    /// Told from the number: 13 digits are milliseconds since the epoch, 10 digits are seconds
    /// since the epoch (a date from 2001 to 2286), anything else is seconds from now. What is no
    /// number may be a duration as Go prints it (`6m0s`, `20ms`), or a date of RFC 3339.
    #[default]
    Auto,
    /// Seconds from now.
    DeltaSeconds,
    /// Milliseconds from now.
    DeltaMillis,
    /// Seconds since 1970-01-01T00:00:00Z.
    EpochSeconds,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    EpochMillis,
}

const AUTO: ResetMeaning = ResetMeaning::Auto;

/// A provider's pair of headers: when the quota comes back, and what is left of it.
///
/// ```
/// use stagger_core::hint::{ResetHeader, ResetMeaning};
/// const OURS: ResetHeader = ResetHeader {
///     reset: "x-quota-reset",
///     remaining: "x-quota-left",
///     meaning: ResetMeaning::DeltaMillis,
/// };
/// assert!(!ResetHeader::COMMON.contains(&OURS));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResetHeader {
    /// The header that says when the quota comes back; any case.
    pub reset: &'static str,
    /// The header that says what is left: the reset counts when it is 0 or missing; any case.
    pub remaining: &'static str,
    /// The meaning of the number.
    pub meaning: ResetMeaning,
}

impl ResetHeader {
    /// The headers that are in wide use, the precise ones first.
    ///
    /// `ratelimit-reset` is the spelling of the IETF draft up to its version 7, always a delta.
    pub const COMMON: &'static [Self] = &[
        Self::new("ratelimit-reset", "ratelimit-remaining", ResetMeaning::DeltaSeconds),
        Self::new("x-ratelimit-reset-after", "x-ratelimit-remaining", ResetMeaning::DeltaSeconds),
        Self::new("x-ratelimit-reset", "x-ratelimit-remaining", ResetMeaning::Auto),
        Self::new("x-rate-limit-reset", "x-rate-limit-remaining", ResetMeaning::Auto),
        // OpenAI and Groq, in durations as Go prints them.
        Self::new("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests", AUTO),
        Self::new("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens", AUTO),
        // Anthropic, in dates of RFC 3339.
        Self::new(
            "anthropic-ratelimit-requests-reset",
            "anthropic-ratelimit-requests-remaining",
            AUTO,
        ),
        Self::new("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining", AUTO),
        Self::new(
            "anthropic-ratelimit-input-tokens-reset",
            "anthropic-ratelimit-input-tokens-remaining",
            AUTO,
        ),
        Self::new(
            "anthropic-ratelimit-output-tokens-reset",
            "anthropic-ratelimit-output-tokens-remaining",
            AUTO,
        ),
    ];

    const fn new(reset: &'static str, remaining: &'static str, meaning: ResetMeaning) -> Self {
        Self { reset, remaining, meaning }
    }
}

/// Reads a reset header's value: digits, or digits with a fraction; by [`ResetMeaning::Auto`] also a
/// duration or a date.
///
/// A date that has passed is [`Span::ZERO`]; a date without `now`, and anything that is no number,
/// is no hint.
///
/// ```
/// use stagger_core::{Span, hint::{ResetMeaning, WallTime, rate_limit_reset}};
/// let now = Some(WallTime::from_unix_secs(1_771_404_480));
/// let auto = |value| rate_limit_reset(value, ResetMeaning::Auto, now);
/// assert_eq!(auto(b"60"), Some(Span::from_secs(60)));
/// assert_eq!(auto(b"1771404540"), Some(Span::from_secs(60)));
/// assert_eq!(auto(b"1771404540000"), Some(Span::from_secs(60)));
/// assert_eq!(auto(b"1m0s"), Some(Span::from_secs(60)));
/// assert_eq!(auto(b"2026-02-18T08:49:00Z"), Some(Span::from_secs(60)));
/// ```
#[must_use]
pub fn rate_limit_reset(
    value: &[u8],
    meaning: ResetMeaning,
    now: Option<WallTime>,
) -> Option<Span> {
    let value = decimal::trim(value);
    let from_epoch = |places| {
        let since_epoch = decimal::span(value, places)?;
        Some(now?.until(WallTime::from_unix(since_epoch)))
    };
    match meaning {
        ResetMeaning::Auto => rate_limit_reset(value, told_from(value), now)
            .or_else(|| go_duration::span(value))
            .or_else(|| Some(now?.until(rfc3339::wall_time(value)?))),
        ResetMeaning::DeltaSeconds => decimal::span(value, decimal::SECONDS),
        ResetMeaning::DeltaMillis => decimal::span(value, decimal::MILLIS),
        ResetMeaning::EpochSeconds => from_epoch(decimal::SECONDS),
        ResetMeaning::EpochMillis => from_epoch(decimal::MILLIS),
    }
}

/// Whether a `remaining` value says that nothing is left.
pub(super) fn is_used_up(remaining: &[u8]) -> bool {
    decimal::span(decimal::trim(remaining), decimal::SECONDS) == Some(Span::ZERO)
}

/// A meaning other than [`ResetMeaning::Auto`], by the digits before the point.
fn told_from(value: &[u8]) -> ResetMeaning {
    let whole = value.split(|&b| b == b'.').next().unwrap_or_default();
    match (whole.len(), whole.first()) {
        (13, Some(b'1'..=b'9')) => ResetMeaning::EpochMillis,
        (10, Some(b'1'..=b'9')) => ResetMeaning::EpochSeconds,
        _ => ResetMeaning::DeltaSeconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Option<WallTime> = Some(WallTime::from_unix_secs(1_771_404_480));

    #[test]
    fn meaning_that_is_named_is_not_guessed() {
        let read = |value, meaning| rate_limit_reset(value, meaning, NOW);
        assert_eq!(read(b"60", ResetMeaning::EpochSeconds), Some(Span::ZERO));
        let long = Some(Span::from_secs(1_771_404_540));
        assert_eq!(read(b"1771404540", ResetMeaning::DeltaSeconds), long);
        assert_eq!(read(b"250", ResetMeaning::DeltaMillis), Some(Span::from_millis(250)));
        let late = read(b"1771404480001", ResetMeaning::EpochMillis);
        assert_eq!(late, Some(Span::from_millis(1)));
    }

    #[test]
    fn number_without_clock_is_no_date() {
        assert_eq!(rate_limit_reset(b"1771404540", ResetMeaning::Auto, None), None);
        assert_eq!(rate_limit_reset(b"9", ResetMeaning::Auto, None), Some(Span::from_secs(9)));
    }

    #[test]
    fn digits_of_no_date_are_a_delta_that_every_bound_refuses() {
        let eleven = rate_limit_reset(b"17714045400", ResetMeaning::Auto, NOW);
        assert_eq!(eleven, Some(Span::from_secs(17_714_045_400)));
        let padded = rate_limit_reset(b"0000000060", ResetMeaning::Auto, NOW);
        assert_eq!(padded, Some(Span::from_secs(60)));
    }

    #[test]
    fn fraction_of_an_epoch_is_kept() {
        let read = rate_limit_reset(b"1771404480.25", ResetMeaning::Auto, NOW);
        assert_eq!(read, Some(Span::from_millis(250)));
    }
}
