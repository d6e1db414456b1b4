//! The default request log of uWSGI.
//!
//! ```text
//! [pid: 24765|app: 0|req: 1/1] 127.0.0.1 () {42 vars in 675 bytes} [Mon Aug 23 14:25:54 2010] GET / =>
//!     generated 42 bytes in 7 msecs (HTTP/1.1 200) 1 headers in 44 bytes (1 switches on core 0)
//! ```
//! The date is that of the start, in the server's own zone, which the line does not name: it is read
//! as UTC. Source: uWSGI's `core/logging.c`.

use stagger_core::Span;

use super::identity::{IdentityColumns, TextLine};
use super::record::status;
use super::scan::{bracketed, field, position};
use crate::logged_attempt::{LoggedAttempt, LoggedOutcome, Malformed};
use crate::stamp::{Stamp, Unit, nanos};

/// Reads one line.
pub(super) fn parse(line: &[u8], columns: IdentityColumns) -> Result<TextLine<'_>, Malformed> {
    let (_, mut rest) =
        bracketed(line).filter(|(pid, _)| pid.starts_with(b"pid: ")).ok_or("no [pid]")?;
    let client = field(&mut rest).ok_or("no address")?;
    let open = position(rest, b"} [").ok_or("no [time]")?;
    let (time, rest) = bracketed(&rest[open + 2..]).ok_or("no end of [time]")?;
    let stamp = Stamp::ctime(time).ok_or("no such time")?;
    let arrow = position(rest, b" => generated ").ok_or("no => generated")?;
    let (request, rest) = rest.split_at(arrow);
    let took = duration(rest).ok_or("no duration")?;
    let code = answered(rest).ok_or("no status")?;
    let attempt = LoggedAttempt {
        stamp,
        at_end: false,
        answer: LoggedOutcome::of(code, Some(took), ""),
        took: Some(took),
        worked: None,
        caller: columns.caller(b"", client, request.trim_ascii_start()),
        number: None,
        behind: 1,
    };
    Ok(TextLine::new(attempt, client, request.trim_ascii_start()))
}

/// The `7` of `in 7 msecs`; of `in 950 micros` where the server logs those.
fn duration(text: &[u8]) -> Option<Span> {
    let mut rest = &text[position(text, b" in ")? + b" in ".len()..];
    let count = field(&mut rest)?;
    let unit = match field(&mut rest)? {
        b"msecs" => Unit::Millis,
        b"micros" => Unit::Micros,
        _ => return None,
    };
    nanos(count, unit).map(|(span, _)| span)
}

/// The `200` of `(HTTP/1.1 200)`.
fn answered(text: &[u8]) -> Option<u16> {
    let inner = &text[position(text, b"(HTTP/")?..];
    let inner = &inner[..position(inner, b")")?];
    status(inner.rsplit(|&byte| byte == b' ').next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "[pid: 24765|app: 0|req: 1/1] 127.0.0.1 () {42 vars in 675 bytes} [Mon Aug 23 14:25:54 2010] GET / => generated 42 bytes in 7 msecs (HTTP/1.1 200) 1 headers in 44 bytes (1 switches on core 0)";

    fn read(line: &str) -> Result<LoggedAttempt, Malformed> {
        parse(line.as_bytes(), IdentityColumns::ALL).map(|line| line.attempt)
    }

    #[test]
    fn the_line_of_the_documentation_is_read() {
        let attempt = read(LINE).unwrap();
        assert_eq!(attempt.stamp.to_string(), "2010-08-23T14:25:54Z");
        assert!(!attempt.at_end);
        assert_eq!(attempt.took, Some(Span::from_millis(7)));
        assert_eq!(attempt.answer, LoggedOutcome::Served);
        let micros = LINE.replace("7 msecs", "950 micros").replace("Mon Aug 23", "Tue Aug  3");
        assert_eq!(read(&micros).unwrap().took, Some(Span::from_micros(950)));
        assert_eq!(read(&micros).unwrap().stamp.to_string(), "2010-08-03T14:25:54Z");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, why) in [
            ("", "no [pid]"),
            ("[pid: 1|app: 0|req: 1/1] 127.0.0.1 () ", "no [time]"),
            ("[pid: 1|app: 0|req: 1/1] 127.0.0.1 () {1 vars} [today] GET", "no such time"),
            (&LINE[..100], "no => generated"),
            (&LINE.replace("msecs", "days"), "no duration"),
            (&LINE.replace("(HTTP", "(SPDY"), "no status"),
        ] {
            assert_eq!(read(line), Err(why), "{line}");
        }
    }
}
