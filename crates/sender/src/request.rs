//! An endpoint made ready to be sent to, and the request of one attempt.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use stagger::{ConfigError, Span, StdTime};
use stagger_scheduler::model::{
    ApplicationId, AttemptFailure, Endpoint, EventFormat, HeaderTemplate, Message, SignatureScheme,
    TraceContext,
};
use url::{Position, Url};

use crate::address::Address;
use crate::cloud_event;
use crate::content_digest::{CONTENT_DIGEST, content_digest};
use crate::credentials::{CredentialRules, Credentials};
use crate::destination::Publisher;
use crate::handshake::{HandshakeClient, refusal};
use crate::header;
use crate::message_signature::MessageSignatures;
use crate::send_failure::SendFailure;
use crate::signature_base::SignedRequest;
use crate::signer::Signer;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const MESSAGE_SIGNATURE: HeaderName = HeaderName::from_static("signature");
const ATTEMPT: HeaderName = HeaderName::from_static("stagger-attempt");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// The components that HTTP Message Signatures cover, besides the attributes of an event.
const COVERED: [&str; 6] =
    ["@method", "@target-uri", "content-digest", "content-type", "webhook-id", "webhook-timestamp"];

/// The request of an attempt without its signature, which is made when it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Post<'a> {
    to: &'a Ready,
    payload: Bytes,
    id: String,
    headers: HeaderMap,
}

impl<'a> Post<'a> {
    /// Fills in the headers.
    ///
    /// # Errors
    /// A value that cannot be sent.
    pub(crate) fn new(
        to: &'a Ready,
        message: &Message,
        payload: Bytes,
        (number, trace): (u32, Option<&TraceContext>),
    ) -> Result<Self, SendFailure> {
        let id = message.id.to_string();
        let mut headers = to.fixed.clone();
        for (name, template) in &to.templates {
            let value = header::fill(template, message, number);
            let unbuildable =
                |e: ConfigError| SendFailure::new(AttemptFailure::Unbuildable, e.to_string());
            headers.insert(name.clone(), value.map_err(unbuildable)?);
        }
        headers.insert(CONTENT_TYPE, value(message.content_type.clone())?);
        let payload = to.formatted(message, payload, &mut headers)?;
        if to.signatures.has_message_signatures() {
            headers.insert(CONTENT_DIGEST, value(content_digest(&payload))?);
        }
        headers.insert(ID, value(id.clone())?);
        headers.insert(ATTEMPT, number.into());
        if let Some(trace) = trace {
            headers.insert(TRACE_PARENT, value(trace.traceparent())?);
            let state = trace.tracestate().map(str::to_owned).map(value).transpose()?;
            // One of the endpoint's own headers belongs to another trace.
            headers.remove(TRACE_STATE);
            headers.extend(state.map(|state| (TRACE_STATE, state)));
        }
        Ok(Self { to, payload, id, headers })
    }

    /// The request, signed now: making a connection may take time, and receivers refuse old
    /// signatures. `authorization` is that of an access token.
    ///
    /// # Errors
    /// No secret signs any more.
    pub(crate) fn sign(
        &self,
        authorization: Option<&HeaderValue>,
    ) -> Result<Request<Full<Bytes>>, SendFailure> {
        // Before 1970 no receiver would accept it anyway.
        let timestamp = StdTime::wall().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut headers = self.headers.clone();
        headers.extend(authorization.cloned().map(|value| (AUTHORIZATION, value)));
        headers.insert(TIMESTAMP, timestamp.into());
        self.to.sign(&self.id, timestamp, &self.payload, &mut headers)?;
        let mut request = Request::new(Full::new(self.payload.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.to.address.target.clone();
        *request.headers_mut() = headers;
        Ok(request)
    }
}

fn value(text: String) -> Result<HeaderValue, SendFailure> {
    HeaderValue::from_maybe_shared(Bytes::from(text)).map_err(|_| {
        SendFailure::new(AttemptFailure::Unbuildable, "a header value with control characters")
    })
}

/// An endpoint made ready to be sent to: its URL, headers and keys are read once, for all attempts
/// until its settings change. Made by [`Sender::prepare`](crate::Sender::prepare).
#[derive(Debug)]
pub struct Target {
    pub(crate) timeout: Span,
    origin: Option<String>,
    place: Option<TargetPlace>,
    pub(crate) ready: Result<Ready, SendFailure>,
    /// The broker that gets the messages instead of a receiver of HTTP requests.
    pub(crate) broker: Option<Result<Publisher, SendFailure>>,
}

/// The prepared endpoint of an attempt.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The owner, for its share of what all attempts use.
    pub(crate) application: ApplicationId,
    pub(crate) address: Address,
    /// Headers that are the same on every attempt.
    pub(crate) fixed: HeaderMap,
    /// Headers that are filled in.
    pub(crate) templates: Vec<(HeaderName, HeaderTemplate)>,
    pub(crate) signer: Signer,
    signatures: SignatureScheme,
    format: EventFormat,
    /// The whole URL, which signatures cover.
    url: Url,
    /// The handshake before the first attempt, if it wants one.
    pub(crate) handshake: Option<Result<HandshakeClient, SendFailure>>,
    pub(crate) credentials: Credentials,
    /// The key by which its connections are shared.
    pub(crate) pool_key: Arc<str>,
}

impl Target {
    /// Prepares an endpoint. An invalid setting is reported by each attempt.
    pub(crate) fn new(
        endpoint: &Endpoint,
        rules: CredentialRules<'_>,
        origin: Option<&Arc<str>>,
    ) -> Self {
        let unbuildable =
            |error: ConfigError| SendFailure::new(AttemptFailure::Unbuildable, error.to_string());
        let ready = Ready::new(endpoint, rules, origin).map_err(unbuildable);
        let url = Url::parse(&endpoint.url).ok();
        let origin = url.as_ref().map(origin_of);
        let place = url.and_then(TargetPlace::of);
        Self { timeout: endpoint.timeout, origin, place, ready, broker: None }
    }

    /// Prepares an endpoint whose messages a broker gets.
    pub(crate) fn of_broker(
        endpoint: &Endpoint,
        publisher: Result<Publisher, ConfigError>,
    ) -> Self {
        let unbuildable =
            |error: ConfigError| SendFailure::new(AttemptFailure::Unbuildable, error.to_string());
        let url = Url::parse(&endpoint.url).ok();
        let origin = url.as_ref().map(origin_of);
        let place = url.and_then(TargetPlace::of);
        let none = SendFailure::new(AttemptFailure::Unbuildable, "a broker gets no requests");
        let broker = Some(publisher.map_err(unbuildable));
        Self { timeout: endpoint.timeout, origin, place, ready: Err(none), broker }
    }

    /// The destination: scheme, host and port, the port left out where it is the usual one.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// The destination as traces name it; `None` if the URL cannot be read.
    #[must_use]
    pub const fn place(&self) -> Option<&TargetPlace> {
        self.place.as_ref()
    }
}

/// A destination in the words of OpenTelemetry's conventions for HTTP clients.
///
/// ```
/// use stagger::Instant;
/// use stagger_scheduler::model::{Endpoint, EndpointId, ApplicationId};
/// use stagger_sender::{SendOptions, Sender};
/// let id: EndpointId = "ep_0190163d8694739b84f6b0d3ccc3a5a1".parse()?;
/// let application: ApplicationId = "app_0190163d8694739b84f6b0d3ccc3a5a2".parse()?;
/// let endpoint = Endpoint::new(id, application, "https://a.test/hook?token=x", Instant::ORIGIN);
/// let target = Sender::new(SendOptions::default())?.prepare(&endpoint);
/// let place = target.place().expect("the URL can be read");
/// assert_eq!((place.host.as_str(), place.port), ("a.test", 443));
/// assert_eq!(place.url, "https://a.test/hook?token=REDACTED");
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPlace {
    /// `url.full`: without user and password, and with `REDACTED` for each value of the query, which may be a secret.
    pub url: String,
    /// `server.address`.
    pub host: String,
    /// `server.port`.
    pub port: u16,
}

/// Scheme, host and port. For a scheme that browsers do not know there is no origin, but there is a broker.
fn origin_of(url: &Url) -> String {
    if url.origin().is_tuple() {
        return url.origin().ascii_serialization();
    }
    url[..Position::AfterPort].to_owned()
}

impl TargetPlace {
    fn of(mut url: Url) -> Option<Self> {
        let (host, port) =
            (url.host_str()?.to_owned(), url.port_or_known_default().unwrap_or_default());
        // An address that can have neither has none to hide.
        _ = url.set_username("");
        _ = url.set_password(None);
        url.set_fragment(None);
        if let Some(query) = url.query() {
            let hidden = |pair: &str| match pair.split_once('=') {
                Some((name, _)) => format!("{name}=REDACTED"),
                None => "REDACTED".to_owned(),
            };
            let hidden = query.split('&').map(hidden).collect::<Vec<_>>().join("&");
            url.set_query(Some(&hidden));
        }
        Some(Self { url: url.into(), host, port })
    }
}

impl Ready {
    /// A literal address is judged when it is dialled, like any other.
    fn new(
        endpoint: &Endpoint,
        rules: CredentialRules<'_>,
        origin: Option<&Arc<str>>,
    ) -> Result<Self, ConfigError> {
        let address = Address::read(&endpoint.url, rules.ports)?;
        let signer = Signer::new(&endpoint.secrets)?;
        let mut fixed = HeaderMap::new();
        fixed.insert(HOST, address.host_header.clone());
        fixed.insert(USER_AGENT, HeaderValue::from_static(header::AGENT));
        let mut templates = Vec::new();
        for template in &endpoint.headers {
            let name = header::name(template)?;
            match header::fixed(template)? {
                Some(value) => _ = fixed.insert(name, value),
                None => templates.push((name, template.clone())),
            }
        }
        let credentials = Credentials::new(endpoint, rules)?;
        if let Credentials::Fixed(value) = &credentials {
            fixed.insert(AUTHORIZATION, value.clone());
        }
        let pool_key = credentials.pool_key(endpoint, &address.origin);
        let wrong = |_| ConfigError::new("endpoint.url", "(not shown)", "a URL");
        Ok(Self {
            application: endpoint.application,
            address,
            fixed,
            templates,
            signer,
            signatures: endpoint.signatures,
            format: endpoint.format,
            url: Url::parse(&endpoint.url).map_err(wrong)?,
            handshake: HandshakeClient::new(endpoint, origin)
                .map_err(|nameless| refusal(nameless.to_string()))
                .transpose(),
            credentials,
            pool_key,
        })
    }

    /// The body of a message in the endpoint's format, whose headers are added.
    fn formatted(
        &self,
        message: &Message,
        payload: Bytes,
        headers: &mut HeaderMap,
    ) -> Result<Bytes, SendFailure> {
        match self.format {
            EventFormat::Plain => Ok(payload),
            EventFormat::CloudEventsBinary => {
                let unsendable = || {
                    let why = "an attribute that cannot be sent";
                    SendFailure::new(AttemptFailure::Unbuildable, why)
                };
                for (name, value) in cloud_event::headers(message).ok_or_else(unsendable)? {
                    headers.insert(name, value);
                }
                Ok(payload)
            }
            EventFormat::CloudEventsStructured => {
                let event = cloud_event::structured(message, &payload);
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(event.content_type));
                Ok(event.body)
            }
        }
    }

    /// Adds the signatures of a request to its other headers.
    fn sign(
        &self,
        id: &str,
        timestamp: u64,
        body: &[u8],
        headers: &mut HeaderMap,
    ) -> Result<(), SendFailure> {
        let none = || SendFailure::new(AttemptFailure::Unbuildable, "no secret signs any more");
        if self.signatures.has_standard() {
            let signature = self.signer.sign(id, timestamp, body);
            if signature.is_empty() {
                return Err(none());
            }
            headers.insert(SIGNATURE, value(signature)?);
        }
        if self.signatures.has_message_signatures() {
            let request =
                SignedRequest { method: Method::POST.as_str(), target_uri: &self.url, headers };
            let covered = covered(headers);
            let signed = self.signer.sign_request(&request, &covered, timestamp);
            let MessageSignatures { input, signature } = signed.ok_or_else(none)?;
            headers.insert(SIGNATURE_INPUT, value(input)?);
            headers.insert(MESSAGE_SIGNATURE, value(signature)?);
        }
        Ok(())
    }
}

/// The components that signatures cover: what makes a webhook, and all attributes of an event.
fn covered(headers: &HeaderMap) -> Vec<&str> {
    let is_attribute = |name: &&str| name.starts_with(cloud_event::PREFIX);
    let mut attributes: Vec<_> =
        headers.keys().map(HeaderName::as_str).filter(is_attribute).collect();
    attributes.sort_unstable();
    COVERED.into_iter().chain(attributes).collect()
}
