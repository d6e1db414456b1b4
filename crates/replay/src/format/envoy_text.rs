//! Envoy's default text format, and Istio's, which has more fields in it.
//!
//! ```text
//! [%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE%
//!     %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%
//!     "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"
//! ```
//! Istio has the details of the response and the failure of the transport between the flags and the
//! bytes. Sources: Envoy's documentation of access logging, Istio's `meshConfig.accessLogFormat`.

use stagger_core::Span;

use super::identity::{IdentityColumns, TextLine};
use super::record::status;
use super::scan::{bracketed, field, quoted};
use crate::logged_attempt::{LoggedAttempt, LoggedOutcome, Malformed};
use crate::stamp::{Stamp, Unit, digits, nanos, text};

/// Fields between the flags and the bytes at most: Istio has three.
const MOST_BETWEEN: usize = 4;

/// Reads one line.
pub(super) fn parse(line: &[u8], columns: IdentityColumns) -> Result<TextLine<'_>, Malformed> {
    let (time, rest) = bracketed(line).ok_or("no [time]")?;
    let stamp = text(time).and_then(Stamp::iso).ok_or("no such time")?;
    let (request, mut rest) = quoted(rest.trim_ascii_start()).ok_or("no \"request\"")?;
    let code = field(&mut rest).and_then(status).ok_or("no status")?;
    let flags = field(&mut rest).and_then(text).ok_or("no response flags")?;
    skip_to_bytes(&mut rest).ok_or("no bytes")?;
    field(&mut rest); // the bytes sent
    let took = millis(field(&mut rest).ok_or("no duration")?);
    let worked = field(&mut rest).and_then(millis);
    let client = field(&mut rest).unwrap_or_default();
    field(&mut rest); // the agent
    let id = field(&mut rest).unwrap_or_default();
    let attempt = LoggedAttempt {
        stamp,
        at_end: false,
        answer: LoggedOutcome::of(code, took, flags),
        took,
        worked,
        caller: columns.caller(id, client, request),
        number: None,
        behind: 1,
    };
    Ok(TextLine::new(attempt, client, request))
}

/// Takes everything up to the bytes received, which are the first whole number.
fn skip_to_bytes(rest: &mut &[u8]) -> Option<()> {
    let is_count = |field: &[u8]| digits(field).is_some();
    (0..=MOST_BETWEEN).find_map(|_| field(rest).filter(|field| is_count(field))).map(drop)
}

fn millis(text: &[u8]) -> Option<Span> {
    nanos(text, Unit::Millis).map(|(span, _)| span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logged_attempt::CallerIdentity;

    fn read(line: &str) -> LoggedAttempt {
        let read = parse(line.as_bytes(), IdentityColumns::ALL);
        read.unwrap_or_else(|why| panic!("{why}: {line}")).attempt
    }

    const ENVOY: &str = r#"[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80""#;
    const ISTIO: &str = r#"[2020-11-25T21:26:18.409Z] "GET /status/418 HTTP/1.1" 504 UT response_timeout - "-" 0 24 15001 - "10.1.1.9,10.0.0.1" "curl/7.73.0-DEV" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "10.44.1.27:80" outbound|8000||httpbin 10.44.1.23:37652 10.0.45.184:8000 10.44.1.23:46520 - default"#;

    #[test]
    fn both_lines_of_the_documentation_are_read() {
        let attempt = read(ENVOY);
        assert_eq!(attempt.stamp.to_string(), "2016-04-15T20:17:00.31Z");
        assert!(!attempt.at_end);
        assert_eq!(attempt.answer, LoggedOutcome::Served);
        assert_eq!(attempt.took, Some(Span::from_millis(226)));
        assert_eq!(attempt.worked, Some(Span::from_millis(100)));
        assert!(matches!(attempt.caller, CallerIdentity::Id(_)));
        let attempt = read(ISTIO);
        assert_eq!(attempt.answer, LoggedOutcome::Hung);
        assert_eq!((attempt.took, attempt.worked), (Some(Span::from_millis(15_001)), None));
    }

    #[test]
    fn without_an_id_the_address_and_the_request_tell_callers_apart() {
        let columns = IdentityColumns::of(&"id=none".parse().unwrap()).unwrap();
        let attempt = parse(ENVOY.as_bytes(), columns).unwrap().attempt;
        assert!(matches!(attempt.caller, CallerIdentity::Request(_)));
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, why) in [
            ("", "no [time]"),
            ("[now] \"GET / HTTP/1.1\" 200 - 1 2 3 4", "no such time"),
            ("[2016-04-15T20:17:00.310Z] GET", "no \"request\""),
            ("[2016-04-15T20:17:00.310Z] \"GET /\" ok", "no status"),
            ("[2016-04-15T20:17:00.310Z] \"GET /\" 200 - - - - - - -", "no bytes"),
            ("[2016-04-15T20:17:00.310Z] \"GET /\" 200 - 5 6", "no duration"),
        ] {
            assert_eq!(parse(line.as_bytes(), IdentityColumns::ALL).err(), Some(why), "{line}");
        }
    }
}
