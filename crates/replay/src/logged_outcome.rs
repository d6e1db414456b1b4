//! The outcome of an attempt, as far as a log can tell.

use stagger_core::classify::{HttpReply, HttpRules};
use stagger_core::{Span, Verdict};

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
