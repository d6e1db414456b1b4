//! Lines of AWS load balancers: of application load balancers, and of classic ones.
//!
//! ```text
//! type time elb client:port target:port request_processing_time target_processing_time
//!     response_processing_time elb_status_code target_status_code received_bytes sent_bytes "request" "user_agent"
//!     ssl_cipher ssl_protocol target_group_arn "trace_id" "domain_name" "chosen_cert_arn" matched_rule_priority
//!     request_creation_time ...
//! ```
//! The time is that of the end; classic load balancers leave out the type. A processing time of -1 is
//! unknown. Status 460 says that the client left. Source: the Elastic Load Balancing user guides.

use stagger_core::Span;

use super::identity::{IdentityColumns, TextLine};
use super::record::status;
use super::scan::field;
use crate::logged_attempt::{LoggedAttempt, LoggedOutcome, Malformed};
use crate::stamp::{Stamp, Unit, nanos, text};

/// The types of an application load balancer's requests.
const TYPES: [&[u8]; 6] = [b"http", b"https", b"h2", b"grpcs", b"ws", b"wss"];
/// The client closed the connection before the load balancer answered.
const CLIENT_LEFT: u16 = 460;
/// The status by which nginx says the same.
const CLIENT_CLOSED: u16 = 499;
/// Fields between the request and the time of its creation.
const BEFORE_CREATION: usize = 8;

/// Reads one line.
pub(super) fn parse(line: &[u8], columns: IdentityColumns) -> Result<TextLine<'_>, Malformed> {
    let mut rest = line;
    let mut next = |why| field(&mut rest).ok_or(why);
    let first = next("no time")?;
    let time = if TYPES.contains(&first) { next("no time")? } else { first };
    let stamp = text(time).and_then(Stamp::iso).ok_or("no such time")?;
    next("no load balancer")?;
    let client = next("no client")?;
    next("no target")?;
    let parts = [next("no time taken")?, next("no time taken")?, next("no time taken")?];
    let code = status(next("no status")?).ok_or("no status")?;
    for _ in 0..3 {
        next("no request")?; // the target's status, the bytes received, the bytes sent
    }
    let request = next("no request")?;
    let parts = parts.map(seconds);
    let took = created(rest).map_or_else(
        || parts.into_iter().try_fold(Span::ZERO, |sum, part| Some(sum + part?)),
        |created| Some(stamp.since_epoch - created),
    );
    let code = if code == CLIENT_LEFT { CLIENT_CLOSED } else { code };
    let attempt = LoggedAttempt {
        stamp,
        at_end: true,
        answer: LoggedOutcome::of(code, took, ""),
        took,
        worked: parts[1],
        caller: columns.caller(b"", client, request),
        number: None,
        behind: 1,
    };
    Ok(TextLine::new(attempt, client, request))
}

/// The time at which the request came, of the fields behind the request.
fn created(mut rest: &[u8]) -> Option<Span> {
    for _ in 0..BEFORE_CREATION {
        field(&mut rest)?;
    }
    Some(Stamp::iso(text(field(&mut rest)?)?)?.since_epoch)
}

/// Seconds; `None` for the -1 of what is not known.
fn seconds(text: &[u8]) -> Option<Span> {
    nanos(text, Unit::Seconds).map(|(span, _)| span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> LoggedAttempt {
        let read = parse(line.as_bytes(), IdentityColumns::ALL);
        read.unwrap_or_else(|why| panic!("{why}: {line}")).attempt
    }

    const HTTPS: &str = r#"https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-""#;

    #[test]
    fn the_line_of_the_documentation_ends_at_its_time_and_began_at_its_creation() {
        let attempt = read(HTTPS);
        assert!(attempt.at_end);
        assert_eq!(attempt.answer, LoggedOutcome::Served);
        assert_eq!(attempt.began(), Stamp::read("2018-07-02T22:22:48.364Z").unwrap().since_epoch);
        assert_eq!(attempt.worked, Some(Span::from_millis(48)));
    }

    #[test]
    fn a_short_line_has_the_sum_of_its_parts_and_a_target_that_never_answered_has_none() {
        let short = r#"http 2018-07-02T22:23:00.186641Z app/a/1 192.168.131.39:2817 10.0.0.1:80 0.001 0.010 0.002 503 503 34 366 "GET http://a:80/ HTTP/1.1" "curl" - -"#;
        assert_eq!(read(short).took, Some(Span::from_millis(13)));
        assert_eq!(read(short).answer, LoggedOutcome::Failed);
        let dead = r#"http 2018-07-02T22:23:00.186641Z app/a/1 192.168.131.39:2817 - -1 -1 -1 460 - 0 0 "GET http://a:80/ HTTP/1.1" "curl" - -"#;
        assert_eq!((read(dead).took, read(dead).answer), (None, LoggedOutcome::Hung));
        let classic = r#"2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -"#;
        assert_eq!(read(classic).took, Some(Span::from_micros(1_178)));
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, why) in [
            ("", "no time"),
            ("http now", "no such time"),
            ("http 2018-07-02T22:23:00Z lb 1.2.3.4:5 - 0 0 0 ok", "no status"),
            ("http 2018-07-02T22:23:00Z lb 1.2.3.4:5 - 0 0 0 200 200 1 2", "no request"),
        ] {
            assert_eq!(parse(line.as_bytes(), IdentityColumns::ALL).err(), Some(why), "{line}");
        }
    }
}
