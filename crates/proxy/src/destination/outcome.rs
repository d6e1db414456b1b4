//! The meaning of failures below HTTP.

use hyper_util::client::legacy;
use stagger::http::classify_transport;
use stagger::{AttemptEnd, Classifier, Outcome, Verdict};
use stagger_core::classify::TransportRules;

/// The error of an attempt, boxed as all services below have it.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Classifies by the chain of the error. A connection that never came to be is unprocessed, however it failed, unless
/// it will not heal: the request was never sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UpstreamErrors;

impl UpstreamErrors {
    /// The meaning of one error.
    pub(crate) fn outcome(error: &(dyn std::error::Error + 'static)) -> Outcome {
        let known = classify_transport(error);
        let client = error.downcast_ref::<legacy::Error>();
        if !client.is_some_and(legacy::Error::is_connect) {
            return known.unwrap_or(Outcome::new(Verdict::Permanent));
        }
        match known {
            Some(outcome) if outcome.verdict == Verdict::Permanent => outcome,
            Some(_) => TransportRules::default().connect_failed(),
            // Nothing of the network is in the chain: a refusal that stays.
            None => Outcome::new(Verdict::Permanent),
        }
    }
}

impl<T> Classifier<T, BoxError> for UpstreamErrors {
    fn classify(&mut self, result: &Result<T, BoxError>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| Self::outcome(&**error))
    }

    fn on_attempt(&mut self, _: &AttemptEnd<'_, T, BoxError>) {}
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn an_error_after_the_connection_is_by_its_chain() {
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(UpstreamErrors::outcome(&reset).verdict, Verdict::Transient);
        assert_eq!(UpstreamErrors::outcome(&std::fmt::Error).verdict, Verdict::Permanent);
    }
}
