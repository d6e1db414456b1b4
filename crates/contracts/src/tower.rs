//! The tower layers.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use stagger::http::{DeadlineBody, HttpReplies, IdempotencyKey, Replay};
use stagger::tower::{ServiceError, StaggerLayer};
use stagger::{LocalLedger, Policy, Retrier, TokioTime};
use tower::{Layer, ServiceExt, service_fn};

use crate::asynch::{HyperPool, ONE_DESTINATION};
use crate::{Ask, CallOutcome, ContractCaller, Integration};

/// The tower layer over requests that can be cloned.
#[derive(Clone, Copy, Debug)]
pub struct TowerClone;

impl Integration for TowerClone {
    fn name(&self) -> &'static str {
        "tower"
    }

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        let layer = StaggerLayer::new(Retrier::new(policy, TokioTime).with_ledger(ledger))
            .classified_by(HttpReplies::default())
            .idempotent(Ask::is_idempotent);
        let pool = HyperPool::new();
        let service = layer.layer(service_fn(move |ask: Ask| {
            let pool = pool.clone();
            async move { pool.send(ask.request()?).await }
        }));
        Box::new(move |ask| {
            let service = service.clone();
            Box::pin(async { end(service.oneshot(ask).await) })
        })
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        let pool = HyperPool::by_default();
        let layer = StaggerLayer::new(Retrier::new(policy, TokioTime));
        let service =
            layer.classified_by(HttpReplies::default()).layer(service_fn(move |ask: Ask| {
                let pool = pool.clone();
                async move { pool.send(ask.request()?).await }
            }));
        Box::new(move |ask| {
            let service = service.clone();
            Box::pin(async { end(service.oneshot(ask).await) })
        })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
            "empty budget of one host leaves the others alone" => Some(ONE_DESTINATION),
            "slow call gets a second copy" => Some(ONE_COPY),
            "idempotency key is the same on every attempt" => {
                Some("requests are cloned with their headers; StaggerLayer::http makes keys")
            }
            "body that cannot be sent again is said so" => {
                Some("only requests that can be cloned have the service")
            }
            _ => None,
        }
    }
}

/// Why the layers for services have no second copy.
const ONE_COPY: &str = "the layer makes one copy at a time";

/// The tower layer for HTTP, over bodies that are kept while they are sent.
#[derive(Clone, Copy, Debug)]
pub struct TowerHttp;

impl Integration for TowerHttp {
    fn name(&self) -> &'static str {
        "tower http"
    }

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        let layer = StaggerLayer::http(Retrier::new(policy, TokioTime).with_ledger(ledger));
        let pool = HyperPool::new();
        Box::new(move |ask| {
            let (mut layer, pool) = (layer.clone(), pool.clone());
            if ask.keyed {
                layer = layer.idempotency_keys(IdempotencyKey::random);
            }
            let service = layer.layer(service_fn(move |request: Request<Replay<Full<Bytes>>>| {
                let pool = pool.clone();
                async move { pool.send(request).await.map(|reply| reply.map(Full::new)) }
            }));
            Box::pin(async move { answered(service.oneshot(request(&ask)).await).await })
        })
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        let layer = StaggerLayer::http(Retrier::new(policy, TokioTime));
        let service = layer.layer(Client::builder(TokioExecutor::new()).build_http());
        Box::new(move |ask| {
            let service = service.clone();
            Box::pin(async move { answered(service.oneshot(request(&ask)).await).await })
        })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
            "slow call gets a second copy" => Some(ONE_COPY),
            _ => None,
        }
    }
}

fn request(ask: &Ask) -> Request<Full<Bytes>> {
    ask.request().expect("the addresses are those of our servers")
}

/// The reply as its caller reads it, after the call.
async fn answered<B>(
    result: Result<Response<DeadlineBody<B, TokioTime>>, ServiceError>,
) -> CallOutcome
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let reply = match result {
        Ok(reply) => reply,
        Err(error) => return end(Err(error)),
    };
    let (head, body) = reply.into_parts();
    match body.collect().await {
        Ok(body) => end(Ok(Response::from_parts(head, body.to_bytes()))),
        Err(error) => CallOutcome::failed(&*error),
    }
}

/// A reply that came back says no stop reason: only errors carry one.
fn end(result: Result<Response<Bytes>, ServiceError>) -> CallOutcome {
    let ended = result.as_ref().err().and_then(ServiceError::end);
    let (stop, attempts) = (ended.map(|e| e.stop()), ended.map(|e| e.attempts()));
    CallOutcome { result: result.map_err(|error| error.to_string()), stop, attempts }
}
