//! Makes attempts.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::Full;
use stagger::{Clock, ConfigError, Entropy, Instant, OsEntropy, Span, TokioTime};
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, Endpoint, EndpointDestination, HandshakeResult, Message,
    TraceContext,
};

use crate::address::{Address, Ports};
use crate::call::midway;
use crate::connection::{Connection, Lost, within};
use crate::credentials::{CertificateCredentials, Credentials, TokenClient};
use crate::destination::{Destinations, Publisher};
use crate::dial::{ConnectPhase, Dialer, SendOptions};
use crate::guard::EgressGuard;
use crate::handshake;
use crate::handshake::{HANDSHAKE_TIME, HandshakeAnswer, HandshakeClient};
use crate::header::{MAX_HEADERS, check_header};
use crate::network::GuardedNetwork;
use crate::reply::{hint, not_followed};
use crate::request::{Post, Ready, Target};
use crate::resolver::{LookupTurns, Resolve, SystemResolver};
use crate::send_failure::{SendFailure, bounded};
use crate::signer::Signer;
use crate::tls::TlsRoots;
use crate::token_cache::AccessToken;
use crate::token_fetch::fetch_token;
use crate::written::Written;

/// Makes attempts over pooled connections, through the egress guard. Clones share the pool.
///
/// All endpoints of one scheme, host and port share connections. For each new connection the name
/// is resolved, and all its answers are checked; an attempt over an idle connection goes to the
/// address that was checked then.
///
/// What few attempts need (a new connection, a token, a handshake) is a future in a box: the future of every attempt has
/// room for all its parts, and thousands of attempts wait at one time.
#[derive(Clone)]
pub struct Sender {
    network: GuardedNetwork,
    destinations: Option<Arc<dyn Destinations>>,
    /// Its name in handshakes.
    origin: Option<Arc<str>>,
}

/// The head of a reply, and the connection it came over.
struct OpenReply {
    response: http::Response<hyper::body::Incoming>,
    connection: Connection,
    /// Notes on it for people, besides its head.
    note: Option<String>,
}

impl Sender {
    /// A sender with an empty pool.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub fn new(options: SendOptions) -> Result<Self, ConfigError> {
        let resolver = SystemResolver::new(options.name_servers.clone());
        Self::with_resolver(options, Arc::new(resolver))
    }

    /// The same with another resolver than the system's.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub fn with_resolver(
        options: SendOptions,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, ConfigError> {
        let (guard, turns) = (EgressGuard::new(options.allow_private), LookupTurns::default());
        let roots = TlsRoots::new(&options.roots)?;
        let proxy = options.proxy.map(Arc::new);
        let dialer = Dialer { guard, resolver, turns, roots, proxy };
        let ports = Arc::new(Ports::new(&options.ports, options.allow_private));
        let origin = options.origin.map(Arc::from);
        let network = GuardedNetwork { dialer, ports, pool: Arc::default() };
        Ok(Self { network, destinations: None, origin })
    }

    /// The same with the brokers that endpoints may have as their destinations.
    #[must_use]
    pub fn with_destinations(self, destinations: Arc<dyn Destinations>) -> Self {
        Self { destinations: Some(destinations), ..self }
    }

    /// Checks an endpoint's address before it is saved: scheme, host, port, no user info, and a literal
    /// address that the egress guard would refuse. Names are resolved at each attempt.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    pub fn check_url(&self, url: &str) -> Result<(), ConfigError> {
        Address::parse(url, self.network.dialer.guard, &self.network.ports).map(|_| ())
    }

    /// Checks all of an endpoint that an attempt depends on, before it is saved: URL, headers and how
    /// many there are, secrets.
    ///
    /// # Errors
    /// `endpoint.url`, `endpoint.headers` or `endpoint.secrets` with the bound it breaks.
    pub fn check(&self, endpoint: &Endpoint) -> Result<(), ConfigError> {
        if endpoint.destination.is_none() {
            self.check_url(&endpoint.url)?;
        }
        if endpoint.headers.len() > MAX_HEADERS {
            return Err(ConfigError::new("endpoint.headers", endpoint.headers.len(), "32 at most"));
        }
        endpoint.headers.iter().try_for_each(check_header)?;
        self.check_auth(endpoint)?;
        self.check_handshake(endpoint)?;
        Signer::new(&endpoint.secrets).map(|_| ())
    }

    /// Checks the credentials of an endpoint before they are saved: that they can be sent, that a certificate has its key,
    /// and the address of an authorization server like that of the endpoint. Names are resolved at each fetch.
    ///
    /// # Errors
    /// `auth`, or a part of it such as `auth.token_url`, with the bound it breaks; no secret is repeated.
    pub fn check_auth(&self, endpoint: &Endpoint) -> Result<(), ConfigError> {
        match &endpoint.destination {
            None => _ = Credentials::new(endpoint, self.network.credential_rules())?,
            Some(destination) => {
                let publisher = self.publisher(endpoint, destination)?;
                publisher.destination.check(&self.network)?;
            }
        }
        Credentials::check_server(endpoint, self.network.dialer.guard, &self.network.ports)
    }

    /// Checks before it is saved that an endpoint which wants a handshake can be asked: that this sender has a name.
    ///
    /// # Errors
    /// `handshake`, if it has none.
    pub fn check_handshake(&self, endpoint: &Endpoint) -> Result<(), ConfigError> {
        HandshakeClient::new(endpoint, self.origin.as_ref()).map(|_| ())
    }

    /// Reads an endpoint's settings once for many attempts; make it again when they change.
    #[must_use]
    pub fn prepare(&self, endpoint: &Endpoint) -> Target {
        match &endpoint.destination {
            None => Target::new(endpoint, self.network.credential_rules(), self.origin.as_ref()),
            Some(destination) => Target::of_broker(endpoint, self.publisher(endpoint, destination)),
        }
    }

    fn publisher(
        &self,
        endpoint: &Endpoint,
        destination: &EndpointDestination,
    ) -> Result<Publisher, ConfigError> {
        let unknown = || {
            let bound = "left out: this program delivers to receivers of HTTP requests only";
            ConfigError::new("destination.type", destination.kind(), bound)
        };
        let destinations = self.destinations.as_ref().ok_or_else(unknown)?;
        Publisher::new(endpoint, destinations.prepare(&self.network, endpoint, destination)?)
    }

    /// The network as attempts use it, for the sources of a broker.
    #[must_use]
    pub const fn network(&self) -> &GuardedNetwork {
        &self.network
    }

    /// Makes one attempt: never longer than the endpoint's timeout, never an error; whatever happens
    /// is in the answer. Dropping the future ends the attempt.
    pub async fn send(
        &self,
        endpoint: &Endpoint,
        message: &Message,
        payload: Bytes,
        number: u32,
    ) -> AttemptAnswer {
        self.send_to(&self.prepare(endpoint), message, payload, number).await
    }

    /// The same for an endpoint that was prepared.
    pub async fn send_to(
        &self,
        target: &Target,
        message: &Message,
        payload: Bytes,
        number: u32,
    ) -> AttemptAnswer {
        self.send_noting(target, (message, payload), number, &Written::default()).await
    }

    /// The same; `written` still says whether the receiver may have seen the request when the future was
    /// dropped.
    pub async fn send_noting(
        &self,
        target: &Target,
        (message, payload): (&Message, Bytes),
        number: u32,
        written: &Written,
    ) -> AttemptAnswer {
        let trace = message.trace.as_ref().map(|trace| trace.child(new_span_id()));
        self.send_traced(target, (message, payload), (number, trace), written).await
    }

    /// The same under a span of the caller's own, whose context the receiver gets; without a context it gets none,
    /// whatever trace the message has. The other methods make a span id for each attempt of a message with a trace.
    pub async fn send_traced(
        &self,
        target: &Target,
        (message, payload): (&Message, Bytes),
        (number, trace): (u32, Option<TraceContext>),
        written: &Written,
    ) -> AttemptAnswer {
        let numbered = (number, trace.as_ref());
        let answer = self.attempt(target, (message, payload), numbered, written).await;
        AttemptAnswer { written: written.get(), ..answer }
    }

    async fn attempt(
        &self,
        target: &Target,
        (message, payload): (&Message, Bytes),
        numbered: (u32, Option<&TraceContext>),
        written: &Written,
    ) -> AttemptAnswer {
        if let Some(publisher) = &target.broker {
            return self
                .publish(target.timeout, publisher, (message, payload), numbered, written)
                .await;
        }
        let started = TokioTime.now();
        let ready = match &target.ready {
            Ok(ready) => ready,
            Err(send_failure) => return failed(send_failure.clone(), Span::ZERO),
        };
        let post = match Post::new(ready, message, payload, numbered) {
            Ok(post) => post,
            Err(send_failure) => return failed(send_failure, Span::ZERO),
        };
        let (mut phase, mut handshake) = (ConnectPhase::Reply, None);
        let reply = self.consented(ready, &post, (&mut phase, written), &mut handshake);
        let reply = within(target.timeout, pin!(reply)).await;
        let latency = TokioTime.now().since(started);
        let answer = match reply {
            Some(Ok(reply)) => self.finish(ready, reply, latency, started + target.timeout).await,
            Some(Err(send_failure)) => failed(send_failure, latency),
            None => failed(overdue(phase, target.timeout), latency),
        };
        AttemptAnswer { handshake, ..answer }
    }

    /// The head of a reply, after the endpoint's consent if it wants a handshake.
    async fn consented(
        &self,
        to: &Ready,
        post: &Post<'_>,
        (phase, written): (&mut ConnectPhase, &Written),
        handshake: &mut Option<HandshakeResult>,
    ) -> Result<OpenReply, SendFailure> {
        if let Some(client) = &to.handshake {
            let client = client.as_ref().map_err(SendFailure::clone)?;
            *phase = ConnectPhase::Handshake;
            let consent = Box::pin(client.consent(|| self.ask_consent(to, client))).await;
            *phase = ConnectPhase::Reply;
            *handshake = Some(*consent.as_ref().unwrap_or_else(|(result, _)| result));
            consent.map_err(|(_, failure)| failure)?;
        }
        self.reply(to, post, (phase, written)).await
    }

    /// Asks an endpoint for its consent, within a part of the attempt's time.
    async fn ask_consent(&self, to: &Ready, client: &HandshakeClient) -> HandshakeAnswer {
        let mut phase = ConnectPhase::Reply;
        let exchange = self.exchange(to, || client.request(&to.address), (&mut phase, None));
        let reply = within(HANDSHAKE_TIME, pin!(exchange)).await;
        let reply = reply.unwrap_or_else(|| Err(overdue(phase, HANDSHAKE_TIME)));
        let OpenReply { response, mut connection, .. } = reply.map_err(handshake::unanswered)?;
        let (head, body) = response.into_parts();
        let (_, ended) = connection.read(body, HANDSHAKE_TIME).await;
        if ended {
            self.network.pool.put(&to.pool_key, connection).await;
        }
        let answer = client.read(head.status, &head.headers);
        let hint = hint(head.status, &head.headers);
        answer.map_err(|(result, failure)| (result, SendFailure { hint, ..failure }))
    }

    /// One attempt at a broker.
    async fn publish(
        &self,
        timeout: Span,
        publisher: &Result<Publisher, SendFailure>,
        (message, payload): (&Message, Bytes),
        numbered: (u32, Option<&TraceContext>),
        written: &Written,
    ) -> AttemptAnswer {
        let publisher = match publisher {
            Ok(publisher) => publisher,
            Err(send_failure) => return failed(send_failure.clone(), Span::ZERO),
        };
        let started = TokioTime.now();
        let outgoing = publisher.outgoing((message, payload), numbered);
        let mut reply = publisher.destination.attempt(&self.network, &outgoing, written);
        let reply = within(timeout, reply.as_mut()).await;
        let latency = TokioTime.now().since(started);
        match reply {
            Some(Ok(reply)) => reply.into_answer(latency),
            Some(Err(send_failure)) => failed(send_failure, latency),
            None => failed(overdue(ConnectPhase::Broker, timeout), latency),
        }
    }

    /// The head of a reply.
    async fn reply(
        &self,
        to: &Ready,
        post: &Post<'_>,
        (phase, written): (&mut ConnectPhase, &Written),
    ) -> Result<OpenReply, SendFailure> {
        match &to.credentials {
            Credentials::Token(client) => {
                Box::pin(self.reply_with_token((to, client), post, (phase, written))).await
            }
            _ => self.exchange(to, || post.sign(None), (phase, Some(written))).await,
        }
    }

    /// The head of a reply. A token that the receiver refuses is replaced once, unless this attempt has just fetched it.
    async fn reply_with_token(
        &self,
        (to, client): (&Ready, &TokenClient),
        post: &Post<'_>,
        (phase, written): (&mut ConnectPhase, &Written),
    ) -> Result<OpenReply, SendFailure> {
        let token = self.token(to, client, phase).await?;
        let sign = |token: &AccessToken| post.sign(Some(&token.authorization));
        let mut reply = self.exchange(to, || sign(&token), (phase, Some(written))).await?;
        if reply.response.status() != StatusCode::UNAUTHORIZED {
            return Ok(reply);
        }
        client.cache.reject(&token).await;
        if token.is_fresh {
            return Ok(reply);
        }
        match self.token(to, client, phase).await {
            Ok(token) => self.exchange(to, || sign(&token), (phase, Some(written))).await,
            // The receiver has answered, and that is the result.
            Err(failure) => {
                reply.note = Some(failure.detail);
                Ok(reply)
            }
        }
    }

    /// An access token, within the attempt's own time.
    async fn token(
        &self,
        to: &Ready,
        client: &TokenClient,
        phase: &mut ConnectPhase,
    ) -> Result<AccessToken, SendFailure> {
        *phase = ConnectPhase::Token;
        let fetch = || fetch_token(&self.network.dialer, client, to.application);
        let token = client.cache.get(fetch).await;
        *phase = ConnectPhase::Reply;
        token
    }

    /// One exchange, over a connection that waited or a new one. The request is made when it can be written: its signature is
    /// to be fresh. One without `written` carries no message.
    async fn exchange(
        &self,
        to: &Ready,
        request: impl Fn() -> Result<http::Request<Full<Bytes>>, SendFailure>,
        (phase, written): (&mut ConnectPhase, Option<&Written>),
    ) -> Result<OpenReply, SendFailure> {
        let begin = || written.map_or(Ok(()), Written::begin);
        let unsent = || written.into_iter().for_each(|written| written.set(false));
        if let Some(mut connection) = self.network.pool.take(&to.pool_key).await {
            let request = request()?;
            begin()?;
            match connection.exchange(request).await {
                Ok(response) => return Ok(OpenReply { response, connection, note: None }),
                // The idle connection was closed, and the server has not seen the request: this
                // attempt has not been made yet.
                Err(Lost::Unsent) => unsent(),
                Err(Lost::Midway(error)) => return Err(midway(error)),
            }
        }
        let tls = match &to.credentials {
            Credentials::Certificate(CertificateCredentials { connector, .. }) => connector,
            _ => self.network.dialer.roots.plain(),
        };
        let dial = self.network.dialer.dial((&to.address, to.application), tls, phase);
        let mut connection = Box::pin(dial).await?;
        let request = request()?;
        begin()?;
        match connection.exchange(request).await {
            Ok(response) => Ok(OpenReply { response, connection, note: None }),
            Err(Lost::Unsent) => {
                unsent();
                Err(midway(None))
            }
            Err(Lost::Midway(error)) => Err(midway(error)),
        }
    }

    /// Reads the kept part of the body; the status is known, and the body cannot change it.
    async fn finish(
        &self,
        to: &Ready,
        reply: OpenReply,
        latency: Span,
        end: Instant,
    ) -> AttemptAnswer {
        let OpenReply { response, mut connection, note } = reply;
        let (head, body) = response.into_parts();
        let (reply, ended) = connection.read(body, end.since(TokioTime.now())).await;
        if ended {
            self.network.pool.put(&to.pool_key, connection).await;
        }
        let detail = note.map(|note| bounded(&note));
        let detail = detail.or_else(|| not_followed(head.status, &head.headers));
        let hint = hint(head.status, &head.headers);
        let result = Ok(head.status.as_u16());
        let handshake = None;
        AttemptAnswer { result, detail, hint, reply, latency, written: true, handshake }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("network", &self.network)
            .field("destinations", &self.destinations)
            .field("origin", &self.origin)
            .finish()
    }
}

fn failed(send_failure: SendFailure, latency: Span) -> AttemptAnswer {
    let SendFailure { failure, detail, hint } = send_failure;
    AttemptAnswer {
        result: Err(failure),
        detail: Some(detail),
        hint,
        latency,
        ..AttemptAnswer::not_made()
    }
}

fn overdue(phase: ConnectPhase, timeout: Span) -> SendFailure {
    let (failure, what) = match phase {
        ConnectPhase::Turn => return SendFailure::no_turn(),
        ConnectPhase::Resolve => (AttemptFailure::Resolve, "no answer of the resolver"),
        ConnectPhase::Connect => (AttemptFailure::Timeout, "no connection"),
        ConnectPhase::Proxy => (AttemptFailure::Transport, "no tunnel of the egress proxy"),
        ConnectPhase::Token => (AttemptFailure::Token, "no access token"),
        ConnectPhase::Handshake => (AttemptFailure::Handshake, "no consent of the endpoint"),
        ConnectPhase::Tls => (AttemptFailure::Timeout, "no end of the TLS handshake"),
        ConnectPhase::Reply => (AttemptFailure::Timeout, "no head of a reply"),
        ConnectPhase::Broker => (AttemptFailure::Timeout, "no answer of the broker"),
    };
    SendFailure::new(failure, format!("{what} within {timeout}"))
}

/// The id of a new span: random, and never all zeros, which stands for none.
#[must_use]
pub fn new_span_id() -> [u8; 8] {
    OsEntropy.next_u64().max(1).to_be_bytes()
}
