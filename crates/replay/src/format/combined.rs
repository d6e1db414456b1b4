//! Lines of nginx and Apache: the common and the combined log format, and what people append.
//!
//! ```text
//! $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent
//!     "$http_referer" "$http_user_agent" $request_time $upstream_response_time
//! ```
//! The time is that of the end of a request (nginx writes the line then). What is appended is read
//! with or without names (`rt=0.005 urt="0.004"`); of bare numbers with decimals the first is the
//! time of the request and the second that of the upstream servers.
//! Sources: nginx's ngx_http_log_module, Apache's mod_log_config.

use stagger_core::Span;

use super::record::status;
use super::upstream::Upstream;
use crate::decimal;
use crate::logged_attempt::{CallerIdentity, LoggedAttempt, Malformed, hashed};
use crate::logged_outcome::LoggedOutcome;
use crate::stamp::Stamp;
use crate::unit::Unit;

/// Reads one line.
pub(super) fn parse(line: &[u8]) -> Result<LoggedAttempt, Malformed> {
    let client_end = position(line, b" ").ok_or("no address")?;
    let open = position(line, b" [").ok_or("no [time]")? + 2;
    let close = open + position(&line[open..], b"]").ok_or("no end of [time]")?;
    let stamp = Stamp::common(&line[open..close]).ok_or("no such time")?;
    let rest = line[close + 1..].strip_prefix(b" ").unwrap_or(&line[close + 1..]);
    let (request, rest) = quoted(rest).ok_or("no \"request\"")?;
    let mut rest = rest.trim_ascii_start();
    let status = status(token(&mut rest)).ok_or("no status")?;
    token(&mut rest); // the bytes sent
    let times = LoggedTimes::read(rest);
    Ok(LoggedAttempt {
        stamp,
        at_end: true,
        answer: LoggedOutcome::of(status, times.request, ""),
        took: times.request,
        worked: times.upstream.worked,
        caller: CallerIdentity::Request(hashed(&[&line[..client_end], request])),
        number: None,
        behind: times.upstream.attempts.max(1),
    })
}

/// The times that are appended, where there are any.
#[derive(Debug, Default, PartialEq, Eq)]
struct LoggedTimes {
    request: Option<Span>,
    upstream: Upstream,
}

impl LoggedTimes {
    fn read(mut rest: &[u8]) -> Self {
        let mut times = Self::default();
        loop {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                return times;
            }
            let name = name(&mut rest);
            if let Some((text, after)) = quoted(rest) {
                rest = after;
                // Quoted fields without a name are the referrer, the agent, an address.
                if !name.is_empty() {
                    times.note(name, text);
                }
            } else {
                let text = list(&mut rest);
                times.note(name, text);
            }
        }
    }

    fn note(&mut self, name: &[u8], text: &[u8]) {
        match name {
            b"rt" | b"request_time" => self.request = seconds(text),
            b"urt" | b"upstream_response_time" => self.upstream = Upstream::read(text),
            b"" if !text.contains(&b'.') => {}
            b"" if self.request.is_none() => self.request = seconds(text),
            b"" if self.upstream == Upstream::default() => self.upstream = Upstream::read(text),
            _ => {}
        }
    }
}

fn seconds(text: &[u8]) -> Option<Span> {
    decimal::nanos(text, Unit::Seconds).map(|(span, _)| span)
}

/// The `rt` of `rt=0.005`, taken off; empty without one.
fn name<'l>(rest: &mut &'l [u8]) -> &'l [u8] {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = rest.iter().take_while(|byte| is_name(byte)).count();
    if length == 0 || rest.get(length) != Some(&b'=') {
        return b"";
    }
    let name = &rest[..length];
    *rest = &rest[length + 1..];
    name
}

/// One word, and those that a comma or a colon ties to it: the times of several upstream servers.
fn list<'l>(rest: &mut &'l [u8]) -> &'l [u8] {
    let all = *rest;
    let mut taken = token(rest).len();
    loop {
        let mut ahead = rest.trim_ascii_start();
        let next = token(&mut ahead);
        let tied = all[..taken].ends_with(b",") || all[..taken].ends_with(b":") || next == b":";
        if next.is_empty() || !tied {
            return &all[..taken];
        }
        *rest = ahead;
        taken = all.len() - ahead.len();
    }
}

/// Everything up to the next space, taken off.
fn token<'l>(rest: &mut &'l [u8]) -> &'l [u8] {
    let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
    let (token, after) = rest.split_at(end);
    *rest = after;
    token
}

/// The text between two quotes, and the rest. nginx writes a quote within as `\x22`,
/// Apache as `\"`.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut escaped = false;
    let end = inner.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })?;
    Some((&inner[..end], &inner[end + 1..]))
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"203.0.113.9 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 503 197"#;

    fn read(text: &str) -> LoggedAttempt {
        parse(text.as_bytes()).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    #[test]
    fn the_common_format_has_no_times_and_is_written_at_the_end() {
        let attempt = read(PLAIN);
        assert_eq!(attempt.stamp.to_string(), "2000-10-10T20:55:36Z");
        assert!(attempt.at_end);
        assert_eq!(
            (attempt.answer, attempt.took, attempt.behind),
            (LoggedOutcome::Failed, None, 1)
        );
    }

    #[test]
    fn appended_times_are_found_with_and_without_names() {
        let millis = |n| Some(Span::from_millis(n));
        for (tail, took, worked, behind) in [
            (r#" "-" "curl/8.5" 0.010 0.008"#, millis(10), millis(8), 1),
            (r#" "-" "curl/8.5" "-" 0.010 -"#, millis(10), None, 1),
            (r#" "-" "curl 1.5 \"x\"" rt=0.010 uct="0.001" urt="0.008""#, millis(10), millis(8), 1),
            (r#" "-" "-" 1.010 0.500, 0.500 : 0.008"#, millis(1_010), millis(8), 3),
            (r#" "-" "-" 1.010 0.500, 0.008 0.002"#, millis(1_010), millis(8), 2),
            (r#" "-" "-" 17 0.010"#, millis(10), None, 1),
            (r#" "-" "-""#, None, None, 1),
        ] {
            let attempt = read(&format!("{PLAIN}{tail}"));
            assert_eq!(
                (attempt.took, attempt.worked, attempt.behind),
                (took, worked, behind),
                "{tail}"
            );
        }
    }

    #[test]
    fn odd_requests_are_requests() {
        for request in ["", r"\x16\x03\x01", r#"GET /\"quoted\" HTTP/1.0"#, "GET /[x] \\\\"] {
            let line =
                format!("::1 - a b [10/Oct/2000:13:55:36 +0000] \"{request}\" 400 0 \"-\" \"-\"");
            assert_eq!(read(&line).answer, LoggedOutcome::Served, "{line}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, why) in [
            ("", "no address"),
            ("10.0.0.1 - -", "no [time]"),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36", "no end of [time]"),
            ("10.0.0.1 - - [10/Oct/2000] \"GET / HTTP/1.1\" 200 1", "no such time"),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] GET", "no \"request\""),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\"", "no status"),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" ok 2", "no status"),
        ] {
            assert_eq!(parse(line.as_bytes()), Err(why), "{line}");
        }
    }
}
