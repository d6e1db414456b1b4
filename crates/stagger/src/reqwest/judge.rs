//! What the result of an attempt means.

use std::error::Error as StdError;
use std::sync::Arc;

use ::reqwest::Response;
use stagger_core::classify::TransportRules;
use stagger_core::{Cause, Outcome, Verdict};

use super::SendError;
use super::kept::Kept;
use crate::Judge;
use crate::http::{HttpReplies, classify_transport};
use crate::run::UNKNOWN;

/// Judges the attempts of one call.
#[derive(Debug)]
pub(super) struct BySend {
    pub(super) replies: HttpReplies,
    pub(super) kept: Arc<Kept>,
}

impl Judge<Response, SendError> for BySend {
    fn judge(&mut self, result: &Result<Response, SendError>) -> Outcome {
        let mut outcome = match result {
            Ok(reply) => self.replies.reply(reply.status(), reply.headers()),
            Err(SendError::Reqwest(error)) => of_reqwest(error),
            Err(error) => classify_transport(error).unwrap_or(UNKNOWN),
        };
        outcome.replayable &= self.kept.is_replayable();
        outcome
    }
}

fn of_reqwest(error: &::reqwest::Error) -> Outcome {
    if error.is_builder() || error.is_redirect() {
        return UNKNOWN;
    }
    if error.is_dns() {
        return if is_temporary(error) { connect_failed() } else { UNKNOWN };
    }
    let known = classify_transport(error);
    if error.is_connect() {
        // A handshake that failed on a certificate is permanent; the request was never sent.
        let permanent = known.filter(|outcome| outcome.verdict == Verdict::Permanent);
        return permanent.unwrap_or_else(connect_failed);
    }
    if error.is_timeout() {
        return Outcome::new(Verdict::Transient).with_cause(Cause::Timeout);
    }
    known.unwrap_or(UNKNOWN)
}

fn connect_failed() -> Outcome {
    TransportRules::default().connect_failed()
}

/// Whether the resolver says `EAI_AGAIN`. The standard library keeps only its text.
fn is_temporary(error: &::reqwest::Error) -> bool {
    let chain = std::iter::successors(error.source(), |&error| error.source());
    let mut texts = chain.map(ToString::to_string);
    texts.any(|text| text.contains("Temporary failure") || text.contains("Try again"))
}
