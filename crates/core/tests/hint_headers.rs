//! Hints in headers, each test named by what went wrong in somebody's client.

use stagger_core::hint::{
    HintReader, ResetHeader, ResetMeaning, WallTime, pushback, retry_after, retry_after_ms,
};
use stagger_core::{Hint, Span};

fn read(headers: &[(&'static str, &'static str)]) -> Option<Hint> {
    let lines = headers.iter().map(|&(name, value)| (name, value.as_bytes()));
    HintReader::new().read(lines, Some(WallTime::from_unix_secs(1_771_404_480)))
}

fn secs(secs: u64) -> Option<Hint> {
    Some(Hint::AtLeast(Span::from_secs(secs)))
}

// pydantic/pydantic-ai #7065, NousResearch/hermes-agent #84738
#[test]
fn text_that_a_float_parser_takes_is_no_hint() {
    for text in ["-1", "-5", "nan", "inf", "+5", "1e3", "", "1e10000", "0x10", "1_000", "\u{b2}"] {
        assert_eq!(retry_after(text.as_bytes(), None), None, "{text:?}");
        assert_eq!(retry_after_ms(text.as_bytes()), None, "{text:?}");
    }
}

// getsentry/sentry #7919, opensearch-project/data-prepper #6927
#[test]
fn fraction_of_a_second_is_neither_lost_nor_an_error() {
    let nanos = |text: &str| retry_after(text.as_bytes(), None).map(Span::as_nanos);
    assert_eq!(nanos("292.052427053"), Some(292_052_427_053));
    assert_eq!(nanos("0.503"), Some(503_000_000));
    assert_eq!(nanos("299.997"), Some(299_997_000_000));
    assert_eq!(nanos(" 2.5 "), Some(2_500_000_000));
    assert_eq!(nanos("2.0"), Some(2_000_000_000));
}

// open-telemetry/opentelemetry-rust PR 3628, benwis/tower-governor #65
#[test]
fn hint_below_a_second_is_not_cut_to_nothing() {
    let half = Span::from_millis(500);
    assert_eq!(retry_after(b"0.5", None), Some(half));
    assert_eq!(retry_after_ms(b"500"), Some(half));
    assert_eq!(read(&[("retry-after-ms", "500")]), Some(Hint::AtLeast(half)));
    assert_eq!(Span::from_millis(200).as_secs_ceil(), 1);
}

// openclaw/clawhub #407, zalando/riptide PR 632
#[test]
fn epoch_in_a_reset_header_is_not_a_wait_of_56_years() {
    assert_eq!(read(&[("Retry-After", "1771404540")]), secs(1_771_404_540));
    assert_eq!(read(&[("X-RateLimit-Reset", "1771404540")]), secs(60));
    assert_eq!(read(&[("X-RateLimit-Reset", "1771404540000")]), secs(60));
    assert_eq!(read(&[("X-RateLimit-Reset", "60")]), secs(60));
}

#[test]
fn reset_of_a_quota_that_is_not_used_up_is_no_hint() {
    let with_remaining =
        |remaining| read(&[("x-ratelimit-reset", "60"), ("x-ratelimit-remaining", remaining)]);
    assert_eq!(with_remaining("0"), secs(60));
    assert_eq!(with_remaining("7"), None);
    assert_eq!(with_remaining("?"), None);
}

// hashicorp/go-retryablehttp PR 283, cline/cline PR 10384
#[test]
fn hint_of_hours_is_kept_whole_for_the_policy_to_refuse() {
    for long in [3_600, 10_800, 86_400, 999_999_u64] {
        assert_eq!(retry_after(long.to_string().as_bytes(), None), Some(Span::from_secs(long)));
    }
    assert_eq!(retry_after(&[b'9'; 400], None), Some(Span::MAX));
}

// curl/curl #6408: no status is asked for, so no path can forget to
#[test]
fn hint_is_read_without_knowing_the_status() {
    assert_eq!(read(&[("RETRY-AFTER", "2")]), secs(2));
}

// grpc/proposal A6
#[test]
fn unreadable_pushback_forbids_the_retry() {
    let one = |value: &'static str| pushback([value.as_bytes()]);
    assert_eq!(one("0"), Some(Hint::Exactly(Span::ZERO)));
    assert_eq!(one("250"), Some(Hint::Exactly(Span::from_millis(250))));
    assert_eq!(one("2147483647"), Some(Hint::Exactly(Span::from_millis(2_147_483_647))));
    for never in ["-1", "abc", "", "99999999999", "2147483648", "+5", "1.5", "-0"] {
        assert_eq!(one(never), Some(Hint::Never), "{never:?}");
    }
    let twice = read(&[("grpc-retry-pushback-ms", "1"), ("Grpc-Retry-Pushback-Ms", "1")]);
    assert_eq!(twice, Some(Hint::Never));
}

/// A status RESOURCE_EXHAUSTED with a `RetryInfo` of 58 s.
const DETAILS: &str = "CAgaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIOg";

// open-telemetry/opentelemetry-specification #2480
#[test]
fn delay_in_the_details_of_a_status_was_no_hint() {
    const NAME: &str = "grpc-status-details-bin";
    assert_eq!(read(&[(NAME, DETAILS)]), secs(58));
    assert_eq!(read(&[("retry-after", "3"), (NAME, DETAILS)]), secs(58));
    let pushback = [("grpc-retry-pushback-ms", "5"), (NAME, DETAILS)];
    assert_eq!(read(&pushback), Some(Hint::Exactly(Span::from_millis(5))));
    let joined: &'static str = format!("CAg, {DETAILS}==").leak();
    assert_eq!(read(&[(NAME, joined)]), secs(58));
    for other in ["", "CAg", "!", &DETAILS[..40]] {
        let other: &'static str = other.to_owned().leak();
        assert_eq!(read(&[(NAME, other), ("retry-after", "3")]), secs(3), "{other:?}");
    }
}

// anthropics/anthropic-sdk-python, openai/openai-python: each quota of a key has a reset of its own
#[test]
fn reset_of_a_provider_was_no_hint() {
    // A minute after the time of these tests.
    const DATE: &str = "2026-02-18T08:49:00Z";
    for (reset, remaining, value) in [
        ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining", DATE),
        ("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining", DATE),
        (
            "anthropic-ratelimit-input-tokens-reset",
            "anthropic-ratelimit-input-tokens-remaining",
            DATE,
        ),
        (
            "anthropic-ratelimit-output-tokens-reset",
            "anthropic-ratelimit-output-tokens-remaining",
            DATE,
        ),
        ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests", "1m0s"),
        ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens", "60000ms"),
    ] {
        assert_eq!(read(&[(reset, value), (remaining, "0")]), secs(60), "{reset}");
        assert_eq!(read(&[(reset, value), (remaining, "1")]), None, "{reset}: something is left");
        assert_eq!(read(&[(reset, "soon"), (remaining, "0")]), None, "{reset}");
    }
}

#[test]
fn first_usable_source_wins_not_the_first_present() {
    let all = [
        ("x-ratelimit-reset", "6"),
        ("ratelimit", "\"default\";r=0;t=5"),
        ("retry-after", "4"),
        ("x-ms-retry-after-ms", "3000"),
        ("grpc-retry-pushback-ms", "2000"),
    ];
    assert_eq!(read(&all), Some(Hint::Exactly(Span::from_secs(2))));
    assert_eq!(read(&all[..4]), secs(3));
    assert_eq!(read(&all[..3]), secs(4));
    assert_eq!(read(&all[..2]), secs(5));
    assert_eq!(read(&all[..1]), secs(6));
    assert_eq!(read(&[("retry-after", "soon"), all[1]]), secs(5));
    assert_eq!(read(&[("ratelimit", "default;r=0;t=5"), all[0]]), secs(6));
    assert_eq!(read(&[("content-length", "4")]), None);
}

#[test]
fn several_lines_give_the_longest_not_the_last() {
    assert_eq!(read(&[("retry-after", "9"), ("retry-after", "x"), ("retry-after", "3")]), secs(9));
    let quotas = [("ratelimit", "\"a\";r=0;t=5"), ("ratelimit", "\"b\";r=0;t=8, \"c\";r=1;t=99")];
    assert_eq!(read(&quotas), secs(8));
    let spoiled = [quotas[0], ("ratelimit", "\"b\";r=")];
    assert_eq!(read(&spoiled), None);
}

#[test]
fn used_up_quota_without_a_time_takes_its_window() {
    let policy = ("RateLimit-Policy", "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400");
    assert_eq!(read(&[("RateLimit", "\"burst\";r=0"), policy]), secs(60));
    assert_eq!(read(&[("RateLimit", "\"other\";r=0"), policy]), None);
}

#[test]
fn source_that_is_switched_off_is_not_read() {
    const OURS: [ResetHeader; 1] = [ResetHeader {
        reset: "x-quota-reset",
        remaining: "x-quota-left",
        meaning: ResetMeaning::DeltaMillis,
    }];
    let reader = HintReader::new().without_pushback().without_rate_limits().with_resets(&OURS);
    let lines = [
        ("grpc-retry-pushback-ms", &b"-1"[..]),
        ("ratelimit", b"\"a\";r=0;t=5"),
        ("x-ratelimit-reset", b"7"),
        ("x-quota-reset", b"1500"),
    ];
    assert_eq!(reader.read(lines, None), Some(Hint::AtLeast(Span::from_millis(1_500))));
}

#[test]
fn the_header_that_is_obeyed_was_not_named() {
    let lines = [
        ("grpc-retry-pushback-ms", &b"10"[..]),
        ("Retry-After-Ms", b"20"),
        ("x-ms-retry-after-ms", b"30"),
        ("x-amz-retry-after", b"40"),
        ("Retry-After", b"3"),
        ("ratelimit", b"\"a\";r=0;t=5"),
        ("x-ratelimit-reset", b"7"),
    ];
    // Without the first ones the next one is obeyed.
    for (at, (name, _)) in lines.iter().enumerate() {
        let rest = lines[at..].iter().copied();
        let (hint, source) = HintReader::new().read_with_source(rest.clone(), None).expect(name);
        assert_eq!(source, name.to_ascii_lowercase());
        assert_eq!(Some(hint), HintReader::new().read(rest, None));
    }
    let used = [("x-ratelimit-reset", &b"5"[..]), ("x-ratelimit-remaining", b"7")];
    assert_eq!(HintReader::new().read_with_source(used, None), None);
    assert_eq!(HintReader::new().read_with_source([("retry-after", &b"soon"[..])], None), None);
}
