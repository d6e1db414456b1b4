//! Lines of nginx and Apache: the common and the combined log format, and what people append.
//!
//! ```text
//! $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent
//!     "$http_referer" "$http_user_agent" $request_time $upstream_response_time
//! ```
//! The time is that of the end of a request (nginx writes the line then). What is appended is read
//! with or without names (`rt=0.005 urt="0.004"`); of bare numbers with decimals the first is the
//! time of the request and the second that of the upstream servers.
//! Apache's `vhost_combined` has the name of the virtual host before the address. The time may also be
//! nginx's `$time_iso8601`.
//! Sources: nginx's ngx_http_log_module, Apache's mod_log_config.

use std::net::IpAddr;

use stagger_core::Span;

use super::identity::{IdentityColumns, TextLine};
use super::record::{Upstream, status};
use super::scan::{position, quoted, token};
use crate::logged_attempt::{LoggedAttempt, LoggedOutcome, Malformed};
use crate::stamp;
use crate::stamp::{Stamp, Unit, text};

/// Reads one line.
pub(super) fn parse(line: &[u8], columns: IdentityColumns) -> Result<TextLine<'_>, Malformed> {
    let client = client(line).ok_or("no address")?;
    let open = position(line, b" [").ok_or("no [time]")? + 2;
    let close = open + position(&line[open..], b"]").ok_or("no end of [time]")?;
    let stamp = time(&line[open..close]).ok_or("no such time")?;
    let rest = line[close + 1..].strip_prefix(b" ").unwrap_or(&line[close + 1..]);
    let (request, rest) = quoted(rest).ok_or("no \"request\"")?;
    let mut rest = rest.trim_ascii_start();
    let status = status(token(&mut rest)).ok_or("no status")?;
    token(&mut rest); // the bytes sent
    let times = LoggedTimes::read(rest);
    let attempt = LoggedAttempt {
        stamp,
        at_end: true,
        answer: LoggedOutcome::of(status, times.request, ""),
        took: times.request,
        worked: times.upstream.worked,
        caller: columns.caller(b"", client, request),
        number: None,
        behind: times.upstream.attempts.max(1),
    };
    Ok(TextLine::new(attempt, client, request))
}

/// The address: the first word, or the second where the first names a virtual host. Both are followed by
/// the identity, which is `-` nearly always; a bar as the second word is a collector's prefix.
fn client(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    let first = token(&mut rest);
    let second = token(&mut rest.trim_ascii_start());
    if first.is_empty() || rest.is_empty() || second == b"|" {
        return None;
    }
    let is_host = |word: &[u8]| word.rsplit(|&byte| byte == b':').next().is_some_and(is_port);
    let is_address = |word: &[u8]| text(word).is_some_and(|word| word.parse::<IpAddr>().is_ok());
    let names_host =
        second != b"-" && (is_address(second) || (is_host(first) && !is_address(first)));
    Some(if names_host { second } else { first })
}

fn is_port(digits: &[u8]) -> bool {
    !digits.is_empty() && digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit)
}

/// The date of the common format, or that of `$time_iso8601`.
fn time(bytes: &[u8]) -> Option<Stamp> {
    let is_iso = bytes.get(4) == Some(&b'-');
    if is_iso { text(bytes).and_then(Stamp::iso) } else { Stamp::common(bytes) }
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
    stamp::nanos(text, Unit::Seconds).map(|(span, _)| span)
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

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"203.0.113.9 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 503 197"#;

    fn read(text: &str) -> LoggedAttempt {
        parse(text.as_bytes(), IdentityColumns::ALL)
            .unwrap_or_else(|why| panic!("{why}: {text}"))
            .attempt
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
    fn a_virtual_host_before_the_address_is_no_client() {
        let caller = |line: &str| read(line).caller;
        let plain = caller(PLAIN);
        for host in ["www.example.com:443 ", "www.example.com ", "10.9.9.9:80 "] {
            assert_eq!(caller(&format!("{host}{PLAIN}")), plain, "{host}");
        }
        let named = PLAIN.replace("203.0.113.9", "client.example.com");
        assert_eq!(caller(&format!("www.example.com:80 {named}")), caller(&named));
        // A user is no address.
        assert_ne!(caller(&PLAIN.replace("- -", "- 10.0.0.7")), caller(&named));
        assert_eq!(caller(&PLAIN.replace("- -", "ident user")), plain);
    }

    #[test]
    fn the_client_can_be_left_out() {
        let columns = IdentityColumns::of(&"client=none".parse().unwrap()).unwrap();
        let caller = parse(PLAIN.as_bytes(), columns).unwrap().attempt.caller;
        assert_eq!(caller, crate::logged_attempt::CallerIdentity::Unknown);
        assert_eq!(IdentityColumns::of(&"client=ip".parse().unwrap()), None);
    }

    #[test]
    fn a_time_of_iso_8601_is_read() {
        let line = PLAIN.replace("10/Oct/2000:13:55:36 -0700", "2000-10-10T13:55:36-07:00");
        assert_eq!(read(&line).stamp, read(PLAIN).stamp);
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
    fn a_route_has_its_method_and_no_query() {
        for (request, expected) in [
            ("GET /a?b=1 HTTP/1.1", Some("GET /a")),
            ("GET /a", Some("GET /a")),
            ("-", None),
            ("", None),
        ] {
            let line = PLAIN.replace("GET /a HTTP/1.1", request);
            let read = parse(line.as_bytes(), IdentityColumns::ALL).unwrap();
            let names = read.names();
            assert_eq!(names.client.as_deref(), Some("203.0.113.9"));
            assert_eq!(names.route.as_deref(), expected, "{request}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, why) in [
            ("", "no address"),
            ("10.0.0.1 - -", "no [time]"),
            ("nginx-1 | 10.0.0.1 - - [", "no address"),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36", "no end of [time]"),
            ("10.0.0.1 - - [10/Oct/2000] \"GET / HTTP/1.1\" 200 1", "no such time"),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] GET", "no \"request\""),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\"", "no status"),
            ("10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" ok 2", "no status"),
        ] {
            assert_eq!(parse(line.as_bytes(), IdentityColumns::ALL).err(), Some(why), "{line}");
        }
    }
}
