//! The meaning of reqwest's errors: a status that was made an error, or a failure of the transport.

use std::error::Error as StdError;
use std::io;

use ::http::HeaderMap;
use stagger_core::classify::{TransportRules, sources};
use stagger_core::{Cause, Outcome, Verdict};

use crate::Classify;
use crate::http::{HttpReplies, classify_transport};
use crate::run::UNKNOWN;

/// The errors of a plain client: a status that [`error_for_status`](::reqwest::Response::error_for_status) made an
/// error, by the table of [`HttpReplies`]; any other error by what it says of the transport. A connection that never
/// came to be is unprocessed, a time limit and a broken connection are transient, and a request that cannot be built, a
/// bad certificate and a name that does not exist are permanent.
///
/// The error knows neither the method nor the headers of the reply. For a POST say
/// [`not_idempotent`](crate::RetryCall::not_idempotent), and take [`Client`](super::Client) to have methods and
/// `Retry-After` obeyed.
///
/// ```no_run
/// # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
/// let client = reqwest::Client::new();
/// let get = || async { client.get("https://example.com/orders").send().await?.error_for_status() };
/// let orders = stagger::retry(get).await?.text().await?;
/// # Ok(()) }
/// ```
impl Classify for ::reqwest::Error {
    fn classify(&self) -> Outcome {
        match self.status() {
            Some(status) => HttpReplies::default().reply(status, &HeaderMap::new()),
            None => of_reqwest(self, &TransportRules::default()),
        }
    }
}

pub(super) fn of_reqwest(error: &::reqwest::Error, rules: &TransportRules) -> Outcome {
    if error.is_builder() || error.is_redirect() {
        return UNKNOWN;
    }
    if error.is_dns() {
        return if is_temporary(error) { rules.connect_failed() } else { rules.unknown_name() };
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
