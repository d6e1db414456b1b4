//! Input and output errors, wherever they hide in a chain of sources.

use std::error::Error;
use std::io::{self, ErrorKind};

use super::transport::TransportRules;
use crate::outcome::{Cause, Outcome, Verdict};

/// The most errors of one chain that are read: real chains have fewer than ten, and a chain that
/// leads back into itself must end too.
pub const MAX_SOURCE_DEPTH: usize = 32;

/// Classifies an I/O error by its kind alone; `None` for [`ErrorKind::Other`], which says nothing.
///
/// Only a refused connection is unprocessed. An unreachable host or network can also be reported
/// on a connection that was open, after the server has acted, so by itself it is transient; who
/// knows that it happened while connecting says [`TransportRules::connect_failed`].
///
/// ```
/// use stagger_core::Verdict;
/// use stagger_core::classify::{TransportRules, classify_io};
/// use std::io::ErrorKind;
/// let refused = classify_io(ErrorKind::ConnectionRefused, &TransportRules::default());
/// assert_eq!(refused.map(|outcome| outcome.verdict), Some(Verdict::Unprocessed));
/// ```
#[must_use]
pub fn classify_io(kind: ErrorKind, rules: &TransportRules) -> Option<Outcome> {
    let (verdict, cause) = match kind {
        ErrorKind::Other => return None,
        ErrorKind::ConnectionRefused => return Some(rules.connect_failed()),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => (Verdict::Transient, Cause::Timeout),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::Interrupted => (Verdict::Transient, Cause::Transport),
        _ => (Verdict::Permanent, Cause::Transport),
    };
    Some(Outcome::new(verdict).with_cause(cause))
}

/// Classifies `error` by the first I/O error in its chain with a known kind, by the default [`TransportRules`].
///
/// At most [`MAX_SOURCE_DEPTH`] errors are looked at. `None` when there is none: an error type of
/// the caller's own is the caller's to judge, and is not retried meanwhile.
///
/// ```
/// use stagger_core::Verdict;
/// use stagger_core::classify::classify_error;
/// use std::io::{Error, ErrorKind};
/// let inner = Error::from(ErrorKind::ConnectionReset);
/// let outcome = classify_error(&Error::other(inner), &Default::default());
/// assert_eq!(outcome.map(|outcome| outcome.verdict), Some(Verdict::Transient));
/// ```
#[must_use]
pub fn classify_error(error: &(dyn Error + 'static), rules: &TransportRules) -> Option<Outcome> {
    let mut known = sources(error).filter_map(|error| error.downcast_ref::<io::Error>());
    known.find_map(|io| classify_io(io.kind(), rules))
}

/// An error and those behind it, at most [`MAX_SOURCE_DEPTH`] of them.
///
/// The chain includes the error inside an I/O error, which [`Error::source`] skips.
///
/// ```
/// use stagger_core::classify::sources;
/// use std::io::{Error, ErrorKind};
/// let outer = Error::other(Error::from(ErrorKind::ConnectionReset));
/// let kinds: Vec<_> = sources(&outer).filter_map(|e| Some(e.downcast_ref::<Error>()?.kind())).collect();
/// assert_eq!(kinds, [ErrorKind::Other, ErrorKind::ConnectionReset]);
/// ```
pub fn sources<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| behind(*error)).take(MAX_SOURCE_DEPTH)
}

/// The next error of the chain. An I/O error's `source` skips the error that it wraps itself.
fn behind<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
