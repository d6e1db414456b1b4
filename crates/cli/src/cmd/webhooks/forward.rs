//! The server on this machine that gets the deliveries of `stagger listen`.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, RETRY_AFTER, TRANSFER_ENCODING,
};
use reqwest::{Method, Url};
use serde_json::json;
use stagger::{Clock, Instant, Span, StdTime, TokioTime};
use stagger_dispatch::sender::{Received, TOLERANCE, Verifier};

use super::api::{Failure, wrong};
use crate::flags::WebhooksFormat;

/// The event type, as the temporary endpoint has it sent along: the standard headers do not name it.
pub(super) const EVENT_TYPE: &str = "x-stagger-event-type";
/// The time that the server may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The bytes of the server's answer that go back.
const ANSWER: usize = 64 << 10;

/// The server.
#[derive(Clone, Debug)]
pub(super) struct LocalServer {
    client: reqwest::Client,
    url: Url,
}

/// Its answer.
#[derive(Debug)]
pub(super) struct LocalAnswer {
    pub(super) status: u16,
    pub(super) retry_after: Option<HeaderValue>,
    pub(super) body: Bytes,
    /// Why there is none, if so.
    failure: Option<String>,
    took: Span,
}

impl LocalServer {
    /// The server at a port of this machine, or at a URL.
    pub(super) fn new(target: &str) -> Result<Self, Failure> {
        let bound = "a port, or an http or https address";
        let url = match target.parse::<u16>() {
            Ok(port) => format!("http://127.0.0.1:{port}/"),
            Err(_) => target.to_owned(),
        };
        let url = Url::parse(&url).map_err(|_| wrong("PORT|URL", target, bound))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("PORT|URL", target, bound));
        }
        let client = stagger::reqwest::client_builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .tls_backend_preconfigured(
                super::super::http::tls(None, true)
                    .map_err(|error| Failure::Refused(error.into_message()))?,
            )
            .build()
            .map_err(|error| Failure::Refused(format!("no client: {error}")))?;
        Ok(Self { client, url })
    }

    /// Its address, for people.
    pub(super) fn place(&self) -> &str {
        self.url.as_str()
    }

    /// Sends a delivery as it came, but for the headers of its connection.
    pub(super) async fn send(&self, headers: &HeaderMap, body: Bytes) -> LocalAnswer {
        let mut headers = headers.clone();
        for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        headers.remove(EVENT_TYPE);
        let began = TokioTime.now();
        let request = self.client.request(Method::POST, self.url.clone()).headers(headers);
        let answer = async {
            let mut reply = request.body(body).send().await?;
            let retry_after = reply.headers().get(RETRY_AFTER).cloned();
            let (status, mut body) = (reply.status().as_u16(), Vec::new());
            while let Some(part) = reply.chunk().await? {
                let room = ANSWER - body.len();
                body.extend_from_slice(&part[..part.len().min(room)]);
                if part.len() >= room {
                    break;
                }
            }
            Ok::<_, reqwest::Error>((status, retry_after, body))
        };
        let answer = answer.await;
        let took = TokioTime.now().since(began);
        match answer {
            Ok((status, retry_after, body)) => {
                LocalAnswer { status, retry_after, body: body.into(), failure: None, took }
            }
            Err(error) => {
                let why = format!("no server answers at {}: {}", self.place(), root_cause(&error));
                let body = Bytes::from(format!("stagger listen: {why}"));
                LocalAnswer { status: 502, retry_after: None, body, failure: Some(why), took }
            }
        }
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// A delivery as it is told.
#[derive(Debug)]
pub(super) struct ForwardedDelivery {
    pub(super) id: String,
    event_type: String,
    pub(super) attempt: String,
    is_verified: bool,
    answer: LocalAnswer,
}

impl ForwardedDelivery {
    /// A delivery with these headers and this body, and the server's answer to it.
    pub(super) fn new(
        verifier: &Verifier,
        headers: &HeaderMap,
        body: &[u8],
        answer: LocalAnswer,
    ) -> Self {
        let header = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (id, timestamp) = (header("webhook-id"), header("webhook-timestamp"));
        let signature = header("webhook-signature");
        let received = Received { id: &id, timestamp: &timestamp, signature: &signature, body };
        let is_verified = verifier.verify(&received, now(), TOLERANCE).is_ok();
        let (event_type, attempt) = (header(EVENT_TYPE), header("stagger-attempt"));
        Self { id, event_type, attempt, is_verified, answer }
    }

    /// The line for it.
    pub(super) fn line(&self, format: WebhooksFormat) -> String {
        let Self { id, event_type, attempt, is_verified, answer } = self;
        let millis = answer.took.as_nanos() / Span::from_millis(1).as_nanos();
        if format == WebhooksFormat::Json {
            let status = answer.failure.is_none().then_some(answer.status);
            let line = json!({
                "method": "POST", "type": event_type, "id": id, "attempt": attempt.parse::<u32>().ok(),
                "verified": is_verified, "status": status, "failure": answer.failure, "took_ms": millis,
            });
            return format!("{line}\n");
        }
        let verified = if *is_verified { "verified" } else { "NOT VERIFIED" };
        let answered = match &answer.failure {
            None => format!("{} in {millis} ms", answer.status),
            Some(why) => format!("502, because {why}"),
        };
        format!("POST {event_type} {id} attempt {attempt}, {verified}: {answered}\n")
    }
}

/// The time since the epoch.
pub(super) fn now() -> Instant {
    let since = StdTime::wall().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant::ORIGIN + Span::from_secs(since.as_secs())
}
