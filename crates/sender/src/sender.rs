//! Makes attempts.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use stagger::hint::HintReader;
use stagger::{Clock, ConfigError, Entropy, Hint, Instant, OsEntropy, Span, StdTime, TokioTime};
use stagger_scheduler::model::{AttemptAnswer, AttemptFailure, Endpoint, Message, TraceContext};

use crate::address::{Address, Ports};
use crate::connection::{Connection, Lost, within};
use crate::dial::{ConnectPhase, Dialer, SendOptions};
use crate::guard::EgressGuard;
use crate::header::{MAX_HEADERS, check_header};
use crate::pool::ConnectionPool;
use crate::request::{Post, Ready, Target, Written};
use crate::resolver::{LookupTurns, Resolve, SystemResolver};
use crate::send_failure::{SendFailure, bounded};
use crate::signer::Signer;

/// Makes attempts over pooled connections, through the egress guard. Clones share the pool.
///
/// All endpoints of one scheme, host and port share connections. For each new connection the name
/// is resolved, and all its answers are checked; an attempt over an idle connection goes to the
/// address that was checked then.
#[derive(Clone)]
pub struct Sender {
    dialer: Dialer,
    ports: Arc<Ports>,
    pool: Arc<ConnectionPool>,
}

/// The head of a reply, and the connection it came over.
struct OpenReply {
    response: http::Response<hyper::body::Incoming>,
    connection: Connection,
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
        let dialer = Dialer { guard, resolver, turns, tls: options.tls()? };
        let ports = Arc::new(Ports::new(&options.ports, options.allow_private));
        Ok(Self { dialer, ports, pool: Arc::default() })
    }

    /// Checks an endpoint's address before it is saved: scheme, host, port, no user info, and a literal
    /// address that the egress guard would refuse. Names are resolved at each attempt.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    pub fn check_url(&self, url: &str) -> Result<(), ConfigError> {
        Address::parse(url, self.dialer.guard, &self.ports).map(|_| ())
    }

    /// Checks all of an endpoint that an attempt depends on, before it is saved: URL, headers and how
    /// many there are, secrets.
    ///
    /// # Errors
    /// `endpoint.url`, `endpoint.headers` or `endpoint.secrets` with the bound it breaks.
    pub fn check(&self, endpoint: &Endpoint) -> Result<(), ConfigError> {
        self.check_url(&endpoint.url)?;
        if endpoint.headers.len() > MAX_HEADERS {
            return Err(ConfigError::new("endpoint.headers", endpoint.headers.len(), "32 at most"));
        }
        endpoint.headers.iter().try_for_each(check_header)?;
        Signer::new(&endpoint.secrets).map(|_| ())
    }

    /// Reads an endpoint's settings once for many attempts; make it again when they change.
    #[must_use]
    pub fn prepare(&self, endpoint: &Endpoint) -> Target {
        Target::new(endpoint, &self.ports)
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
        let started = TokioTime.now();
        let ready = match &target.ready {
            Ok(ready) => ready,
            Err(send_failure) => return failed(send_failure.clone(), Span::ZERO),
        };
        let post = match Post::new(ready, message, payload, numbered) {
            Ok(post) => post,
            Err(send_failure) => return failed(send_failure, Span::ZERO),
        };
        let mut phase = ConnectPhase::Reply;
        let reply = self.reply(ready, &post, (&mut phase, written));
        let reply = within(target.timeout, reply).await;
        let latency = TokioTime.now().since(started);
        match reply {
            Some(Ok(reply)) => self.finish(ready, reply, latency, started + target.timeout).await,
            Some(Err(send_failure)) => failed(send_failure, latency),
            None => failed(overdue(phase, target.timeout), latency),
        }
    }

    /// The head of a reply, over a connection that waited or a new one.
    async fn reply(
        &self,
        to: &Ready,
        post: &Post<'_>,
        (phase, written): (&mut ConnectPhase, &Written),
    ) -> Result<OpenReply, SendFailure> {
        if let Some(mut connection) = self.pool.take(&to.address.origin).await {
            let request = post.sign()?;
            written.begin()?;
            match connection.exchange(request).await {
                Ok(response) => return Ok(OpenReply { response, connection }),
                // The idle connection was closed, and the server has not seen the request: this
                // attempt has not been made yet.
                Err(Lost::Unsent) => written.set(false),
                Err(Lost::Midway(error)) => return Err(midway(error)),
            }
        }
        let mut connection = self.dialer.dial((&to.address, to.application), phase).await?;
        let request = post.sign()?;
        written.begin()?;
        match connection.exchange(request).await {
            Ok(response) => Ok(OpenReply { response, connection }),
            Err(Lost::Unsent) => {
                written.set(false);
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
        let OpenReply { response, mut connection } = reply;
        let (head, body) = response.into_parts();
        let (reply, ended) = connection.read(body, end.since(TokioTime.now())).await;
        if ended {
            self.pool.put(&to.address.origin, connection).await;
        }
        let detail = not_followed(head.status, &head.headers);
        let hint = hint(head.status, &head.headers);
        let result = Ok(head.status.as_u16());
        AttemptAnswer { result, detail, hint, reply, latency, written: true }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dialer, ports, pool } = self;
        f.debug_struct("Sender")
            .field("guard", &dialer.guard)
            .field("ports", ports)
            .field("pool", pool)
            .finish_non_exhaustive()
    }
}

fn failed(send_failure: SendFailure, latency: Span) -> AttemptAnswer {
    let SendFailure { failure, detail } = send_failure;
    AttemptAnswer {
        result: Err(failure),
        detail: Some(detail),
        latency,
        ..AttemptAnswer::not_made()
    }
}

fn midway(error: Option<hyper::Error>) -> SendFailure {
    match error {
        Some(error) => SendFailure::by(AttemptFailure::Transport, &error),
        None => SendFailure::new(AttemptFailure::Transport, "the connection was closed"),
    }
}

fn overdue(phase: ConnectPhase, timeout: Span) -> SendFailure {
    let (failure, what) = match phase {
        ConnectPhase::Turn => return SendFailure::no_turn(),
        ConnectPhase::Resolve => (AttemptFailure::Resolve, "no answer of the resolver"),
        ConnectPhase::Connect => (AttemptFailure::Timeout, "no connection"),
        ConnectPhase::Tls => (AttemptFailure::Timeout, "no end of the TLS handshake"),
        ConnectPhase::Reply => (AttemptFailure::Timeout, "no head of a reply"),
    };
    SendFailure::new(failure, format!("{what} within {timeout}"))
}

/// The id of a new span: random, and never all zeros, which stands for none.
#[must_use]
pub fn new_span_id() -> [u8; 8] {
    OsEntropy.next_u64().max(1).to_be_bytes()
}

/// A redirect is a failure: the guard has judged this address, and not the next.
fn not_followed(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    let location = headers.get(LOCATION).filter(|_| status.is_redirection())?;
    let location = String::from_utf8_lossy(location.as_bytes());
    Some(bounded(&format!("a redirect is not followed: {location}")))
}

/// The hint in the headers of a failed reply. Pushback is left out: it is gRPC's.
fn hint(status: StatusCode, headers: &HeaderMap) -> Option<Hint> {
    if status.is_success() {
        return None;
    }
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let lines: Vec<_> = lines.collect();
    let now = Some(StdTime::wall().into());
    HintReader::new().without_pushback().read(lines.iter().copied(), now)
}
