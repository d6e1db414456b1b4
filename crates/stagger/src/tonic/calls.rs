//! The shared state of one channel's calls: a retrier, the service config, the rule of idempotency.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ::http::{HeaderMap, Uri};
use stagger_core::budget::BudgetPlan;
use stagger_core::classify::{Code, CodeSet};
use stagger_core::service_config::{MethodPolicy, ServiceConfig};
use stagger_core::{Policy, Span};

use crate::http::{AttemptHeaders, Destinations};
use crate::tower::Idempotent;
use crate::{Clock, LocalLedger, Retrier};

/// The bytes of a request that are kept for a further attempt: as many as gRPC's own clients keep for a
/// call (gRFC A6 leaves the number to them; grpc-go and the C core take 256 KiB).
const DEFAULT_BUFFER: usize = 256 * 1024;

/// The shared part of a layer and its services.
pub(super) struct GrpcCalls<Z, L, D> {
    pub(super) retrier: Retrier<Z, L>,
    destinations: Destinations<L>,
    config: Option<Arc<ServiceConfig>>,
    /// The retriers of the methods that the config names, by the place of their entry in it: each is made once.
    methods: Arc<Mutex<BTreeMap<usize, Retrier<Z, L>>>>,
    /// The caller's word on which methods may be called twice, if there is one.
    idempotent: Option<D>,
    /// The rule of methods without a service config.
    retried: Retried,
    pub(super) settings: RequestSettings,
}

/// The settings by which the requests of all calls are kept and sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestSettings {
    /// The bytes of a request that are kept.
    pub(super) buffer: usize,
    pub(super) attempt_headers: AttemptHeaders,
}

/// The statuses after which a method is called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retried {
    /// The codes, where somebody lists them.
    pub(super) codes: Option<CodeSet>,
    /// Whether RESOURCE_EXHAUSTED is retried only with a `google.rpc.RetryInfo`.
    pub(super) with_info: bool,
}

impl Retried {
    pub(super) const DEFAULT: Self = Self { codes: None, with_info: false };

    /// The table of OTLP (opentelemetry-proto, docs/specification.md, "Failures").
    const OTLP: Self = Self {
        codes: Some(
            CodeSet::EMPTY
                .with(Code::Cancelled)
                .with(Code::DeadlineExceeded)
                .with(Code::ResourceExhausted)
                .with(Code::Aborted)
                .with(Code::OutOfRange)
                .with(Code::Unavailable)
                .with(Code::DataLoss),
        ),
        with_info: true,
    };

    const fn of(codes: CodeSet) -> Self {
        Self { codes: Some(codes), with_info: false }
    }
}

/// The rules of one call.
pub(super) struct GrpcRules<Z, L> {
    pub(super) retrier: Retrier<Z, L>,
    pub(super) retried: Retried,
    pub(super) idempotent: bool,
    pub(super) settings: RequestSettings,
}

impl<Z, L> GrpcCalls<Z, L, ByServiceConfig> {
    pub(super) fn new(retrier: Retrier<Z, L>) -> Self {
        let destinations = Destinations::of(&retrier);
        let (config, methods) = (None, Arc::default());
        let (idempotent, retried) = (None, Retried::DEFAULT);
        let settings =
            RequestSettings { buffer: DEFAULT_BUFFER, attempt_headers: AttemptHeaders::new() };
        Self { retrier, destinations, config, methods, idempotent, retried, settings }
    }
}

impl<Z, L, D> GrpcCalls<Z, L, D> {
    /// The same calls by the entries of a service config, with a budget for all of them.
    pub(super) fn configured(self, config: ServiceConfig) -> GrpcCalls<Z, LocalLedger, D> {
        let Self { retrier, idempotent, retried, settings, .. } = self;
        let budget = config.throttling().map_or(BudgetPlan::Unlimited, Into::into);
        let shared = once(retrier.policy(), budget);
        let ledger = Arc::new(LocalLedger::new(&shared));
        let retrier = retrier.under(shared).with_ledger(ledger);
        let (destinations, config) = (Destinations::under(&shared), Some(Arc::new(config)));
        let methods = Arc::default();
        GrpcCalls { retrier, destinations, config, methods, idempotent, retried, settings }
    }

    /// The same calls by the entries of a service config, with the ledger that they have.
    pub(super) fn configured_beside(self, config: ServiceConfig) -> Self {
        let Self { retrier, destinations, idempotent, retried, settings, .. } = self;
        let budget = *retrier.policy().budget();
        let shared = once(retrier.policy(), budget);
        let retrier = retrier.under(shared);
        let (config, methods) = (Some(Arc::new(config)), Arc::default());
        Self { retrier, destinations, config, methods, idempotent, retried, settings }
    }

    pub(super) const fn otlp(mut self) -> Self {
        self.retried = Retried::OTLP;
        self
    }

    pub(super) fn idempotent<C>(self, decide: C) -> GrpcCalls<Z, L, C> {
        let Self { retrier, destinations, config, methods, idempotent: _, retried, settings } =
            self;
        let idempotent = Some(decide);
        GrpcCalls { retrier, destinations, config, methods, idempotent, retried, settings }
    }

    /// The rules for a call of this method, whose caller asks for an end within `asked`.
    pub(super) fn rules(&self, uri: &Uri, asked: Option<Span>) -> GrpcRules<Z, L>
    where
        Z: Clock + Clone,
        D: Idempotent<Uri>,
    {
        let Self { destinations, config, idempotent, retried, settings, .. } = self;
        let method = config.as_ref().map(|config| config.method(uri.path()));
        let (mut retrier, by_config) = match method {
            None => (self.retrier.clone(), None),
            Some(None) => (self.retrier.clone(), Some(CodeSet::EMPTY)),
            Some(Some(method)) => (self.of_method(method), Some(method.codes())),
        };
        let retried = by_config.map_or(*retried, Retried::of);
        if let Some(shorter) = asked.and_then(|asked| retrier.within(asked)) {
            retrier = shorter;
        }
        // The author of a list wants a method called again after its codes. Without one, nothing tells
        // whether the server may see the call twice.
        let said = idempotent.as_ref().map(|decide| decide.is_idempotent(uri));
        let idempotent = said.unwrap_or(retried.codes.is_some());
        // tonic's channels add the authority themselves, unless a client was given its origin.
        let found = destinations.ledger(retrier.time(), uri, &HeaderMap::new());
        if let Some(ledger) = found {
            retrier = retrier.with_ledger(ledger);
        }
        GrpcRules { retrier, retried, idempotent, settings: *settings }
    }

    /// The retrier of a method that the config names.
    fn of_method(&self, method: &MethodPolicy) -> Retrier<Z, L>
    where
        Z: Clone,
    {
        let make = || {
            let policy = completed(method.policy(), self.retrier.policy());
            self.retrier.clone().under(policy)
        };
        // The config is shared and never changes, so its entries stay where they are.
        let place = std::ptr::from_ref(method).addr();
        let mut methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        methods.entry(place).or_insert_with(make).clone()
    }
}

/// The methods that a service config lists may be called twice, and none without one.
///
/// A gRPC method does not say whether it is idempotent, as an HTTP method does. The author of a service
/// config decides it by listing the codes after which a method is called again.
///
/// ```
/// use http::Uri;
/// use stagger::tonic::ByServiceConfig;
/// use stagger::tower::Idempotent;
/// let create = Uri::from_static("/shop.Orders/Create");
/// assert!(!ByServiceConfig.is_idempotent(&create), "no service config lists it");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByServiceConfig;

/// The layer that has a service config looks the method up there.
impl Idempotent<Uri> for ByServiceConfig {
    fn is_idempotent(&self, _: &Uri) -> bool {
        false
    }
}

/// The policy of methods without an entry: one attempt.
fn once(given: &Policy, budget: BudgetPlan) -> Policy {
    built(given, Policy::builder().max_attempts(1).budget(budget), given.limits().deadline())
}

/// A method's policy with what a service config cannot say, and the budget that all methods share.
fn completed(method: &Policy, given: &Policy) -> Policy {
    let deadline = method.limits().deadline().or(given.limits().deadline());
    built(given, method.to_builder().budget(*given.budget()), deadline)
}

fn built(
    given: &Policy,
    mut builder: stagger_core::PolicyBuilder,
    deadline: Option<Span>,
) -> Policy {
    let limits = given.limits();
    builder = builder.hints(*given.hints()).wait_for_breaker(given.waits_for_breaker());
    builder = builder.pause_when_empty(given.pauses_when_empty());
    if let Some(limit) = deadline {
        builder = builder.deadline(limit);
        if limits.min_attempt_time() < limit {
            builder = builder.min_attempt_time(limits.min_attempt_time());
        }
    }
    if let Some(limit) = limits.attempt_timeout() {
        builder = builder.attempt_timeout(limit);
    }
    if let Some(plan) = given.breaker().copied() {
        builder = builder.breaker(plan);
    }
    if let Some(plan) = given.adaptive().copied() {
        builder = builder.adaptive(plan);
    }
    if let Some(plan) = given.concurrency_limit().copied() {
        builder = builder.concurrency_limit(plan);
    }
    if let Some(plan) = given.rate_limit().copied() {
        builder = builder.rate_limit(plan);
    }
    // OK because each setting was valid in the policy that it comes from.
    builder.build().unwrap_or(*given)
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<Z: Clone, L, D: Clone> Clone for GrpcCalls<Z, L, D> {
    fn clone(&self) -> Self {
        let Self { retrier, destinations, config, methods, idempotent, retried, settings } = self;
        let (retrier, config, methods) = (retrier.clone(), config.clone(), Arc::clone(methods));
        let (destinations, idempotent) = (destinations.clone(), idempotent.clone());
        let (retried, settings) = (*retried, *settings);
        Self { retrier, destinations, config, methods, idempotent, retried, settings }
    }
}

impl<Z, L, D> fmt::Debug for GrpcCalls<Z, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { retrier, config, .. } = self;
        let configured = config.is_some();
        f.debug_struct("GrpcCalls")
            .field("retrier", retrier)
            .field("configured", &configured)
            .finish()
    }
}
