//! The meaning of errors of clients, by their root cause: those of hyper and h2 have types of their own.

use std::error::Error as StdError;

use stagger_core::classify::{TransportRules, classify_error, classify_io, sources};
use stagger_core::{Cause, Outcome, Remedy, Verdict};

use crate::Classifier;
use crate::run::{TIMED_OUT, UNKNOWN};

/// The meaning of an error of hyper, h2, tower's time limit or the system. The whole chain of sources
/// is read, and the first error in it that tells decides.
///
/// | error | meaning |
/// | --- | --- |
/// | a stream that the server refused, or above the last one of its GOAWAY (RFC 9113 section 8.7) | unprocessed, sent again at once |
/// | ENHANCE_YOUR_CALM | throttled |
/// | any other reason of h2 | transient |
/// | a request that was canceled before it was written | unprocessed |
/// | a connection that closed before the reply was whole | transient |
/// | hyper's time limits, tokio's and tower's `Elapsed` | transient, a timeout |
/// | an I/O error | by its kind |
/// | anything else | `None` |
///
/// ```
/// use stagger::Verdict;
/// use stagger::http::classify_transport;
/// let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
/// assert_eq!(classify_transport(&reset).map(|outcome| outcome.verdict), Some(Verdict::Transient));
/// assert_eq!(classify_transport(&std::fmt::Error), None);
/// ```
#[must_use]
pub fn classify_transport(error: &(dyn StdError + 'static)) -> Option<Outcome> {
    let mut cut = false;
    for error in sources(error) {
        if let Some(outcome) = error.downcast_ref::<h2::Error>().and_then(of_h2) {
            return Some(outcome);
        }
        if is_elapsed(error) {
            return Some(TIMED_OUT);
        }
        let Some(hyper) = error.downcast_ref::<hyper::Error>() else { continue };
        if hyper.is_timeout() {
            return Some(TIMED_OUT);
        }
        // hyper hands such a request back: not a byte of it was written.
        if hyper.is_canceled() {
            return Some(transport(Verdict::Unprocessed));
        }
        cut |= is_cut(hyper);
    }
    let by_system = classify_error(error, &TransportRules::default());
    by_system.or(cut.then_some(transport(Verdict::Transient)))
}

/// The connection ended before the exchange did. Whether the server acted is not known.
fn is_cut(error: &hyper::Error) -> bool {
    error.is_incomplete_message() || error.is_closed() || error.is_body_write_aborted()
}

/// Whether a time limit around the attempt has passed, tokio's or that of tower's layer.
fn is_elapsed(error: &(dyn StdError + 'static)) -> bool {
    #[cfg(all(feature = "tokio", feature = "tower"))]
    if error.is::<::tower::timeout::error::Elapsed>() {
        return true;
    }
    #[cfg(feature = "tokio")]
    if error.is::<tokio::time::error::Elapsed>() {
        return true;
    }
    let _ = error;
    false
}

fn of_h2(error: &h2::Error) -> Option<Outcome> {
    // h2 does not give the error of its connection as a source.
    if let Some(io) = error.get_io() {
        return classify_io(io.kind(), &TransportRules::default());
    }
    let reason = error.reason()?;
    if is_refused(error) {
        return Some(transport(Verdict::Unprocessed).with_remedy(Remedy::Transparent));
    }
    Some(transport(match reason {
        h2::Reason::ENHANCE_YOUR_CALM => Verdict::Throttled,
        _ => Verdict::Transient,
    }))
}

/// Whether the server refused this stream, or left it out by a GOAWAY: h2 fails with the GOAWAY only
/// the streams above its last one. Our own reset says nothing of the kind.
pub(crate) fn is_refused(error: &h2::Error) -> bool {
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (refused || error.is_go_away())
}

fn transport(verdict: Verdict) -> Outcome {
    Outcome::new(verdict).with_cause(Cause::Transport)
}

/// Classifies errors by the first in their chain that tells: an error of hyper, of h2, of the system, or a
/// time limit. A chain that tells nothing is permanent. [`classify_transport`] has the table.
///
/// ```
/// use std::io;
/// use stagger::http::ByChain;
/// use stagger::{Classifier, Verdict};
/// let refused: Result<(), _> = Err(io::Error::from(io::ErrorKind::ConnectionRefused));
/// assert_eq!(ByChain.classify(&refused).verdict, Verdict::Unprocessed);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByChain;

impl<T, E: StdError + 'static> Classifier<T, E> for ByChain {
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| chain(error))
    }
}

/// The same for errors in a box, as those of tower's own layers are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByBoxedChain;

impl<T> Classifier<T, Box<dyn StdError + Send + Sync>> for ByBoxedChain {
    fn classify(&mut self, result: &Result<T, Box<dyn StdError + Send + Sync>>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| chain(&**error))
    }
}

fn chain(error: &(dyn StdError + 'static)) -> Outcome {
    classify_transport(error).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn an_error_that_an_io_error_wraps_is_heard() {
        let calm = h2::Error::from(h2::Reason::ENHANCE_YOUR_CALM);
        let wrapped = io::Error::other(io::Error::other(calm));
        let outcome = classify_transport(&wrapped);
        assert_eq!(outcome.map(|outcome| outcome.verdict), Some(Verdict::Throttled));
    }

    #[cfg(all(feature = "tokio", feature = "tower"))]
    #[test]
    fn a_time_limit_of_tower_was_permanent() {
        let elapsed = ::tower::timeout::error::Elapsed::new();
        let wrapped = io::Error::other(elapsed);
        assert_eq!(classify_transport(&wrapped), Some(TIMED_OUT));
    }
}
