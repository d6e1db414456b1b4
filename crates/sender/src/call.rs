//! Calls of a broker's HTTP interface: one request, over pooled connections, and the whole of a short reply.

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use stagger::{ConfigError, Hint};
use stagger_scheduler::model::{ApplicationId, AttemptFailure, Endpoint, EndpointAuth};

use crate::address::Address;
use crate::connection::{Connection, Lost};
use crate::credentials::Credentials;
use crate::dial::ConnectPhase;
use crate::header::AGENT;
use crate::network::GuardedNetwork;
use crate::reply::hint;
use crate::send_failure::SendFailure;
use crate::token_fetch::fetch_token;
use crate::written::Written;

/// The address of a broker's HTTP interface, and the credentials of HTTP that it gets, if any.
#[derive(Debug)]
pub struct HttpAddress {
    address: Address,
    credentials: Credentials,
}

/// A request to a broker.
#[derive(Clone, Debug)]
pub struct HttpCall {
    /// Its headers besides `host`, `user-agent` and `authorization` of the credentials.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// The longest reply that is read, in bytes.
    pub max_reply: usize,
}

/// The reply of a broker.
#[derive(Clone, Debug)]
pub struct HttpReply {
    /// Its status.
    pub status: StatusCode,
    /// Its whole body; `None` if it is longer than the call allows, or breaks off.
    pub body: Option<Bytes>,
    /// The time for which the broker asks not to be called.
    pub hint: Option<Hint>,
}

impl HttpAddress {
    /// The value of the header `Host`.
    #[must_use]
    pub const fn host(&self) -> &HeaderValue {
        &self.address.host_header
    }

    /// The same server, at the path `/`.
    #[must_use]
    pub fn at_root(mut self) -> Self {
        self.address.target = http::Uri::from_static("/");
        self
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &str {
        self.address.target.path()
    }
}

impl GuardedNetwork {
    /// Reads the address of a broker's HTTP interface from the endpoint's `url`, and its credentials if they are those of
    /// HTTP.
    ///
    /// # Errors
    /// `endpoint.url` or `auth` with the bound it breaks.
    pub fn http_address(&self, endpoint: &Endpoint) -> Result<HttpAddress, ConfigError> {
        let address = Address::read(&endpoint.url, &self.ports)?;
        let credentials = match &endpoint.auth {
            Some(EndpointAuth::Aws(_)) => Credentials::None,
            _ => Credentials::new(endpoint, self.credential_rules())?,
        };
        Ok(HttpAddress { address, credentials })
    }

    /// Checks the address of a broker's HTTP interface before it is saved. Names are resolved at each call.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    pub fn check_http(&self, url: &str) -> Result<(), ConfigError> {
        Address::parse(url, self.dialer.guard, &self.ports).map(|_| ())
    }

    /// Calls a broker with `POST`. A token that it refuses is replaced once, unless it was just fetched.
    ///
    /// # Errors
    /// There is no reply, or no token.
    pub async fn call(
        &self,
        to: &HttpAddress,
        of: ApplicationId,
        call: &HttpCall,
        written: &Written,
    ) -> Result<HttpReply, SendFailure> {
        let client = match &to.credentials {
            Credentials::Token(client) => client,
            Credentials::Fixed(value) => {
                return self.exchange_call(to, of, (call, Some(value)), written).await;
            }
            Credentials::None | Credentials::Certificate(_) => {
                return self.exchange_call(to, of, (call, None), written).await;
            }
        };
        let fetch = || fetch_token(&self.dialer, client, of);
        let token = client.cache.get(fetch).await?;
        let reply = self.exchange_call(to, of, (call, Some(&token.authorization)), written).await?;
        if reply.status != StatusCode::UNAUTHORIZED {
            return Ok(reply);
        }
        client.cache.reject(&token).await;
        if token.is_fresh {
            return Ok(reply);
        }
        let token = client.cache.get(fetch).await?;
        self.exchange_call(to, of, (call, Some(&token.authorization)), written).await
    }

    async fn exchange_call(
        &self,
        to: &HttpAddress,
        of: ApplicationId,
        (call, authorization): (&HttpCall, Option<&HeaderValue>),
        written: &Written,
    ) -> Result<HttpReply, SendFailure> {
        let origin = &to.address.origin;
        let shares = !matches!(to.credentials, Credentials::Certificate(_));
        let idle = if shares { self.pool.take(origin).await } else { None };
        if let Some(connection) = idle {
            written.begin()?;
            match self.exchange_over(connection, to, (call, authorization)).await {
                // The idle connection was closed, and the broker has not seen the request.
                Err(Lost::Unsent) => written.set(false),
                Err(Lost::Midway(error)) => return Err(midway(error)),
                Ok(reply) => return Ok(reply),
            }
        }
        let tls = match &to.credentials {
            Credentials::Certificate(certificate) => &certificate.connector,
            _ => self.dialer.roots.plain(),
        };
        let mut phase = ConnectPhase::Reply;
        let connection = self.dialer.dial((&to.address, of), tls, &mut phase).await?;
        written.begin()?;
        let reply = self.exchange_over(connection, to, (call, authorization)).await;
        reply.map_err(|lost| match lost {
            Lost::Unsent => {
                written.set(false);
                SendFailure::new(AttemptFailure::Transport, "the connection was closed")
            }
            Lost::Midway(error) => midway(error),
        })
    }

    async fn exchange_over(
        &self,
        mut connection: Connection,
        to: &HttpAddress,
        (call, authorization): (&HttpCall, Option<&HeaderValue>),
    ) -> Result<HttpReply, Lost> {
        let mut request = Request::new(Full::new(call.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = to.address.target.clone();
        let headers = request.headers_mut();
        headers.extend(call.headers.clone());
        headers.insert(HOST, to.address.host_header.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.extend(authorization.map(|value| (AUTHORIZATION, value.clone())));
        let (head, body) = connection.exchange(request).await?.into_parts();
        let body = connection.read_whole(body, call.max_reply).await;
        let shares = !matches!(to.credentials, Credentials::Certificate(_));
        if body.is_some() && shares {
            self.pool.put(&to.address.origin, connection).await;
        }
        Ok(HttpReply { status: head.status, body, hint: hint(head.status, &head.headers) })
    }
}

/// A request that broke off after its first byte was written.
pub(crate) fn midway(error: Option<hyper::Error>) -> SendFailure {
    match error {
        Some(error) => SendFailure::by(AttemptFailure::Transport, &error),
        None => SendFailure::new(AttemptFailure::Transport, "the connection was closed"),
    }
}
