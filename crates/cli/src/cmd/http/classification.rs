//! The replies and the failures that are retried, where flags say so.

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use stagger::http::HttpReplies;
use stagger::reqwest::ClientOptions;
use stagger_core::classify::TransportRules;
use stagger_core::{Outcome, Verdict};

use crate::flags::{HttpFlags, Statuses};

/// The options of a client that retries what the flags name.
pub(super) fn client_options(flags: &HttpFlags) -> ClientOptions {
    let mut options = ClientOptions::new();
    if flags.retry_all_errors {
        let rules = TransportRules::default().retry_certificates().retry_unknown_names();
        options = options.transport_rules(rules);
    }
    let named = match &flags.retry_on_status {
        Some(statuses) => statuses.clone(),
        None if flags.retry_all_errors => Statuses::failures(),
        None => return options,
    };
    options.provider(move |status, headers, _| Some(outcome(&named, status, headers)))
}

/// The library's own outcome, which the flags make one to retry, or not.
fn outcome(named: &Statuses, status: StatusCode, headers: &HeaderMap) -> Outcome {
    let own = HttpReplies::default().reply(status, headers);
    let verdict = match (named.contains(status.as_u16()), own.verdict.is_retryable()) {
        (true, false) => Verdict::Transient,
        (false, true) => Verdict::Permanent,
        _ => return own,
    };
    let outcome = Outcome::new(verdict).with_cause(own.cause);
    own.hint.map_or(outcome, |hint| outcome.with_hint(hint))
}

#[cfg(test)]
mod tests {
    use stagger_core::{Hint, Span};

    use super::*;

    #[test]
    fn a_named_status_lost_its_hint_or_an_unnamed_one_was_retried() {
        let named: Statuses = "404,503".parse().unwrap();
        let headers: HeaderMap =
            [(reqwest::header::RETRY_AFTER, "3".parse().unwrap())].into_iter().collect();
        let of = |status| outcome(&named, StatusCode::from_u16(status).unwrap(), &headers);
        assert_eq!(of(404).verdict, Verdict::Transient);
        assert_eq!(of(404).hint, Some(Hint::AtLeast(Span::from_secs(3))));
        assert_eq!(of(503).verdict, Verdict::Throttled, "the engine's own word for it");
        assert_eq!(of(502).verdict, Verdict::Permanent);
        assert_eq!(of(429).verdict, Verdict::Permanent);
    }
}
