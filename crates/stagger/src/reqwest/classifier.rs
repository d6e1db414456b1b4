//! The meaning of an attempt's result.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::reqwest::Response;
use stagger_core::classify::{TransportRules, sources};
use stagger_core::{Cause, Instant, Outcome, Verdict};

use super::failed_body::{DRAIN_TIME, Drain, FailedBody};
use super::replayable_request::ReplayableRequest;
use super::{ClientOptions, SendError};
use crate::http::{Overtaken, classify_transport};
use crate::run::UNKNOWN;
use crate::{AttemptEnd, Classifier, Clock, NextStep, TokioTime};

/// Classifies the attempts of one call, and reads the failed replies that another attempt follows.
pub(super) struct BySend {
    pub(super) options: Arc<ClientOptions>,
    pub(super) kept: Arc<ReplayableRequest>,
    /// The deadline of the call.
    pub(super) until: Option<Instant>,
    /// The failed reply that is read while the call waits.
    pub(super) drain: Option<Drain>,
}

impl Classifier<Response, SendError> for BySend {
    fn classify(&mut self, result: &Result<Response, SendError>) -> Outcome {
        let mut outcome = match result {
            Ok(reply) => self.of_reply(reply),
            Err(SendError::NotReplayable) => NOT_SENT,
            Err(SendError::Reqwest(error)) if is_overtaken(error) => NOT_SENT,
            Err(SendError::Reqwest(error)) => of_reqwest(error, &self.options.transport),
            Err(error) => classify_transport(error).unwrap_or(UNKNOWN),
        };
        outcome.replayable &= self.kept.is_replayable();
        outcome
    }

    fn on_attempt(&mut self, attempt: &AttemptEnd<'_, Response, SendError>) {
        if let Some(observer) = &self.options.on_attempt {
            observer(attempt);
        }
        self.drain = match (attempt.next, attempt.result) {
            (NextStep::Retry(_), Some(Ok(reply))) => self.drain(reply),
            _ => None,
        };
    }

    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(drain) = &mut self.drain {
            ready!(Pin::new(drain).poll(context));
            self.drain = None;
        }
        Poll::Ready(())
    }
}

impl BySend {
    /// A reply without a failed body has succeeded. Of the others the provider knows best, where it
    /// knows anything.
    fn of_reply(&self, reply: &Response) -> Outcome {
        let Some(body) = FailedBody::of(reply) else { return Outcome::OK };
        let said = self.options.provider.as_ref();
        let said = said.and_then(|said| said(reply.status(), reply.headers(), &body.known()));
        said.unwrap_or_else(|| body.outcome())
    }

    /// Never for longer than the call has.
    fn drain(&self, reply: &Response) -> Option<Drain> {
        let left = self.until.map_or(DRAIN_TIME, |until| until - TokioTime.now());
        Some(FailedBody::of(reply)?.drain(left.min(DRAIN_TIME)))
    }
}

/// An attempt that could not send the whole body, because the bytes are gone, or because another copy
/// was ahead. It says nothing against that copy.
const NOT_SENT: Outcome =
    Outcome::new(Verdict::Transient).with_cause(Cause::Transport).not_replayable();

fn is_overtaken(error: &::reqwest::Error) -> bool {
    sources(error).any(|error| error.is::<Overtaken>())
}

fn of_reqwest(error: &::reqwest::Error, rules: &TransportRules) -> Outcome {
    if error.is_builder() || error.is_redirect() {
        return UNKNOWN;
    }
    if error.is_dns() {
        return if is_temporary(error) { rules.connect_failed() } else { UNKNOWN };
    }
    let known = classify_transport(error);
    if error.is_connect() {
        return of_connect(error, known, rules);
    }
    if error.is_timeout() {
        return Outcome::new(Verdict::Transient).with_cause(Cause::Timeout);
    }
    known.unwrap_or(UNKNOWN)
}

/// No connection came to be, so the request was never sent. An error without anything of the network in
/// its chain is a refusal that stays: https without TLS, or a proxy that answers CONNECT with 407 or 403.
/// hyper-util does not keep the status of a proxy, so 502 and 503 count as refusals too.
fn of_connect(error: &::reqwest::Error, known: Option<Outcome>, rules: &TransportRules) -> Outcome {
    match known {
        // TLS libraries report what they refuse as invalid data.
        _ if has_kind(error, io::ErrorKind::InvalidData) => rules.bad_certificate(),
        Some(outcome) if outcome.verdict == Verdict::Permanent => outcome,
        Some(_) => rules.connect_failed(),
        None if error.is_timeout() || is_hung_up(error) => rules.connect_failed(),
        None => UNKNOWN,
    }
}

/// Whether the connection broke in the handshake, or a proxy closed it before its answer. hyper-util
/// keeps its type for the latter to itself, and leaves only the text.
fn is_hung_up(error: &(dyn StdError + 'static)) -> bool {
    const PROXY_CLOSED: &str = "tunnel error: unexpected end of file";
    sources(error).any(|error| error.is::<hyper::Error>() || error.to_string() == PROXY_CLOSED)
}

/// Whether an I/O error of this kind is in the chain.
fn has_kind(error: &(dyn StdError + 'static), kind: io::ErrorKind) -> bool {
    let mut known = sources(error).filter_map(|error| error.downcast_ref::<io::Error>());
    known.any(|error| error.kind() == kind)
}

/// Whether the resolver says `EAI_AGAIN`. The standard library keeps only its text.
fn is_temporary(error: &::reqwest::Error) -> bool {
    let mut texts = sources(error).skip(1).map(ToString::to_string);
    texts.any(|text| text.contains("Temporary failure") || text.contains("Try again"))
}
