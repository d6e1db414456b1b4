//! Classifies the answer to an attempt by the rules of webhooks.

use stagger_core::breaker::Report;
use stagger_core::{Cause, Outcome, Verdict};

use crate::model::{AttemptAnswer, AttemptFailure, DeliveryEnding, Statuses};

/// The classified answer to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Classification {
    /// For the call, and for people to read.
    pub(super) outcome: Outcome,
    /// For the breaker.
    pub(super) report: Report,
    /// Why the delivery ends if the outcome is permanent, or if its last attempt was refused by the guard.
    pub(super) ending: DeliveryEnding,
    /// Whether the endpoint said that it is gone.
    pub(super) gone: bool,
}

impl Classification {
    /// The outcome for the delivery's call. A 410 disables the endpoint but does not end its
    /// deliveries: they continue on schedule once the endpoint is enabled.
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
/// | an address that the egress guard refused | transient: one wrong DNS answer ends no delivery |
/// | a request that cannot be built | permanent |
/// | the dispatcher was stopped, or lacks resources; no access token; no consent | cancelled: the attempt counts as not made |
///
/// A throttled answer counts as a failure for the endpoint's breaker only if its plan says so.
pub(super) fn classify(permanent: &Statuses, answer: &AttemptAnswer) -> Classification {
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
        Ok(GONE) => Report::Failure,
        _ => Report::of(&outcome),
    };
    Classification { outcome, report, ending: ending_of(answer), gone }
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

const fn outcome_of(failure: AttemptFailure) -> Outcome {
    match failure {
        AttemptFailure::Timeout => Outcome::new(Verdict::Transient).with_cause(Cause::Timeout),
        AttemptFailure::Resolve
        | AttemptFailure::Connect
        | AttemptFailure::Tls
        | AttemptFailure::Transport
        | AttemptFailure::Egress => Outcome::new(Verdict::Transient).with_cause(Cause::Transport),
        AttemptFailure::Unbuildable => {
            Outcome::new(Verdict::Permanent).with_cause(Cause::Transport)
        }
        AttemptFailure::Stopped
        | AttemptFailure::Local
        | AttemptFailure::Token
        | AttemptFailure::Handshake => {
            Outcome::new(Verdict::Cancelled).with_cause(Cause::Transport)
        }
    }
}

const fn ending_of(answer: &AttemptAnswer) -> DeliveryEnding {
    match answer.result {
        Err(AttemptFailure::Egress) => DeliveryEnding::EgressRefused,
        Err(AttemptFailure::Unbuildable) => DeliveryEnding::Unbuildable,
        _ => DeliveryEnding::Permanent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use stagger_core::{Hint, Span};

    fn classified(result: Result<u16, AttemptFailure>, hint: Option<Hint>) -> Classification {
        let listed = Statuses::try_from(vec![410, 422, 503]).unwrap();
        let (detail, reply, latency) = (None, Bytes::new(), Span::ZERO);
        let (written, handshake) = (true, None);
        let answer = AttemptAnswer { result, detail, hint, reply, latency, written, handshake };
        classify(&listed, &answer)
    }

    #[test]
    fn a_bad_deploy_is_not_mistaken_for_a_bad_message() {
        for status in [300, 301, 302, 400, 401, 403, 404, 409, 421, 425, 500, 501, 505, 599, 700] {
            let Classification { outcome, report, gone, .. } = classified(Ok(status), None);
            let expected = (Verdict::Transient, Report::Failure, false);
            assert_eq!((outcome.verdict, report, gone), expected, "{status}");
        }
        for status in 200..300 {
            assert_eq!(classified(Ok(status), None).outcome, Outcome::OK);
        }
        for status in [429, 502, 504] {
            assert_eq!(classified(Ok(status), None).outcome.verdict, Verdict::Throttled);
        }
    }

    #[test]
    fn a_listed_status_ends_a_delivery_and_proves_that_the_endpoint_lives() {
        for status in [422, 503] {
            let Classification { outcome, report, ending, .. } = classified(Ok(status), None);
            assert_eq!((outcome.verdict, report), (Verdict::Permanent, Report::Success));
            assert_eq!(ending, DeliveryEnding::Permanent);
        }
    }

    #[test]
    fn gone_is_for_the_endpoint_and_not_for_the_delivery() {
        let hint = Hint::AtLeast(Span::from_secs(5));
        let classification = classified(Ok(410), Some(hint));
        assert!(classification.gone);
        assert_eq!(classification.outcome.verdict, Verdict::Permanent);
        assert_eq!(classification.for_call(), Outcome::new(Verdict::Transient).with_hint(hint));
    }

    #[test]
    fn each_failure_has_its_meaning() {
        let meaning = |failure| {
            let Classification { outcome, report, ending, .. } = classified(Err(failure), None);
            (outcome.verdict, report, ending)
        };
        for failure in [
            AttemptFailure::Resolve,
            AttemptFailure::Connect,
            AttemptFailure::Tls,
            AttemptFailure::Timeout,
            AttemptFailure::Transport,
        ] {
            let transient = (Verdict::Transient, Report::Failure, DeliveryEnding::Permanent);
            assert_eq!(meaning(failure), transient, "{failure:?}");
        }
        let permanent = Verdict::Permanent;
        assert_eq!(
            meaning(AttemptFailure::Egress),
            (Verdict::Transient, Report::Failure, DeliveryEnding::EgressRefused)
        );
        assert_eq!(
            meaning(AttemptFailure::Unbuildable),
            (permanent, Report::Neutral, DeliveryEnding::Unbuildable)
        );
        for failure in [
            AttemptFailure::Stopped,
            AttemptFailure::Local,
            AttemptFailure::Token,
            AttemptFailure::Handshake,
        ] {
            let (verdict, report, _) = meaning(failure);
            assert_eq!((verdict, report), (Verdict::Cancelled, Report::Neutral), "{failure:?}");
        }
    }

    #[test]
    fn a_hint_on_a_success_is_no_pause() {
        let hint = Some(Hint::AtLeast(Span::from_secs(5)));
        assert_eq!(classified(Ok(200), hint).outcome.hint, None);
        assert_eq!(classified(Ok(404), hint).outcome.hint, hint);
    }
}
