//! Tunnels (CONNECT): bytes that nobody reads, to servers that the route names, under the breaker alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::uri::Authority;
use http::{Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use stagger::{Clock, Outcome, Policy, Retrier, Span, Stop, TokioTime};
use tokio::net::TcpStream;

use super::in_flight::{Held, ReplyBody};
use super::refusal::OwnReply;
use super::relay::relay;
use crate::config::RouteSettings;
use crate::destination::{BoxError, DestinationLedger, Dialer, UpstreamErrors, snapshot};
use crate::stats::{AttemptCopy, DestinationSnapshot, DestinationStats};

/// Destinations of one route whose breakers are kept: a pattern such as `*.example.com` names any number.
const MAX_DESTINATIONS: usize = 1000;

/// One server behind tunnels.
#[derive(Debug)]
pub(super) struct TunnelDestination {
    ledger: Arc<DestinationLedger>,
    stats: DestinationStats,
}

/// The tunnels of a route.
#[derive(Debug)]
pub(super) struct Tunnels {
    policy: Policy,
    dialer: Dialer,
    /// The time after which a silent tunnel is closed.
    idle: Span,
    known: TunnelDestinations,
}

type TunnelDestinations = Arc<Mutex<BTreeMap<String, Arc<TunnelDestination>>>>;

impl Tunnels {
    /// Tunnels to the servers that a route names. Only the breaker of the policy has a say, because what a tunnel carries cannot be sent
    /// again.
    pub(super) fn new(
        settings: &RouteSettings,
        dialer: Dialer,
        kept: Option<TunnelDestinations>,
    ) -> Self {
        let (policy, idle) = (&settings.policy, settings.tunnel_idle_timeout);
        let once = policy.to_builder().max_attempts(1).build();
        // OK because a policy that was valid stays so with fewer attempts.
        Self { policy: once.unwrap_or(*policy), dialer, idle, known: kept.unwrap_or_default() }
    }

    /// The destinations that are known, to be kept by the settings that follow.
    pub(super) fn destinations(&self) -> TunnelDestinations {
        Arc::clone(&self.known)
    }

    /// The figures of the destinations that are known.
    pub(super) fn snapshots(&self) -> Vec<DestinationSnapshot> {
        let known = self.lock();
        known.iter().map(|(name, it)| snapshot(name, &it.stats, &it.ledger)).collect()
    }

    /// Connects, and carries bytes both ways once the client has its reply.
    pub(super) async fn open(
        &self,
        request: Request<Incoming>,
        (to, held): (&Authority, Held),
    ) -> Result<Response<ReplyBody>, OwnReply> {
        let destination = self.destination(to);
        destination.stats.call();
        let server = self.connect(to, &destination).await?;
        destination.stats.success();
        let (client, idle) = (hyper::upgrade::on(request), self.idle);
        tokio::spawn(async move {
            if let Ok(client) = client.await {
                relay(TokioIo::new(client), server, (held, idle)).await;
            }
        });
        Ok(Response::new(ReplyBody::default()))
    }

    async fn connect(
        &self,
        to: &Authority,
        destination: &TunnelDestination,
    ) -> Result<TcpStream, OwnReply> {
        let retrier =
            Retrier::new(self.policy, TokioTime).with_ledger(Arc::clone(&destination.ledger));
        let uri = Uri::builder().scheme("http").authority(to.clone()).path_and_query("/").build();
        let uri = uri.map_err(|error| malformed(&error.to_string()))?;
        let attempt = || {
            destination.stats.attempt(AttemptCopy::First);
            self.dialer.connect(uri.clone())
        };
        let connecting = retrier.retry(attempt).classified_by(ByConnect);
        connecting.await.map_err(|end| {
            let stop = match end.stop() {
                // The one attempt of a tunnel is never followed by another.
                Stop::AttemptsExhausted | Stop::Permanent => {
                    destination.stats.error();
                    "connect_failed"
                }
                stop => stop.name(),
            };
            destination.stats.stop(stop);
            let until = destination.ledger.stats(TokioTime.now()).breaker_until;
            let after = until.map_or(self.policy.backoff().base(), |until| until - TokioTime.now());
            let detail = format!("no tunnel to {to}: {end}");
            let mut refusal = OwnReply::for_now(stop, detail, after);
            refusal.attempts = end.attempts();
            refusal.destination = Some(to.to_string());
            if end.stop() == Stop::Permanent {
                refusal.status = StatusCode::BAD_GATEWAY;
            }
            refusal
        })
    }

    fn destination(&self, to: &Authority) -> Arc<TunnelDestination> {
        let mut known = self.lock();
        let name = to.as_str().to_ascii_lowercase();
        if let Some(destination) = known.get(&name) {
            return Arc::clone(destination);
        }
        let destination = Arc::new(TunnelDestination {
            ledger: Arc::new(DestinationLedger::local(&self.policy)),
            stats: DestinationStats::default(),
        });
        // Beyond the bound a destination is one call's own, which bounds the memory rather than the callers.
        if known.len() < MAX_DESTINATIONS {
            known.insert(name, Arc::clone(&destination));
        }
        destination
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<TunnelDestination>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failed connect counts against the breaker.
#[derive(Clone, Copy, Debug)]
struct ByConnect;

impl<T> stagger::Classifier<T, BoxError> for ByConnect {
    fn classify(&mut self, result: &Result<T, BoxError>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, |error| UpstreamErrors::outcome(&**error))
    }
}

/// A request of CONNECT that names no server.
pub(super) fn malformed(why: &str) -> OwnReply {
    OwnReply::final_(StatusCode::BAD_REQUEST, "malformed", why)
}
