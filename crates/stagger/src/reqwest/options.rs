//! The options of all calls of a client, and those of one call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use ::http::{HeaderMap, StatusCode};
use ::reqwest::{Request, Response};
use stagger_core::Outcome;
use stagger_core::classify::TransportRules;

use super::SendError;
use crate::http::{AttemptHeaders, HttpReplies, IdempotencyKey, REPLAY_LIMIT};
use crate::{AttemptEnd, AttemptInfo, CallReport, LocalLedger, Policy};

type OnAttempt = dyn Fn(&AttemptEnd<'_, Response, SendError>) + Send + Sync;
type Prepare = dyn Fn(&mut Request, &AttemptInfo) + Send + Sync;
type Provider = dyn Fn(StatusCode, &HeaderMap, &[u8]) -> Option<Outcome> + Send + Sync;
type Refresh = dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// The options of all calls.
#[derive(Clone)]
#[must_use = "options do nothing until a client has them"]
pub struct ClientOptions {
    pub(super) replies: HttpReplies,
    pub(super) provider: Option<Arc<Provider>>,
    pub(super) body_hints: bool,
    pub(super) transport: TransportRules,
    pub(super) key: Option<fn() -> IdempotencyKey>,
    pub(super) ledger: Option<Arc<LocalLedger>>,
    pub(super) name: Option<&'static str>,
    pub(super) attempt_headers: AttemptHeaders,
    pub(super) replay_limit: usize,
    pub(super) prepare: Option<Arc<Prepare>>,
    pub(super) on_attempt: Option<Arc<OnAttempt>>,
    pub(super) refresh: Option<Arc<Refresh>>,
    pub(super) fresh: Option<::reqwest::Client>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ClientOptions {
    /// The defaults of this module's table.
    pub fn new() -> Self {
        Self {
            replies: HttpReplies::default(),
            provider: None,
            body_hints: false,
            transport: TransportRules::default(),
            key: None,
            ledger: None,
            name: None,
            attempt_headers: AttemptHeaders::new(),
            replay_limit: REPLAY_LIMIT,
            prepare: None,
            on_attempt: None,
            refresh: None,
            fresh: None,
        }
    }

    /// Classifies replies by `replies`: rules and hints of a provider.
    pub fn replies(mut self, replies: HttpReplies) -> Self {
        self.replies = replies;
        self
    }

    /// Classifies failed replies by `classifier`, which sees the status, its headers and up to 64 KiB of its
    /// body; `None` leaves it to the rules. For providers that say two things by one status, such as
    /// 429 for a full minute and 429 for an empty account. The body is waited for up to 100 ms.
    pub fn provider(
        mut self,
        classifier: impl Fn(StatusCode, &HeaderMap, &[u8]) -> Option<Outcome> + Send + Sync + 'static,
    ) -> Self {
        self.provider = Some(Arc::new(classifier));
        self
    }

    /// Reads the hint of a failed reply that has none in its headers out of its body: `"retryDelay": "58s"`, as
    /// Google's interfaces write it. Up to 64 KiB of the body are waited for up to 100 ms. Default: no,
    /// except of bodies that a [`provider`](Self::provider) classifies.
    pub const fn body_hints(mut self) -> Self {
        self.body_hints = true;
        self
    }

    /// Classifies connections that never came to be, and certificates, by `rules`.
    pub const fn transport_rules(mut self, rules: TransportRules) -> Self {
        self.transport = rules;
        self
    }

    /// Gives requests that could not be sent twice without it a key out of `make`, once for each call:
    /// only for servers that know what it means. A key that the caller has set stays. Default: no keys.
    pub const fn idempotency_keys(mut self, make: fn() -> IdempotencyKey) -> Self {
        self.key = Some(make);
        self
    }

    /// Has all calls share `ledger`, for a client of one destination that is also called by other
    /// ways. Default: one ledger for each scheme, host and port.
    pub fn ledger(mut self, ledger: Arc<LocalLedger>) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// Names the destination in events and metrics; see [`Retrier::named`](crate::Retrier::named).
    pub const fn named(mut self, destination: &'static str) -> Self {
        self.name = Some(destination);
        self
    }

    /// Shows the server which attempt it sees.
    pub const fn attempt_headers(mut self, attempt_headers: AttemptHeaders) -> Self {
        self.attempt_headers = attempt_headers;
        self
    }

    /// Keeps up to `bytes` of a body that comes as a stream. Default: 64 KiB.
    pub const fn replay_limit(mut self, bytes: usize) -> Self {
        self.replay_limit = bytes;
        self
    }

    /// Changes each attempt's request after the wait and directly before the send: for credentials
    /// and signatures that do not outlive a wait.
    pub fn prepare(
        mut self,
        prepare: impl Fn(&mut Request, &AttemptInfo) + Send + Sync + 'static,
    ) -> Self {
        self.prepare = Some(Arc::new(prepare));
        self
    }

    /// Calls `observer` for every attempt that has settled, the one that succeeds included: its reply or
    /// its error, what that meant, and what follows. It runs before the delay, and the call waits
    /// for it.
    ///
    /// ```
    /// use stagger::{NextStep, reqwest::ClientOptions};
    /// let options = ClientOptions::new().on_attempt(|attempt| {
    ///     if let NextStep::Retry(delay) = attempt.next {
    ///         eprintln!("attempt {}: {}, again in {delay}", attempt.number, attempt.outcome.verdict.name());
    ///     }
    /// });
    /// assert!(format!("{options:?}").starts_with("ClientOptions"));
    /// ```
    pub fn on_attempt(
        mut self,
        observer: impl Fn(&AttemptEnd<'_, Response, SendError>) + Send + Sync + 'static,
    ) -> Self {
        self.on_attempt = Some(Arc::new(observer));
        self
    }

    /// Gets fresh credentials after a 401, once in a call, for [`prepare`](Self::prepare) to use.
    pub fn refresh<F, Fut>(mut self, refresh: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.refresh = Some(Arc::new(move || Box::pin(refresh())));
        self
    }

    /// Sends a request again over `client` after a 421. Build it with `pool_max_idle_per_host(0)`, so
    /// that every connection of it is new. A middleware has only the client below it, so there a 421
    /// is permanent.
    pub fn fresh_client(mut self, client: ::reqwest::Client) -> Self {
        self.fresh = Some(client);
        self
    }
}

impl ClientOptions {
    /// Whether a failed reply is read before it is classified.
    pub(super) const fn reads_bodies(&self) -> bool {
        self.provider.is_some() || self.body_hints
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("replies", &self.replies)
            .field("replay_limit", &self.replay_limit)
            .finish_non_exhaustive()
    }
}

/// The options of one call. For the middleware, put them into the request's extensions.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until a call has them"]
pub struct CallOptions {
    pub(super) policy: Option<Policy>,
    pub(super) idempotent: Option<bool>,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) buffered: Option<usize>,
    pub(super) report: Option<Arc<Mutex<CallReport>>>,
}

impl CallOptions {
    /// Nothing special.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another policy. Budget and breaker stay those of the destination, by the client's policy.
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The request may be sent twice, on the caller's word, whatever its method and headers.
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = Some(true);
        self
    }

    /// The request must not be sent twice, whatever its method and headers.
    pub const fn not_idempotent(mut self) -> Self {
        self.idempotent = Some(false);
        self
    }

    /// Sends `key` on every attempt, unless the request has one, so that it may be sent twice.
    pub const fn idempotency_key(mut self, key: IdempotencyKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Reads the whole reply within the attempt, at most `limit` bytes: a body that breaks off is then
    /// retried, and the attempt's time limit covers it.
    pub const fn buffered(mut self, limit: usize) -> Self {
        self.buffered = Some(limit);
        self
    }

    /// Fills in `report` when the call ends.
    pub fn report(mut self, report: Arc<Mutex<CallReport>>) -> Self {
        self.report = Some(report);
        self
    }
}
