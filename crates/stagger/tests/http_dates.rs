//! Dates in replies, read with and without a wall clock.
#![cfg(feature = "http")]

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use stagger::hint::HintReader;
use stagger::http::HttpReplies;
use stagger::{Hint, Span};

/// A date 3 s after the one in [`OWN`].
const BACK: &str = "Wed, 21 Oct 2015 07:28:03 GMT";
const OWN: (&str, &str) = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");

/// The hint of a reply that names its return by a date, beside these headers.
fn hint(replies: &HttpReplies, others: &[(&'static str, &'static str)]) -> Option<Hint> {
    let lines = others.iter().chain(&[("retry-after", BACK)]);
    let lines =
        lines.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    replies.reply(StatusCode::SERVICE_UNAVAILABLE, &lines.collect::<HeaderMap>()).hint
}

#[test]
fn a_reply_was_read_by_a_clock_that_the_platform_may_not_have() {
    let replies = HttpReplies::default().with_wall(|| None);
    assert_eq!(hint(&replies, &[OWN]), Some(Hint::AtLeast(Span::from_secs(3))));
    assert_eq!(hint(&replies, &[]), None);
}

#[test]
fn the_replys_own_date_comes_before_the_clock() {
    let replies = HttpReplies::default();
    assert_eq!(hint(&replies, &[OWN]), Some(Hint::AtLeast(Span::from_secs(3))));
    // By the clock of this machine the date has passed.
    assert_eq!(hint(&replies, &[]), Some(Hint::AtLeast(Span::ZERO)));
}

#[test]
fn a_reader_without_rate_limits_reads_no_reset() {
    let read = |replies: HttpReplies| {
        let limit = HeaderValue::from_static("\"default\";r=0;t=7");
        let headers = HeaderMap::from_iter([(HeaderName::from_static("ratelimit"), limit)]);
        replies.reply(StatusCode::TOO_MANY_REQUESTS, &headers).hint
    };
    assert_eq!(read(HttpReplies::default()), Some(Hint::AtLeast(Span::from_secs(7))));
    let reader = HintReader::new().without_rate_limits();
    assert_eq!(read(HttpReplies::default().with_hints(reader)), None);
}
