//! The layer that wraps HTTP services.

use std::sync::Arc;

use ::http::Request;
use http_body::Body;
use stagger_core::Remedy;
use stagger_core::classify::is_idempotent;

use super::{HttpRequest, Idempotent, Prepare, Refresh, StaggerLayer, Unchanged};
use crate::http::{
    AttemptHeaders, ByMethod, Destinations, HttpReplies, IdempotencyKey, REPLAY_LIMIT,
};
use crate::{Clock, Ledgers, LocalLedger, Retrier};

/// Makes the calls of an HTTP service under a policy; begun by [`StaggerLayer::http`].
///
/// A request may have any body: what goes by on the first attempt is kept up to a limit, and the
/// service gets a [`Replay`](crate::http::Replay) of it. A call whose body went past the limit ends
/// with its real failure and
/// [`Stop::NotReplayable`](crate::Stop::NotReplayable). A failed reply that a call ends with has
/// the end of the call, [`Done`](crate::Done), among its extensions. Each attempt's request has its
/// [`AttemptInfo`](crate::AttemptInfo) among its extensions, unless it is a first attempt without time limits.
///
/// The body of a reply ends with the deadline of the call, if the policy has one:
/// [`DeadlineBody`](crate::http::DeadlineBody).
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// use bytes::Bytes;
/// use http::{Request, Response, StatusCode};
/// use http_body_util::{BodyExt, Full};
/// use stagger::http::{IdempotencyKey, Replay};
/// use stagger::tower::StaggerLayer;
/// use stagger::{AttemptInfo, Policy, Retrier, TokioTime};
/// use tower::{ServiceBuilder, ServiceExt};
/// let layer = StaggerLayer::http(Retrier::new(Policy::default(), TokioTime))
///     .idempotency_keys(IdempotencyKey::random);
/// let server = async |request: Request<Replay<Full<Bytes>>>| {
///     let attempt = request.extensions().get::<AttemptInfo>().map_or(0, |attempt| attempt.number);
///     let order = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
///     assert_eq!(order, "one bolt");
///     let mut reply = Response::new(Full::new(order));
///     if attempt < 2 { *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE }
///     Ok::<_, std::io::Error>(reply)
/// };
/// let service = ServiceBuilder::new().layer(layer).service_fn(server);
/// let order = Request::post("/orders").body(Full::new(Bytes::from("one bolt")))?;
/// assert_eq!(service.oneshot(order).await?.status(), StatusCode::OK);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(()) }).map_err(std::io::Error::other)}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[derive(Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct HttpLayer<
    Z,
    L = LocalLedger,
    J = HttpReplies,
    D = ByMethod,
    H = Unchanged,
    R = Unchanged,
> {
    retrier: Arc<Retrier<Z, L>>,
    destinations: Destinations<L>,
    classifier: J,
    idempotent: D,
    settings: Settings,
    hook: H,
    refresh: R,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    replay_limit: usize,
    drain_limit: u64,
    attempt_headers: AttemptHeaders,
    key: Option<fn() -> IdempotencyKey>,
}

impl<Z, L> StaggerLayer<Z, L> {
    /// Calls of HTTP services: replies are classified by status and headers, errors by
    /// [`ByChain`](crate::http::ByChain), and requests by method and `Idempotency-Key`.
    ///
    /// Each scheme, host and port has a budget and a breaker of its own, by the URI or the `Host` of
    /// the request, in at most 10 000 [`Ledgers`]. A ledger that the retrier was given by
    /// [`Retrier::with_ledger`] is for all of them.
    pub fn http(retrier: Retrier<Z, L>) -> HttpLayer<Z, L> {
        let settings = Settings {
            replay_limit: REPLAY_LIMIT,
            drain_limit: 0,
            attempt_headers: AttemptHeaders::new(),
            key: None,
        };
        HttpLayer {
            destinations: Destinations::of(&retrier),
            retrier: Arc::new(retrier),
            classifier: HttpReplies::default(),
            idempotent: ByMethod,
            settings,
            hook: Unchanged,
            refresh: Unchanged,
        }
    }
}

impl<Z, L, J, D, H, R> HttpLayer<Z, L, J, D, H, R> {
    /// Keeps up to so many bytes of a request's body. Default:
    /// [`REPLAY_LIMIT`](crate::http::REPLAY_LIMIT).
    pub const fn replay_limit(mut self, bytes: usize) -> Self {
        self.settings.replay_limit = bytes;
        self
    }

    /// Reads up to so many bytes of failed replies while the call waits, so that their connections can
    /// be used again. Default: none.
    ///
    /// When the call ends during its wait, or the next attempt brings no reply, the caller gets the
    /// head of the last one and what was left of its body.
    pub const fn drain_replies(mut self, bytes: u64) -> Self {
        self.settings.drain_limit = bytes;
        self
    }

    /// Shows the server which attempt it sees. Default: no headers.
    pub const fn attempt_headers(mut self, attempt_headers: AttemptHeaders) -> Self {
        self.settings.attempt_headers = attempt_headers;
        self
    }

    /// Gives requests that could not be sent twice without it a key out of `make`, once for each call:
    /// only for servers that know what it means. A key that the caller has set stays. Default: no keys.
    ///
    /// `IdempotencyKey::random`, or `|| IdempotencyKey::random().unquoted()`.
    pub const fn idempotency_keys(mut self, make: fn() -> IdempotencyKey) -> Self {
        self.settings.key = Some(make);
        self
    }

    /// Classifies results by `classifier`, replies included. Each call has a clone of it.
    pub fn classified_by<K>(self, classifier: K) -> HttpLayer<Z, L, K, D, H, R> {
        let Self { retrier, destinations, classifier: _, idempotent, settings, hook, refresh } =
            self;
        HttpLayer { retrier, destinations, classifier, idempotent, settings, hook, refresh }
    }

    /// Decides which requests may be sent twice. Default: [`ByMethod`].
    pub fn idempotent<C>(self, decide: C) -> HttpLayer<Z, L, J, C, H, R> {
        let Self { retrier, destinations, classifier, idempotent: _, settings, hook, refresh } =
            self;
        HttpLayer { retrier, destinations, classifier, idempotent: decide, settings, hook, refresh }
    }

    /// Changes the head of each attempt's request directly before it is sent: fresh credentials, a
    /// signature with a time. Each call has a clone of the hook.
    pub fn per_attempt<P: Prepare>(self, hook: P) -> HttpLayer<Z, L, J, D, P, R> {
        let Self { retrier, destinations, classifier, idempotent, settings, hook: _, refresh } =
            self;
        HttpLayer { retrier, destinations, classifier, idempotent, settings, hook, refresh }
    }

    /// The policy, and the ledger of requests that name no server; of all requests, if it was given
    /// by [`Retrier::with_ledger`].
    pub fn retrier(&self) -> &Retrier<Z, L> {
        &self.retrier
    }

    pub(super) const fn shared_retrier(&self) -> &Arc<Retrier<Z, L>> {
        &self.retrier
    }

    /// Budgets and breakers of all destinations; `None` when all share the retrier's ledger.
    pub fn ledgers(&self) -> Option<&Ledgers> {
        self.destinations.ledgers()
    }

    /// The ledger of the server that this request goes to; `None` where it is the retrier's.
    pub(super) fn ledger_of<B>(&self, request: &Request<B>) -> Option<Arc<L>>
    where
        Z: Clock,
    {
        self.destinations.ledger(self.retrier.time(), request.uri(), request.headers())
    }

    pub(super) fn classifier(&self) -> J
    where
        J: Clone,
    {
        self.classifier.clone()
    }

    /// The request as it is kept, and whether it may be sent twice.
    pub(super) fn outgoing<B: Body>(&self, mut request: Request<B>) -> (HttpRequest<B, H, R>, bool)
    where
        D: Idempotent<Request<B>>,
        H: Clone,
        R: Clone,
    {
        let Settings { replay_limit, drain_limit, attempt_headers, key } = self.settings;
        if let Some(make) = key.filter(|_| !is_idempotent(request.method().as_str())) {
            if !request.headers().contains_key(IdempotencyKey::HEADER) {
                make().write(request.headers_mut());
            }
        }
        let idempotent = self.idempotent.is_idempotent(&request);
        let hooks = (self.hook.clone(), self.refresh.clone());
        (HttpRequest::new(request, (replay_limit, drain_limit, attempt_headers), hooks), idempotent)
    }
}

impl<Z, J, D, H, R> HttpLayer<Z, LocalLedger, J, D, H, R> {
    /// Keeps budgets and breakers in `ledgers`, which other layers and clients may share. Default:
    /// [`Ledgers::new`] of the policy.
    pub fn share_ledgers(mut self, ledgers: Ledgers) -> Self {
        self.destinations = Destinations::kept_in(ledgers);
        self
    }
}

impl<Z, L, E, D, H, R> HttpLayer<Z, L, HttpReplies<E>, D, H, R> {
    /// Classifies by `errors` the results that are no reply: [`ByBoxedChain`](crate::http::ByBoxedChain)
    /// where tower's own layers lie below, or a classifier that knows the errors of the client.
    pub fn errors_classified_by<K>(self, errors: K) -> HttpLayer<Z, L, HttpReplies<K>, D, H, R> {
        let Self { retrier, destinations, classifier, idempotent, settings, hook, refresh } = self;
        let classifier = classifier.with_errors(errors);
        HttpLayer { retrier, destinations, classifier, idempotent, settings, hook, refresh }
    }

    /// After a 401, runs `refresh` and sends the request once more; a second 401 is final. The fresh
    /// credentials get into the request by [`per_attempt`](Self::per_attempt).
    pub fn refresh_auth<F: Refresh>(self, refresh: F) -> HttpLayer<Z, L, HttpReplies<E>, D, H, F> {
        let Self { retrier, destinations, classifier, idempotent, settings, hook, refresh: _ } =
            self;
        let classifier = classifier.carrying_out(Remedy::RefreshAuth);
        HttpLayer { retrier, destinations, classifier, idempotent, settings, hook, refresh }
    }
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<Z, L, J: Clone, D: Clone, H: Clone, R: Clone> Clone for HttpLayer<Z, L, J, D, H, R> {
    fn clone(&self) -> Self {
        let Self { retrier, destinations, classifier, idempotent, settings, hook, refresh } = self;
        Self {
            retrier: Arc::clone(retrier),
            destinations: destinations.clone(),
            classifier: classifier.clone(),
            idempotent: idempotent.clone(),
            settings: *settings,
            hook: hook.clone(),
            refresh: refresh.clone(),
        }
    }
}
