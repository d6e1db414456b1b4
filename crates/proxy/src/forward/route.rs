//! A route at work: its upstreams, their clients and services, its limit and its figures.

use std::future::{Ready, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use http::{Method, Request, Uri};
use stagger::http::{AttemptHeaders, HttpReplies, IdempotencyKey};
use stagger::tonic::{Grpc, GrpcLayer};
use stagger::tower::{HttpLayer, HttpService, Idempotent, StaggerLayer, Unchanged};
use stagger::{Policy, Retrier, TokioTime};
use tower_layer::Layer;

use super::route_state::{RoutePlace, RouteState};
use super::tunnel::Tunnels;
use crate::config::{AddedKey, RetryRules, RouteSettings, RouteTarget, SettingsFault, UpstreamUrl};
use crate::destination::{
    AttemptHeaderSet, AttemptKind, AttemptService, DestinationLedger, Dialer, GrpcCopies,
    LedgerRegistry, UpstreamClients, UpstreamErrors, UpstreamServer,
};
use crate::stats::{DestinationStats, Refusal, RouteSnapshot};

/// The requests that may be sent twice, by the rules of a route.
#[derive(Clone, Debug)]
pub(super) struct Repeats(Arc<RetryRules>);

impl<B> Idempotent<Request<B>> for Repeats {
    fn is_idempotent(&self, request: &Request<B>) -> bool {
        self.0.repeats(request.method()) || request.headers().contains_key(IdempotencyKey::HEADER)
    }
}

impl Idempotent<Uri> for Repeats {
    fn is_idempotent(&self, method: &Uri) -> bool {
        self.0.repeats_grpc(method.path())
    }
}

/// The files of headers are looked at before each attempt, so nothing else has to be fetched after a 401.
type NothingToFetch = fn() -> Ready<()>;

type Layered<S> = HttpService<
    S,
    TokioTime,
    DestinationLedger,
    HttpReplies<UpstreamErrors>,
    Repeats,
    Unchanged,
    NothingToFetch,
>;

/// The services of one upstream, ready to be cloned for a call.
#[derive(Debug)]
pub(super) struct UpstreamServices {
    pub(super) upstream: Arc<UpstreamServer>,
    /// The executor of calls that hedge: the layer makes one attempt at a time.
    pub(super) retrier: Retrier<TokioTime, DestinationLedger>,
    pub(super) repeats: Repeats,
    pub(super) attempts: AttemptService,
    pub(super) http: Layered<AttemptService>,
    pub(super) upgrade: Layered<AttemptService>,
    pub(super) grpc: GrpcService,
}

/// The service of gRPC calls: which methods may be called again is for the route or for its service config to tell.
#[derive(Debug)]
pub(super) enum GrpcService {
    ByRoute(Grpc<AttemptService, TokioTime, DestinationLedger, Repeats>),
    ByServiceConfig(Grpc<AttemptService, TokioTime, DestinationLedger>),
}

/// A route whose requests can be served.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) settings: RouteSettings,
    pub(super) services: Vec<UpstreamServices>,
    /// The connections of its upstreams, which outlive a reload that leaves their settings as they were.
    clients: Option<UpstreamClients>,
    pub(super) tunnels: Option<Tunnels>,
    /// The upstream whose turn it is.
    turn: AtomicUsize,
    pub(super) state: Arc<RouteState>,
}

impl Route {
    /// The route of these settings, with ledgers of `registry`. Calls in flight and refusals are those of `before`, the
    /// route of this name, and so are the figures of a destination, where its policy is the same, and the connections,
    /// where their settings are.
    ///
    /// # Errors
    /// Files that cannot be read, and TLS settings that cannot be used.
    pub(crate) fn new(
        settings: RouteSettings,
        before: Option<&Self>,
        registry: &LedgerRegistry,
    ) -> Result<Self, SettingsFault> {
        let policy = settings.ledger_policy();
        let dialer = Dialer::new(&settings);
        let (mut services, mut clients, mut tunnels) = (Vec::new(), None, None);
        match &settings.target {
            RouteTarget::Upstreams(urls) => {
                let known = before.and_then(|before| before.clients.as_ref());
                let known = clients.insert(UpstreamClients::new(&settings, &dialer, known)?);
                let headers = Arc::new(AttemptHeaderSet::new(&settings.name, &settings.headers)?);
                for url in urls {
                    let kept = before.and_then(|before| before.upstream(url, &policy));
                    let upstream = match kept {
                        Some(kept) => kept,
                        None => {
                            let ledger = registry.ledger(url.destination(), &policy)?;
                            Arc::new(UpstreamServer {
                                url: url.clone(),
                                ledger,
                                stats: DestinationStats::default(),
                            })
                        }
                    };
                    services.push(UpstreamServices::new(&settings, upstream, known, &headers));
                }
            }
            RouteTarget::Tunnels(_) => {
                let same = before.filter(|before| before.settings.policy == settings.policy);
                let kept = same.and_then(|before| before.tunnels.as_ref());
                let kept = kept.map(Tunnels::destinations);
                tunnels = Some(Tunnels::new(&settings, dialer, kept));
            }
        }
        let state = before.map(|before| Arc::clone(&before.state)).unwrap_or_default();
        Ok(Self { settings, services, clients, tunnels, turn: AtomicUsize::new(0), state })
    }

    /// The upstream of this URL, if its ledger follows this policy.
    fn upstream(&self, url: &UpstreamUrl, policy: &Policy) -> Option<Arc<UpstreamServer>> {
        if self.settings.ledger_policy() != *policy {
            return None;
        }
        let found = self.services.iter().find(|it| it.upstream.url == *url);
        found.map(|it| Arc::clone(&it.upstream))
    }

    /// A place for one call; `None` when all are taken.
    pub(super) fn enter(&self) -> Option<RoutePlace> {
        self.state.enter(self.settings.max_in_flight)
    }

    /// The upstream whose turn it is, or the next one whose breaker is not open. The attempts of a call all go to
    /// one upstream, which has one ledger.
    pub(super) fn choose(&self) -> Option<&UpstreamServices> {
        let count = self.services.len();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn = |step: usize| self.services.get(turn.wrapping_add(step) % count.max(1));
        let healthy = (0..count).filter_map(in_turn).find(|it| !it.upstream.is_open());
        healthy.or_else(|| in_turn(0))
    }

    /// Its figures.
    pub(crate) fn snapshot(&self) -> RouteSnapshot {
        let (in_flight, in_flight_refused) = self.state.figures();
        let destinations = match &self.tunnels {
            Some(tunnels) => tunnels.snapshots(),
            None => self.services.iter().map(|it| it.upstream.snapshot()).collect(),
        };
        RouteSnapshot {
            name: self.settings.name.clone(),
            listen: self.settings.listen,
            in_flight,
            max_in_flight: self.settings.max_in_flight,
            in_flight_refused,
            body_bytes: self.state.bodies.bytes(),
            destinations,
        }
    }

    /// Its last refusals.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.state.refusals.last(Some(&self.settings.name))
    }
}

impl UpstreamServices {
    fn new(
        settings: &RouteSettings,
        upstream: Arc<UpstreamServer>,
        clients: &UpstreamClients,
        headers: &Arc<AttemptHeaderSet>,
    ) -> Self {
        let rules = Repeats(Arc::new(settings.retry.clone()));
        let retrier =
            Retrier::new(settings.ledger_policy(), TokioTime).named(constant(&settings.name));
        let attempts = |client: &_, kind| {
            let client = Clone::clone(client);
            AttemptService::new(client, Arc::clone(&upstream), Arc::clone(headers), kind)
        };
        let own = retrier.with_ledger(Arc::clone(&upstream.ledger));
        let layer = http_layer(settings, own.clone(), &rules);
        let plain = attempts(&clients.grpc, AttemptKind::Grpc(grpc_copies(settings)));
        let shown = AttemptHeaders::new().number();
        let grpc = match &settings.service_config {
            Some(config) => {
                let layer = GrpcLayer::new(own.clone()).service_config_beside(config.clone());
                let layer = layer.buffer(settings.retry.replay_limit).attempt_headers(shown);
                GrpcService::ByServiceConfig(layer.layer(plain))
            }
            None => {
                let layer = GrpcLayer::new(own.clone()).idempotent(rules.clone());
                let layer = layer.buffer(settings.retry.replay_limit).attempt_headers(shown);
                GrpcService::ByRoute(layer.layer(plain))
            }
        };
        let http = layer.layer(attempts(&clients.http, AttemptKind::OneByOne));
        let upgrade = layer.layer(attempts(&clients.upgrade, AttemptKind::OneByOne));
        let attempts = attempts(&clients.http, AttemptKind::Hedged);
        Self { upstream, retrier: own, repeats: rules, attempts, http, upgrade, grpc }
    }
}

/// The kind of the attempts that follow the first one of a gRPC call.
fn grpc_copies(settings: &RouteSettings) -> GrpcCopies {
    match &settings.service_config {
        Some(config) => GrpcCopies::ByMethod(Arc::new(config.clone())),
        None if settings.policy.hedge().is_some() => GrpcCopies::Hedges,
        None => GrpcCopies::Retries,
    }
}

fn http_layer(
    settings: &RouteSettings,
    retrier: Retrier<TokioTime, DestinationLedger>,
    rules: &Repeats,
) -> RouteLayer {
    let refresh: NothingToFetch = || ready(());
    let mut layer = StaggerLayer::http(retrier)
        .replay_limit(settings.retry.replay_limit)
        .drain_replies(stagger::http::DRAIN_LIMIT)
        .attempt_headers(AttemptHeaders::new().number().remaining())
        .errors_classified_by(UpstreamErrors)
        .refresh_auth(refresh)
        .idempotent(rules.clone());
    if !settings.retry.after_401 {
        layer = layer.classified_by(HttpReplies::default().with_errors(UpstreamErrors));
    }
    match settings.retry.added_key {
        AddedKey::None => layer,
        AddedKey::Quoted => layer.idempotency_keys(IdempotencyKey::random),
        AddedKey::Unquoted => layer.idempotency_keys(|| IdempotencyKey::random().unquoted()),
    }
}

type RouteLayer = HttpLayer<
    TokioTime,
    DestinationLedger,
    HttpReplies<UpstreamErrors>,
    Repeats,
    Unchanged,
    NothingToFetch,
>;

/// Whether gRPC's own methods are what a route is about: its requests are POSTs of this content type.
pub(super) fn is_grpc(method: &Method, headers: &http::HeaderMap) -> bool {
    let content = headers.get(http::header::CONTENT_TYPE);
    method == Method::POST
        && content.is_some_and(|content| content.as_bytes().starts_with(b"application/grpc"))
}

/// The name of a route as a label, which is a constant by its type. Each name is kept once for the whole process, however
/// often the settings are read again.
fn constant(name: &str) -> &'static str {
    static NAMES: OnceLock<RwLock<Vec<&'static str>>> = OnceLock::new();
    let names = NAMES.get_or_init(RwLock::default);
    let mut names = names.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.iter().find(|known| **known == name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.push(kept);
    kept
}
