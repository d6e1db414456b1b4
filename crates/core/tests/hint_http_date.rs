//! Dates in hints: what goes wrong with time zones, centuries and clocks.
#![cfg(feature = "http-date")]

use serde_json::Value;
use stagger_core::hint::{HintReader, WallTime, http_date, retry_after};
use stagger_core::{Hint, Span};

fn at(secs: i64) -> Option<WallTime> {
    Some(WallTime::from_unix_secs(secs))
}

// will-ockmore/httpx-retries #13, urllib3/urllib3 #1896
#[test]
fn past_date_is_no_wait_and_never_read_as_local_time() {
    let named = b"Wed, 21 Oct 2015 07:28:00 GMT";
    assert_eq!(http_date(named, None), at(1_445_412_480));
    assert_eq!(retry_after(named, at(1_445_412_510)), Some(Span::ZERO));
    assert_eq!(retry_after(named, at(1_445_412_450)), Some(Span::from_secs(30)));
}

// basecamp/hey-sdk PR 151: resent after 91 ms
#[test]
fn date_read_late_in_a_second_keeps_the_rest_of_it() {
    let now = Some(WallTime::from_unix(Span::from_millis(1_445_412_478_909)));
    let hint = retry_after(b"Wed, 21 Oct 2015 07:28:00 GMT", now);
    assert_eq!(hint, Some(Span::from_millis(1_091)));
}

#[test]
fn clock_of_the_caller_is_wrong_but_the_reply_says_what_time_it_is() {
    let headers = [
        ("retry-after", &b"Wed, 21 Oct 2015 07:28:00 GMT"[..]),
        ("date", b"Wed, 21 Oct 2015 07:27:55 GMT"),
    ];
    let five = Some(Hint::AtLeast(Span::from_secs(5)));
    let reader = HintReader::new();
    assert_eq!(reader.read(headers, at(0)), five);
    assert_eq!(reader.read(headers, None), five);
    assert_eq!(reader.read([headers[0]], None), None);
    let broken = [headers[0], ("date", &b"today"[..])];
    assert_eq!(reader.read(broken, at(1_445_412_470)), Some(Hint::AtLeast(Span::from_secs(10))));
}

#[test]
fn line_of_a_date_and_seconds_is_cut_at_the_right_comma() {
    let now = at(1_445_412_450);
    let read = |line: &str| retry_after(line.as_bytes(), now);
    assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT, 45"), Some(Span::from_secs(45)));
    assert_eq!(read("7, Wed, 21 Oct 2015 07:28:00 GMT"), Some(Span::from_secs(30)));
    assert_eq!(read("Wednesday, 21-Oct-15 07:28:00 GMT ,7"), Some(Span::from_secs(30)));
    assert_eq!(read("7,Wed Oct 21 07:28:00 2015, soon"), Some(Span::from_secs(30)));
    assert_eq!(read("Wed, 3, 4"), Some(Span::from_secs(4)));
    assert_eq!(read("Wed, 21 Oct 2015 07:28:00 UTC"), None);
}

#[test]
fn date_before_the_epoch_is_past_not_unreadable() {
    assert_eq!(retry_after(b"Wed, 06 Nov 1968 08:49:37 GMT", at(0)), Some(Span::ZERO));
}

/// The measure behind the second reader: when httpdate gets better, this test says so.
#[test]
fn httpdate_alone_gets_six_of_the_vectors_wrong() {
    let text = include_str!("../../../vectors/http-date/curl-lib517.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let wrong = |case: &&Value| {
        let valid = !case["rfc9110_form"].is_null() && case["curl_epoch"] != -1;
        httpdate::parse_http_date(case["value"].as_str().unwrap()).is_ok() != valid
    };
    let wrong = file["cases"].as_array().unwrap().iter().filter(wrong);
    let wrong: Vec<_> = wrong.map(|case| case["value"].as_str().unwrap()).collect();
    assert_eq!(
        wrong,
        [
            "Wed, 31 Dec 2008 23:59:60 GMT",
            "Sun, 06 Nov 3144 08:49:37 GMT",
            "Sun, 06 Nov 1900 08:49:37 GMT",
            "Sun, 06 Nov 1800 08:49:37 GMT",
            "Sun, 06 Nov 1968 08:49:37 GMT",
            "  Sun, 06 Nov 1994 08:49:37 GMT  ",
        ]
    );
}
