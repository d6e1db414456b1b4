//! The request for an endpoint's consent (`CloudEvents` web hooks 1.0.2 section 4): asked once for all attempts that wait
//! for it, and kept until the endpoint's settings change.

use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use stagger::{ConfigError, Span};
use stagger_scheduler::model::{AttemptFailure, Endpoint, HandshakeResult};
use tokio::sync::Mutex;

use crate::address::Address;
use crate::header::AGENT;
use crate::send_failure::SendFailure;

/// The longest time for an answer, of the attempt's own: an endpoint that hangs is asked again later.
pub(crate) const HANDSHAKE_TIME: Span = Span::from_secs(10);

const REQUEST_ORIGIN: HeaderName = HeaderName::from_static("webhook-request-origin");
const REQUEST_RATE: HeaderName = HeaderName::from_static("webhook-request-rate");
const ALLOWED_ORIGIN: HeaderName = HeaderName::from_static("webhook-allowed-origin");
const ALLOWED_RATE: HeaderName = HeaderName::from_static("webhook-allowed-rate");

/// The handshake of an endpoint that wants one.
#[derive(Debug)]
pub(crate) struct HandshakeClient {
    origin: Arc<str>,
    /// Attempts a minute that the endpoint's settings allow, if they bound them.
    rate: Option<u64>,
    /// The consent, once it was given. Those who wait for it share the answer to one request.
    granted: Mutex<Option<HandshakeResult>>,
}

/// The answer to a request for consent: the result, and for a refusal its reason.
pub(crate) type HandshakeAnswer = Result<HandshakeResult, (HandshakeResult, SendFailure)>;

impl HandshakeClient {
    /// The handshake of an endpoint, if it wants one.
    ///
    /// # Errors
    /// `handshake`, if the node has no name to ask with.
    pub(crate) fn new(
        endpoint: &Endpoint,
        origin: Option<&Arc<str>>,
    ) -> Result<Option<Self>, ConfigError> {
        if !endpoint.handshake {
            return Ok(None);
        }
        let bound = "false on a node without the setting public_url, whose host it asks with";
        let origin = origin.ok_or_else(|| ConfigError::new("handshake", true, bound))?;
        let rate = endpoint.pace.rate.map(|rate| 60 * u64::from(rate.get()));
        Ok(Some(Self { origin: Arc::clone(origin), rate, granted: Mutex::default() }))
    }

    /// The consent, from `ask` if it was not given yet.
    pub(crate) async fn consent<F>(&self, ask: impl FnOnce() -> F) -> HandshakeAnswer
    where
        F: Future<Output = HandshakeAnswer>,
    {
        let mut granted = self.granted.lock().await;
        if let Some(result) = *granted {
            return Ok(result);
        }
        let result = ask().await?;
        *granted = Some(result);
        Ok(result)
    }

    /// The request: without the endpoint's credentials and headers, which it gets once it has consented.
    pub(crate) fn request(&self, address: &Address) -> Result<Request<Full<Bytes>>, SendFailure> {
        let unbuildable =
            |_| SendFailure::new(AttemptFailure::Unbuildable, "an origin that cannot be sent");
        let mut request = Request::new(Full::default());
        *request.method_mut() = Method::OPTIONS;
        *request.uri_mut() = address.target.clone();
        let headers = request.headers_mut();
        headers.insert(HOST, address.host_header.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(REQUEST_ORIGIN, HeaderValue::from_str(&self.origin).map_err(unbuildable)?);
        headers.extend(self.rate.map(|rate| (REQUEST_RATE, rate.into())));
        Ok(request)
    }

    /// The consent in a reply: a success that names this origin, or all of them.
    pub(crate) fn read(&self, status: StatusCode, headers: &HeaderMap) -> HandshakeAnswer {
        let refused = |why: &str| {
            let result = HandshakeResult::Refused { status: Some(status.as_u16()) };
            Err((result, refusal(format!("it answers {} {why}", status.as_u16()))))
        };
        if !status.is_success() {
            return refused("to the request for its consent");
        }
        let mut allowed = headers.get_all(ALLOWED_ORIGIN).iter();
        let is_own = |value: &HeaderValue| {
            let value = value.as_bytes().trim_ascii();
            value == b"*" || value.eq_ignore_ascii_case(self.origin.as_bytes())
        };
        match (allowed.next(), allowed.next()) {
            (Some(value), None) if is_own(value) => {}
            (None, _) => return refused("without WebHook-Allowed-Origin"),
            _ => return refused("with a WebHook-Allowed-Origin for others"),
        }
        match rate(headers) {
            Some(rate) => Ok(HandshakeResult::Granted { rate }),
            None => {
                refused("with a WebHook-Allowed-Rate that is neither * nor a number above zero")
            }
        }
    }
}

/// The failure of a handshake without an answer.
pub(crate) fn unanswered(failure: SendFailure) -> (HandshakeResult, SendFailure) {
    let failure = match failure.failure {
        // The node's own trouble is not the endpoint's.
        AttemptFailure::Local | AttemptFailure::Stopped => failure,
        _ => SendFailure { hint: failure.hint, ..refusal(failure.detail) },
    };
    (HandshakeResult::Refused { status: None }, failure)
}

/// The failure of an attempt without consent.
pub(crate) fn refusal(why: impl AsRef<str>) -> SendFailure {
    let why = format!("no consent of the endpoint: {}", why.as_ref());
    SendFailure::new(AttemptFailure::Handshake, why)
}

/// `WebHook-Allowed-Rate`: requests a minute, `*` for any number; `None` if it is neither (section 4.2.2). Left out, the
/// number is not bounded.
fn rate(headers: &HeaderMap) -> Option<Option<NonZeroU32>> {
    let mut values = headers.get_all(ALLOWED_RATE).iter();
    let text = match (values.next(), values.next()) {
        (None, _) => return Some(None),
        (Some(value), None) => value.to_str().ok()?.trim(),
        _ => return None,
    };
    if text == "*" {
        return Some(None);
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // More than a node sends is no bound that it could reach.
    let rate = digits.then(|| text.parse().unwrap_or(u32::MAX))?;
    NonZeroU32::new(rate).map(Some)
}

#[cfg(test)]
mod tests {
    use stagger::Instant;

    use super::*;

    fn client() -> HandshakeClient {
        let application = "app_0190163d8694739b84f6b0d3ccc3a5a1".parse().unwrap();
        let id = "ep_0190163d8694739b84f6b0d3ccc3a5a2".parse().unwrap();
        let endpoint = Endpoint::new(id, application, "https://a.test", Instant::ORIGIN);
        let origin: Arc<str> = "hooks.example".into();
        assert!(HandshakeClient::new(&endpoint, Some(&origin)).unwrap().is_none());
        let wanting = Endpoint { handshake: true, ..endpoint };
        assert!(HandshakeClient::new(&wanting, None).is_err());
        HandshakeClient::new(&wanting, Some(&origin)).unwrap().unwrap()
    }

    fn answer(status: u16, lines: &[(&'static str, &str)]) -> Option<HandshakeResult> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        client().read(StatusCode::from_u16(status).unwrap(), &headers).ok()
    }

    #[test]
    fn consent_names_the_origin_or_all_of_them() {
        let granted = |rate| Some(HandshakeResult::Granted { rate: NonZeroU32::new(rate) });
        let origin = "webhook-allowed-origin";
        for value in ["hooks.example", "Hooks.Example", "*"] {
            assert_eq!(answer(200, &[(origin, value)]), granted(0), "{value}");
        }
        for value in ["", "example", "other.example", "hooks.example, other.example"] {
            assert_eq!(answer(200, &[(origin, value)]), None, "{value}");
        }
        assert_eq!(answer(204, &[]), None);
        assert_eq!(answer(200, &[(origin, "*"), (origin, "*")]), None);
        for status in [301, 400, 405, 500] {
            assert_eq!(answer(status, &[(origin, "*")]), None);
        }
        let rate = |value| answer(200, &[(origin, "*"), ("webhook-allowed-rate", value)]);
        assert_eq!(rate("*"), granted(0));
        assert_eq!(rate("120"), granted(120));
        assert_eq!(rate("99999999999"), granted(u32::MAX));
        for value in ["0", "-1", "1.5", "", "many"] {
            assert_eq!(rate(value), None, "{value}");
        }
    }

    #[tokio::test]
    async fn an_endpoint_that_has_consented_is_not_asked_again() {
        let client = client();
        let refused = || async { client.read(StatusCode::OK, &HeaderMap::new()) };
        assert!(client.consent(refused).await.is_err());
        let granted = HandshakeResult::Granted { rate: None };
        assert_eq!(client.consent(|| async { Ok(granted) }).await.ok(), Some(granted));
        assert_eq!(client.consent(refused).await.ok(), Some(granted));
    }
}
