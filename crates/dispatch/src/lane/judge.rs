//! What an answer means: the facts of an attempt, judged by the rules of webhooks.

use stagger::breaker::Report;
use stagger::{Cause, Outcome, Verdict};

use crate::model::{Answer, Ending, Failure, Statuses};

/// What came of an attempt, for everybody who cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judgement {
    /// For the call, and for people to read.
    pub(super) outcome: Outcome,
    /// For the breaker.
    pub(super) report: Report,
    /// Why the delivery ends if the outcome is permanent.
    pub(super) ending: Ending,
    /// Whether the endpoint said that it is gone.
    pub(super) gone: bool,
}

impl Judgement {
    /// What the call hears. A 410 ends the endpoint, not what is on its way to it: that goes on by its
    /// schedule once the endpoint is enabled.
    pub(super) fn for_call(&self) -> Outcome {
        let transient = Outcome::new(Verdict::Transient);
        match self.outcome.hint {
            _ if !self.gone => self.outcome,
            Some(hint) => transient.with_hint(hint),
            None => transient,
        }
    }
}

/// Judges an answer; `permanent` are the statuses that the endpoint lists.
///
/// | answer | verdict |
/// | --- | --- |
/// | 2xx, however slow the body | ok |
/// | 410, whatever the endpoint lists | permanent for the endpoint: it is disabled, the delivery goes on |
/// | a status that the endpoint lists | permanent |
/// | 429, 502, 503, 504 | throttled |
/// | any other status, 3xx included | transient: a bad deploy answers 404 or 401 for an hour |
/// | no reply | transient |
/// | an address that the egress guard refused; a request that cannot be built | permanent |
/// | the dispatcher was stopped | cancelled: the attempt counts as not made |
///
/// A throttled answer is bad news for the endpoint's breaker only as far as its plan says; an address
/// that the guard refuses always is, so that a wrong DNS record cannot end a whole backlog.
pub(super) fn judge(permanent: &Statuses, answer: &Answer) -> Judgement {
    let outcome = match answer.result {
        Ok(status) => Outcome::new(verdict_of(permanent, status)),
        Err(failure) => outcome_of(failure),
    };
    let outcome = match answer.hint {
        Some(hint) if outcome.verdict != Verdict::Ok => outcome.with_hint(hint),
        _ => outcome,
    };
    let gone = answer.result == Ok(GONE);
    let report = match answer.result {
        Ok(GONE) | Err(Failure::Egress) => Report::Failure,
        _ => Report::of(&outcome),
    };
    Judgement { outcome, report, ending: ending_of(answer), gone }
}

/// "Gone" (RFC 9110 section 15.5.11): Standard Webhooks says to disable the endpoint.
const GONE: u16 = 410;

fn verdict_of(permanent: &Statuses, status: u16) -> Verdict {
    match status {
        200..=299 => Verdict::Ok,
        GONE => Verdict::Permanent,
        _ if permanent.contains(status) => Verdict::Permanent,
        429 | 502 | 503 | 504 => Verdict::Throttled,
        _ => Verdict::Transient,
    }
}

const fn outcome_of(failure: Failure) -> Outcome {
    match failure {
        Failure::Timeout => Outcome::new(Verdict::Transient).with_cause(Cause::Timeout),
        Failure::Resolve | Failure::Connect | Failure::Tls | Failure::Transport => {
            Outcome::new(Verdict::Transient).with_cause(Cause::Transport)
        }
        Failure::Egress | Failure::Unbuildable => {
            Outcome::new(Verdict::Permanent).with_cause(Cause::Transport)
        }
        Failure::Stopped => Outcome::new(Verdict::Cancelled).with_cause(Cause::Transport),
    }
}

const fn ending_of(answer: &Answer) -> Ending {
    match answer.result {
        Err(Failure::Egress) => Ending::EgressRefused,
        Err(Failure::Unbuildable) => Ending::Unbuildable,
        _ => Ending::Permanent,
    }
}
