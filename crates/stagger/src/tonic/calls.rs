//! The shared state of one channel's calls: a retrier, the service config, the rule of idempotency.

use std::fmt;
use std::sync::Arc;

use ::http::{HeaderMap, Uri};
use stagger_core::budget::BudgetPlan;
use stagger_core::classify::CodeSet;
use stagger_core::service_config::ServiceConfig;
use stagger_core::{Policy, Span};

use crate::http::Destinations;
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
    /// The caller's word on which methods may be called twice, if there is one.
    idempotent: Option<D>,
    pub(super) buffer: usize,
}

/// The rules of one call.
pub(super) struct GrpcRules<Z, L> {
    pub(super) retrier: Retrier<Z, L>,
    /// The codes that are retried, where the service config lists them.
    pub(super) codes: Option<CodeSet>,
    pub(super) idempotent: bool,
    pub(super) buffer: usize,
}

impl<Z, L> GrpcCalls<Z, L, ByServiceConfig> {
    pub(super) fn new(retrier: Retrier<Z, L>) -> Self {
        let destinations = Destinations::of(&retrier);
        Self { retrier, destinations, config: None, idempotent: None, buffer: DEFAULT_BUFFER }
    }
}

impl<Z, L, D> GrpcCalls<Z, L, D> {
    /// The same calls by the entries of a service config, with a budget for all of them.
    pub(super) fn configured(self, config: ServiceConfig) -> GrpcCalls<Z, LocalLedger, D> {
        let Self { retrier, destinations: _, config: _, idempotent, buffer } = self;
        let shared = once(retrier.policy(), &config);
        let ledger = Arc::new(LocalLedger::new(&shared));
        let retrier = retrier.under(shared).with_ledger(ledger);
        let (destinations, config) = (Destinations::under(&shared), Some(Arc::new(config)));
        GrpcCalls { retrier, destinations, config, idempotent, buffer }
    }

    pub(super) fn idempotent<C>(self, decide: C) -> GrpcCalls<Z, L, C> {
        let Self { retrier, destinations, config, idempotent: _, buffer } = self;
        GrpcCalls { retrier, destinations, config, idempotent: Some(decide), buffer }
    }

    /// The rules for a call of this method, whose caller asks for an end within `asked`.
    pub(super) fn rules(&self, uri: &Uri, asked: Option<Span>) -> GrpcRules<Z, L>
    where
        Z: Clock + Clone,
        D: Idempotent<Uri>,
    {
        let Self { retrier, destinations, config, idempotent, buffer } = self;
        let shared = retrier.policy();
        let method = config.as_ref().map(|config| config.method(uri.path()));
        let (mut policy, codes) = match method {
            None => (*shared, None),
            Some(None) => (*shared, Some(CodeSet::EMPTY)),
            Some(Some(method)) => (completed(method.policy(), shared), Some(method.codes())),
        };
        if let Some(asked) = asked {
            policy = within(&policy, asked);
        }
        // A service config lists the codes after which its author wants a method called again. Without
        // one, nothing tells whether the server may see the call twice.
        let said = idempotent.as_ref().map(|decide| decide.is_idempotent(uri));
        let idempotent = said.unwrap_or(config.is_some());
        let mut retrier = match policy == *shared {
            true => retrier.clone(),
            false => retrier.clone().under(policy),
        };
        // tonic's channels add the authority themselves, unless a client was given its origin.
        let found = destinations.ledger(retrier.time(), uri, &HeaderMap::new());
        if let Some(ledger) = found {
            retrier = retrier.with_ledger(ledger);
        }
        GrpcRules { retrier, codes, idempotent, buffer: *buffer }
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
fn once(given: &Policy, config: &ServiceConfig) -> Policy {
    let budget = config.throttling().map_or(BudgetPlan::Unlimited, Into::into);
    built(given, Policy::builder().max_attempts(1).budget(budget), given.limits().deadline())
}

/// A method's policy with what a service config cannot say.
fn completed(method: &Policy, given: &Policy) -> Policy {
    let deadline = method.limits().deadline().or(given.limits().deadline());
    built(given, method.to_builder(), deadline)
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
    // OK because each setting was valid in the policy that it comes from.
    builder.build().unwrap_or(*given)
}

/// The same policy for a caller that waits no longer than `asked`. A caller without any time left
/// gets the shortest there is, which ends its call before it can succeed.
fn within(policy: &Policy, asked: Span) -> Policy {
    let asked = asked.max(Span::from_nanos(1));
    if policy.limits().deadline().is_some_and(|limit| limit <= asked) {
        return *policy;
    }
    let mut builder = policy.to_builder().deadline(asked);
    if policy.limits().min_attempt_time() >= asked {
        builder = builder.min_attempt_time(Span::ZERO);
    }
    // OK because a shorter deadline leaves everything else as valid as it was.
    builder.build().unwrap_or(*policy)
}

// By hand, because a ledger need not be `Clone` to be shared.
impl<Z: Clone, L, D: Clone> Clone for GrpcCalls<Z, L, D> {
    fn clone(&self) -> Self {
        let Self { retrier, destinations, config, idempotent, buffer } = self;
        let (retrier, config) = (retrier.clone(), config.clone());
        let (destinations, idempotent) = (destinations.clone(), idempotent.clone());
        Self { retrier, destinations, config, idempotent, buffer: *buffer }
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
