//! An endpoint made ready to be sent to.

use http::header::{HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use stagger::Span;
use url::Url;

use super::send_failure::SendFailure;
use crate::Error;
use crate::egress::{Address, Ports};
use crate::model::{AttemptFailure, Endpoint, HeaderTemplate};
use crate::sign::Signer;

/// An endpoint made ready to be sent to: its URL, headers and keys are read once, for all attempts
/// until its settings change. Made by [`Sender::prepare`](super::Sender::prepare).
#[derive(Debug)]
pub struct Target {
    pub(super) timeout: Span,
    origin: Option<String>,
    pub(super) ready: Result<Ready, SendFailure>,
}

/// The prepared endpoint of an attempt.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) address: Address,
    /// Headers that are the same on every attempt.
    pub(super) fixed: HeaderMap,
    /// Headers that are filled in.
    pub(super) templates: Vec<(HeaderName, HeaderTemplate)>,
    pub(super) signer: Signer,
}

/// The `User-Agent`.
const AGENT: &str = concat!("stagger/", env!("CARGO_PKG_VERSION"));

impl Target {
    /// Prepares an endpoint. An invalid setting is reported by each attempt.
    pub(super) fn new(endpoint: &Endpoint, ports: &Ports) -> Self {
        let unbuildable =
            |error: Error| SendFailure::new(AttemptFailure::Unbuildable, error.to_string());
        let ready = Ready::new(endpoint, ports).map_err(unbuildable);
        let origin = Url::parse(&endpoint.url).ok().map(|url| url.origin().ascii_serialization());
        Self { timeout: endpoint.timeout, origin, ready }
    }

    /// The destination: scheme, host and port, the port left out where it is the usual one.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }
}

impl Ready {
    /// A literal address is judged when it is dialled, like any other.
    fn new(endpoint: &Endpoint, ports: &Ports) -> Result<Self, Error> {
        let address = Address::read(&endpoint.url, ports)?;
        let signer = Signer::new(&endpoint.secrets)?;
        let mut fixed = HeaderMap::new();
        fixed.insert(HOST, address.host_header.clone());
        fixed.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let mut templates = Vec::new();
        for header in &endpoint.headers {
            let name = header.parse_name()?;
            match header.fixed()? {
                Some(value) => _ = fixed.insert(name, value),
                None => templates.push((name, header.clone())),
            }
        }
        Ok(Self { address, fixed, templates, signer })
    }
}
