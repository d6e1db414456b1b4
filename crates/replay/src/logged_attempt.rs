//! One line of a log: an attempt, and its outcome as far as a log can tell.

use std::borrow::Cow;

use stagger_core::classify::{HttpReply, HttpRules};
use stagger_core::{Span, Verdict};

use crate::stamp::Stamp;

/// The classes of answers that the inference knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedOutcome {
    /// The destination did its part: a success, or a refusal that no further attempt would change.
    Served,
    /// A failure that a further attempt may heal, and that was answered soon.
    Failed,
    /// No answer in time: the client or a proxy before the destination gave up.
    Hung,
}

/// From this on a failure counts as one that hung: something waited and gave up. A refusal by a
/// full queue or a dead port takes milliseconds, the shortest timeouts in use are a second.
const HUNG_FROM: Span = Span::from_secs(1);

/// Statuses of those who did not want to wait longer: 408 and 504 (RFC 9110), nginx's 499 (the
/// client closed the connection), Cloudflare's 524; and 0, which Envoy writes when the client left
/// before there was a status.
const GAVE_UP: [u16; 5] = [0, 408, 499, 504, 524];

/// Envoy's response flags of the same, short and long: the timeout of a request, the client that
/// left, the idle timeout, the longest duration of a stream.
const FLAGS: [&str; 8] = [
    "UT",
    "UpstreamRequestTimeout",
    "DC",
    "DownstreamConnectionTermination",
    "SI",
    "StreamIdleTimeout",
    "UMSDR",
    "UpstreamMaxStreamDurationReached",
];

impl LoggedOutcome {
    /// The class of a status, by the engine's own table, with the duration and Envoy's flags where
    /// the log has them.
    ///
    /// ```
    /// use stagger_core::Span;
    /// use stagger_replay::LoggedOutcome;
    /// assert_eq!(LoggedOutcome::of(200, None, ""), LoggedOutcome::Served);
    /// assert_eq!(LoggedOutcome::of(404, None, ""), LoggedOutcome::Served);
    /// assert_eq!(LoggedOutcome::of(503, Some(Span::from_millis(1)), ""), LoggedOutcome::Failed);
    /// assert_eq!(LoggedOutcome::of(503, Some(Span::from_secs(15)), "UT"), LoggedOutcome::Hung);
    /// assert_eq!(LoggedOutcome::of(499, None, ""), LoggedOutcome::Hung);
    /// ```
    #[must_use]
    pub fn of(status: u16, took: Option<Span>, flags: &str) -> Self {
        if GAVE_UP.contains(&status) {
            return Self::Hung;
        }
        let flagged = || flags.split(',').any(|flag| FLAGS.contains(&flag.trim()));
        let verdict = HttpRules::default().classify(&HttpReply::new(status)).verdict;
        match verdict {
            Verdict::Ok | Verdict::Permanent => Self::Served,
            _ if flagged() || took.is_some_and(|took| took >= HUNG_FROM) => Self::Hung,
            _ => Self::Failed,
        }
    }

    /// Whether a further attempt may have followed.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Served)
    }
}

/// The reason why a line is no attempt.
pub(crate) type Malformed = &'static str;

/// The content of a line: one attempt, as the server or a proxy before it saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedAttempt {
    /// The time at which it began, or ended.
    pub stamp: Stamp,
    /// Whether the stamp is of its end: access logs are written when a request is complete.
    pub at_end: bool,
    /// The outcome.
    pub answer: LoggedOutcome,
    /// Its duration in all.
    pub took: Option<Span>,
    /// The time that the backend worked on it, if the log has that apart.
    pub worked: Option<Span>,
    /// Its caller and the request.
    pub caller: CallerIdentity,
    /// Its number in its call, from 1, if it is written.
    pub number: Option<u32>,
    /// Attempts that a proxy made of it, behind this line: 1 where none is written. The last of
    /// them is the one that was answered.
    pub behind: u32,
}

/// By what attempts of one call can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerIdentity {
    /// An id that the client sends again with every attempt, hashed.
    Id(u64),
    /// The client's address and what it asked for, hashed.
    Request(u64),
    /// Nothing is known.
    Unknown,
}

/// The client and the route of a line, for people: a hash says nothing to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedNames<'l> {
    /// The client's address without its port.
    pub client: Option<Cow<'l, str>>,
    /// The path without its query, with the method before it where the log has both in one field.
    pub route: Option<Cow<'l, str>>,
}

impl LoggedAttempt {
    /// The time at which it began, since the epoch; its stamp when nothing is known of its length.
    #[must_use]
    pub fn began(&self) -> Span {
        let took = if self.at_end { self.took.unwrap_or_default() } else { Span::ZERO };
        self.stamp.since_epoch - took
    }

    /// The time at which it ended, since the epoch.
    #[must_use]
    pub fn ended(&self) -> Span {
        self.began() + self.took.unwrap_or_default()
    }
}

/// FNV-1a over all parts, with a mark between them: a hash that is the same in every run.
pub(crate) fn hashed(parts: &[&[u8]]) -> u64 {
    /// The offset and the prime of the 64-bit variant (draft-eastlake-fnv).
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let push = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let part = |hash, part: &&[u8]| push(part.iter().copied().fold(hash, push), b'\n');
    parts.iter().fold(OFFSET, part)
}

/// An address without its port, which changes from connection to connection; of a list of
/// forwarding proxies the first, which is the client.
pub(crate) fn host(address: &str) -> &str {
    let first = address.split(',').next().unwrap_or(address).trim();
    match first.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, _)) => v6,
        None => match first.split_once(':') {
            Some((v4, port)) if !port.contains(':') => v4,
            _ => first,
        },
    }
}

/// A path without its query.
pub(crate) fn route(path: &str) -> &str {
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// An attempt of this time for tests, served, of which nothing else is known.
#[cfg(test)]
pub(crate) const fn at(since_epoch: Span) -> LoggedAttempt {
    LoggedAttempt {
        stamp: Stamp { since_epoch, grain: Span::from_millis(1) },
        at_end: false,
        answer: LoggedOutcome::Served,
        took: None,
        worked: None,
        caller: CallerIdentity::Unknown,
        number: None,
        behind: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_part_of_a_client() {
        for (address, expected) in [
            ("10.0.0.1:5433", "10.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("10.0.0.1, 10.0.0.9", "10.0.0.1"),
        ] {
            assert_eq!(host(address), expected);
        }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(hashed(&[b"ab", b"c"]), hashed(&[b"a", b"bc"]));
    }
}
