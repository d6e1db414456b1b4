//! Failures below gRPC: which of them the server cannot have acted on, and which status they are.

use std::error::Error as StdError;
use std::sync::Arc;

use h2::Reason;
use stagger_core::classify::{
    Code, CodeSet, TransportRules, classify_error, classify_grpc, sources,
};
use stagger_core::hint::retry_info;
use stagger_core::{Cause, Hint, Outcome, Remedy, Verdict};
use tonic::{ConnectError, Status, TimeoutExpired};

use super::CallError;
use super::error::code_of;
use super::reply::hint;
use super::request::Overtaken;
use crate::http::{classify_transport, is_refused};
use crate::run::TIMED_OUT;
use crate::{CallReport, Classify};

/// An attempt without a reply: its status in gRPC's terms, and what it means.
#[derive(Clone, Copy)]
pub(super) struct GrpcFailure {
    pub(super) code: Code,
    pub(super) outcome: Outcome,
}

/// The server never saw the stream, so it is sent again at once (gRFC A6, "Transparent Retries").
const NEVER_SEEN: GrpcFailure = GrpcFailure {
    code: Code::Unavailable,
    outcome: Outcome::new(Verdict::Unprocessed)
        .with_cause(Cause::Transport)
        .with_remedy(Remedy::Transparent),
};

/// Nothing in the chain tells what happened, so nothing says that it may happen twice.
const UNKNOWN: GrpcFailure = GrpcFailure { code: Code::Unknown, outcome: crate::run::UNKNOWN };

impl GrpcFailure {
    /// By the first error of the chain that tells; `codes` are the ones that are retried.
    pub(super) fn of(error: &(dyn StdError + 'static), codes: Option<CodeSet>) -> Self {
        let mut known = sources(error).filter_map(|error| Self::known(error, codes));
        known.next().unwrap_or_else(|| Self::io(error, codes).unwrap_or(UNKNOWN))
    }

    fn known(error: &(dyn StdError + 'static), codes: Option<CodeSet>) -> Option<Self> {
        if let Some(end) = error.downcast_ref::<CallError>() {
            return Some(Self { code: code_of(end.status()), outcome: end.classify() });
        }
        if let Some(status) = error.downcast_ref::<Status>() {
            let code = code_of(status);
            return Some(Self { code, outcome: classify_grpc(code, codes) });
        }
        if error.is::<Overtaken>() {
            let outcome = Outcome::new(Verdict::Transient).with_cause(Cause::Transport);
            return Some(Self { code: Code::Unavailable, outcome });
        }
        if error.is::<TimeoutExpired>() {
            return Some(Self { code: Code::DeadlineExceeded, outcome: TIMED_OUT });
        }
        if let Some(ConnectError(cause)) = error.downcast_ref() {
            return Some(Self::connect(&**cause));
        }
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            return Some(Self::stream(error, codes));
        }
        // Cancelled is what hyper calls a request that it has not begun to send.
        let unsent = error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled);
        unsent.then_some(NEVER_SEEN)
    }

    /// No connection came to be. What will not heal is permanent: a name that does not exist, a bad
    /// certificate, https without TLS. An error with nothing of the network in its chain is of that kind.
    fn connect(cause: &(dyn StdError + 'static)) -> Self {
        let rules = TransportRules::default();
        let handshake = || sources(cause).any(|error| error.is::<hyper::Error>());
        let outcome = match classify_transport(cause) {
            Some(outcome) if outcome.verdict == Verdict::Permanent => outcome,
            None if !handshake() => crate::run::UNKNOWN,
            _ => rules.connect_failed(),
        };
        Self { code: Code::Unavailable, outcome }
    }

    /// A stream that was reset, or that a connection took with it.
    fn stream(error: &h2::Error, codes: Option<CodeSet>) -> Self {
        if is_refused(error) {
            return NEVER_SEEN;
        }
        Self::below(error.reason().map_or(Code::Unavailable, reset), codes)
    }

    /// A connection that broke with the request on it: gRPC calls this UNAVAILABLE.
    fn io(error: &(dyn StdError + 'static), codes: Option<CodeSet>) -> Option<Self> {
        let is_hyper = || sources(error).any(|error| error.is::<hyper::Error>());
        match classify_error(error, &TransportRules::default()) {
            Some(outcome) if outcome.verdict == Verdict::Transient => {
                Some(Self::below(Code::Unavailable, codes))
            }
            Some(outcome) => Some(Self { code: Code::Unavailable, outcome }),
            None => is_hyper().then(|| Self::below(Code::Unavailable, codes)),
        }
    }

    fn below(code: Code, codes: Option<CodeSet>) -> Self {
        Self { code, outcome: classify_grpc(code, codes).with_cause(Cause::Transport) }
    }
}

/// The status of a plain client: by the table of [this module](super#what-is-retried), with pushback and `RetryInfo`.
/// A status that tonic made of a failure below gRPC is classified by that failure, which is its source.
///
/// A status does not know its method. For one that must not be called twice say
/// [`not_idempotent`](crate::RetryCall::not_idempotent), or take [`Grpc`](super::Grpc).
///
/// ```
/// use stagger::{Classify, Verdict};
/// assert_eq!(tonic::Status::unavailable("away").classify().verdict, Verdict::Transient);
/// assert_eq!(tonic::Status::not_found("no such order").classify().verdict, Verdict::Permanent);
/// ```
impl Classify for Status {
    fn classify(&self) -> Outcome {
        let below = self.source().map(|source| GrpcFailure::of(source, None));
        if let Some(below) = below.filter(|below| below.code != Code::Unknown) {
            return below.outcome;
        }
        let outcome = classify_grpc(code_of(self), None);
        if outcome.verdict == Verdict::Ok {
            return outcome;
        }
        let by_headers = hint(&self.metadata().clone().into_headers());
        let hint = by_headers.or_else(|| retry_info(self.details()).map(Hint::AtLeast));
        hint.map_or(outcome, |hint| outcome.with_hint(hint))
    }
}

impl CallError {
    /// The service could not be made ready: no call was begun.
    pub(super) fn not_ready(error: Box<dyn StdError + Send + Sync>) -> Self {
        Self::transport(error, CallReport::default())
    }

    /// The call ended on an error of the transport.
    pub(super) fn transport(error: Box<dyn StdError + Send + Sync>, report: CallReport) -> Self {
        let code = GrpcFailure::of(&*error, None).code;
        let mut status = Status::new(i32::from(code.number()).into(), chain_text(&*error));
        status.set_source(Arc::from(error));
        Self::replied(status, report)
    }
}

/// The errors of a chain in one line, without those that repeat the one before.
fn chain_text(error: &(dyn StdError + 'static)) -> String {
    let mut said = error.to_string();
    for inner in sources(error).skip(1) {
        let inner = inner.to_string();
        if !said.ends_with(&inner) {
            said.push_str(": ");
            said.push_str(&inner);
        }
    }
    said
}

/// Maps a reset to its code (gRPC over HTTP/2, "Errors").
fn reset(reason: Reason) -> Code {
    match reason {
        Reason::CANCEL => Code::Cancelled,
        Reason::REFUSED_STREAM => Code::Unavailable,
        Reason::ENHANCE_YOUR_CALM => Code::ResourceExhausted,
        Reason::INADEQUATE_SECURITY => Code::PermissionDenied,
        _ => Code::Internal,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn verdict(error: &(dyn StdError + 'static)) -> (Code, Verdict) {
        let failure = GrpcFailure::of(error, None);
        (failure.code, failure.outcome.verdict)
    }

    #[test]
    fn a_name_that_does_not_exist_is_no_reason_to_knock_again() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let refused = ConnectError(refused.into());
        assert_eq!(verdict(&refused), (Code::Unavailable, Verdict::Unprocessed));
        let denied = ConnectError(io::Error::from(io::ErrorKind::PermissionDenied).into());
        assert_eq!(verdict(&denied), (Code::Unavailable, Verdict::Permanent));
        let untrusted = ConnectError(io::Error::from(io::ErrorKind::InvalidData).into());
        assert_eq!(verdict(&untrusted), (Code::Unavailable, Verdict::Permanent));
        let without_tls = ConnectError("Connecting to HTTPS without TLS enabled".into());
        assert_eq!(verdict(&without_tls), (Code::Unavailable, Verdict::Permanent));
        let silent = ConnectError(io::Error::from(io::ErrorKind::TimedOut).into());
        assert_eq!(verdict(&silent), (Code::Unavailable, Verdict::Unprocessed));
    }

    #[test]
    fn our_own_reset_is_not_the_servers_refusal() {
        let own = h2::Error::from(Reason::REFUSED_STREAM);
        assert_eq!(verdict(&own), (Code::Unavailable, Verdict::Transient));
        let calm = h2::Error::from(Reason::ENHANCE_YOUR_CALM);
        assert_eq!(verdict(&calm), (Code::ResourceExhausted, Verdict::Throttled));
    }

    #[test]
    fn a_list_without_unavailable_repeats_no_broken_connection() {
        let broken = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(verdict(&broken), (Code::Unavailable, Verdict::Transient));
        let listed = CodeSet::EMPTY.with(Code::Aborted);
        assert_eq!(GrpcFailure::of(&broken, Some(listed)).outcome.verdict, Verdict::Permanent);
    }

    #[test]
    fn an_error_that_an_io_error_wraps_is_heard() {
        let calm = h2::Error::from(Reason::ENHANCE_YOUR_CALM);
        let wrapped = io::Error::other(io::Error::other(calm));
        assert_eq!(verdict(&wrapped), (Code::ResourceExhausted, Verdict::Throttled));
    }

    #[test]
    fn an_error_that_says_nothing_is_not_repeated() {
        assert_eq!(verdict(&std::fmt::Error), (Code::Unknown, Verdict::Permanent));
    }
}
