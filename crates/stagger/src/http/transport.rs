//! What hyper and h2 mean when they fail: they tell it by types of their own.

use std::error::Error as StdError;

use stagger_core::classify::{TransportRules, classify_error, sources};
use stagger_core::{Cause, Outcome, Remedy, Verdict};

/// What the first telling error of hyper, h2 or the system in `error`'s chain means.
///
/// A stream that the server refused, or that lies above the last one of its GOAWAY, was not processed
/// (RFC 9113 section 8.7): it may be sent again at once. A connection that closed before the reply was
/// whole is transient. `None` when no error of the chain tells anything.
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
        if let Some(h2) = error.downcast_ref::<h2::Error>() {
            if let Some(outcome) = of_h2(h2) {
                return Some(outcome);
            }
        }
        cut |= error.downcast_ref::<hyper::Error>().is_some_and(is_cut);
    }
    let by_system = classify_error(error, &TransportRules::default());
    by_system.or(cut.then_some(transport(Verdict::Transient)))
}

/// The connection ended before the exchange did. Whether the server acted is not known.
fn is_cut(error: &hyper::Error) -> bool {
    error.is_incomplete_message()
        || error.is_canceled()
        || error.is_closed()
        || error.is_body_write_aborted()
}

fn of_h2(error: &h2::Error) -> Option<Outcome> {
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
}
