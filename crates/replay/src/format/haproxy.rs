//! HAProxy's HTTP log.
//!
//! ```text
//! client_ip:port [accept_date] frontend backend/server TR/Tw/Tc/Tr/Ta status bytes request_cookie response_cookie
//!     termination_state actconn/feconn/beconn/srv_conn/retries srv_queue/backend_queue {headers} {headers} "request"
//! ```
//! The date is that of the start, in the proxy's own zone, which the line does not name: it is read as
//! UTC. Timers are in milliseconds, and -1 is what never happened. Source: HAProxy's configuration
//! manual, section 8.2.3.

use stagger_core::Span;

use super::identity::{IdentityColumns, TextLine};
use super::record::status;
use super::scan::{bracketed, field, position, quoted};
use crate::logged_attempt::{LoggedAttempt, LoggedOutcome, Malformed};
use crate::stamp::{Stamp, Unit, nanos};

/// The status by which nginx says that the client closed the connection.
const CLIENT_CLOSED: u16 = 499;

/// Reads one line.
pub(super) fn parse(line: &[u8], columns: IdentityColumns) -> Result<TextLine<'_>, Malformed> {
    let open = position(line, b" [").ok_or("no [time]")?;
    let client = line[..open].rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    let (time, mut rest) = bracketed(&line[open + 1..]).ok_or("no end of [time]")?;
    let stamp = Stamp::common_without_zone(time).ok_or("no such time")?;
    let mut next = |why| field(&mut rest).ok_or(why);
    next("no frontend")?;
    next("no backend")?;
    let timers = Timers::read(next("no timers")?).ok_or("no timers")?;
    let code = next("no status")?;
    for _ in 0..3 {
        next("no termination state")?; // the bytes, and two cookies
    }
    let ended = next("no termination state")?;
    let code = if code == b"-1" { 0 } else { status(code).ok_or("no status")? };
    let code = if client_left(ended) { CLIENT_CLOSED } else { code };
    let quote = position(rest, b"\"").ok_or("no \"request\"")?;
    let (request, _) = quoted(&rest[quote..]).ok_or("no \"request\"")?;
    let attempt = LoggedAttempt {
        stamp,
        at_end: false,
        answer: LoggedOutcome::of(code, timers.all, ""),
        took: timers.all,
        worked: timers.server,
        caller: columns.caller(b"", client, request),
        number: None,
        behind: 1,
    };
    Ok(TextLine::new(attempt, client, request))
}

/// Whether the client closed the connection before the server had answered: the session was
/// aborted by the client (`C`) while the proxy waited for the request, the queue, the connection or
/// the headers of the response.
fn client_left(state: &[u8]) -> bool {
    matches!(state, [b'C' | b'c', b'R' | b'Q' | b'C' | b'H', ..])
}

/// The timers of a line that are looked at.
struct Timers {
    /// The time of the server until its headers came.
    server: Option<Span>,
    /// The time from the request to the end of the response.
    all: Option<Span>,
}

impl Timers {
    fn read(text: &[u8]) -> Option<Self> {
        let parts: Vec<&[u8]> = text.split(|&byte| byte == b'/').collect();
        let [.., server, all] = parts[..] else { return None };
        let millis = |text: &[u8]| nanos(text, Unit::Millis).map(|(span, _)| span);
        // With `option logasap` the line is written before the end, and the total has a `+`.
        let all = millis(all.strip_prefix(b"+").unwrap_or(all));
        (parts.len() >= 4).then(|| Self { server: millis(server), all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#;

    fn read(line: &str) -> Result<LoggedAttempt, Malformed> {
        parse(line.as_bytes(), IdentityColumns::ALL).map(|line| line.attempt)
    }

    #[test]
    fn the_line_of_the_manual_is_read() {
        let attempt = read(LINE).unwrap();
        assert_eq!(attempt.stamp.to_string(), "2009-02-06T12:14:14.655Z");
        assert_eq!(attempt.stamp.grain, Span::from_millis(1));
        assert!(!attempt.at_end);
        assert_eq!(attempt.answer, LoggedOutcome::Served);
        assert_eq!(attempt.took, Some(Span::from_millis(109)));
        assert_eq!(attempt.worked, Some(Span::from_millis(69)));
    }

    #[test]
    fn a_client_that_left_hung_and_a_refusal_failed() {
        let left = LINE.replace("10/0/30/69/109 200", "10/0/30/-1/8000 -1").replace("----", "CH--");
        assert_eq!(read(&left).unwrap().answer, LoggedOutcome::Hung);
        assert_eq!(read(&left).unwrap().worked, None);
        let down = LINE.replace("10/0/30/69/109 200", "0/0/-1/-1/2 503").replace("----", "SC--");
        assert_eq!(read(&down).unwrap().answer, LoggedOutcome::Failed);
        // A download that the client stopped was served until then.
        assert_eq!(read(&LINE.replace("----", "CD--")).unwrap().answer, LoggedOutcome::Served);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, why) in [
            ("", "no [time]"),
            ("10.0.1.2:1 [06/Feb/2009:12:14:14.655", "no end of [time]"),
            ("10.0.1.2:1 [now] a b/c 1/2/3/4/5", "no such time"),
            ("10.0.1.2:1 [06/Feb/2009:12:14:14.655] a b/c one", "no timers"),
            ("10.0.1.2:1 [06/Feb/2009:12:14:14.655] a b/c 1/2/3/4/5", "no status"),
        ] {
            assert_eq!(read(line), Err(why), "{line}");
        }
    }
}
