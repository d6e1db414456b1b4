//! What is said for all calls of a client, and what for one.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use ::reqwest::Request;

use crate::http::{AttemptHeaders, HttpReplies, IdempotencyKey, REPLAY_LIMIT};
use crate::{AttemptInfo, Policy, Report};

type Prepare = dyn Fn(&mut Request, &AttemptInfo) + Send + Sync;
type Refresh = dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// What holds for all calls.
#[derive(Clone)]
#[must_use = "options do nothing until a client has them"]
pub struct Options {
    pub(super) replies: HttpReplies,
    pub(super) told: AttemptHeaders,
    pub(super) replay_limit: usize,
    pub(super) prepare: Option<Arc<Prepare>>,
    pub(super) refresh: Option<Arc<Refresh>>,
    pub(super) fresh: Option<::reqwest::Client>,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// The defaults of this module's table.
    pub fn new() -> Self {
        let (replies, told) = (HttpReplies::default(), AttemptHeaders::new());
        let (prepare, refresh) = (None, None);
        Self { replies, told, replay_limit: REPLAY_LIMIT, prepare, refresh, fresh: None }
    }

    /// Judges replies by `replies`: rules and hints of a provider.
    pub fn replies(mut self, replies: HttpReplies) -> Self {
        self.replies = replies;
        self
    }

    /// Tells the server of each attempt.
    pub const fn attempt_headers(mut self, told: AttemptHeaders) -> Self {
        self.told = told;
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

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("replies", &self.replies)
            .field("replay_limit", &self.replay_limit)
            .finish_non_exhaustive()
    }
}

/// What holds for one call. For the middleware, put it into the request's extensions.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until a call has them"]
pub struct CallOptions {
    pub(super) policy: Option<Policy>,
    pub(super) idempotent: bool,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) buffered: Option<usize>,
    pub(super) report: Option<Arc<Mutex<Report>>>,
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

    /// The request may be sent twice whatever its method, on the caller's word.
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
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
    pub fn report(mut self, report: Arc<Mutex<Report>>) -> Self {
        self.report = Some(report);
        self
    }
}
