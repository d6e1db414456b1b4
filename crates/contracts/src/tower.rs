//! The tower layers.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use stagger::http::{HttpReplies, IdempotencyKey, Replay};
use stagger::tower::{ServiceError, StaggerLayer};
use stagger::{LocalLedger, Policy, Retrier, TokioTime};
use tower::{Layer, ServiceExt, service_fn};

use crate::hyper::Pool;
use crate::{Ask, End, Integration, Later};

/// The tower layer over requests that can be cloned.
#[derive(Clone, Copy, Debug)]
pub struct TowerClone;

impl Integration for TowerClone {
    fn name(&self) -> &'static str {
        "tower"
    }

    fn calls(&self, policy: Policy, ledger: Arc<LocalLedger>, asks: Vec<Ask>) -> Later<Vec<End>> {
        Box::pin(async move {
            let retrier = Retrier::new(policy, TokioTime).with_ledger(ledger);
            let layer = StaggerLayer::new(retrier)
                .judged_by(HttpReplies::default())
                .idempotent(Ask::is_idempotent);
            let pool = Pool::new();
            let service = layer.layer(service_fn(move |ask: Ask| {
                let pool = pool.clone();
                async move { pool.send(ask.request()?).await }
            }));
            let mut ends = Vec::new();
            for ask in asks {
                let result = service.clone().oneshot(ask).await;
                ends.push(end(result));
            }
            ends
        })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
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

/// The tower layer for HTTP, over bodies that are kept while they are sent.
#[derive(Clone, Copy, Debug)]
pub struct TowerHttp;

impl Integration for TowerHttp {
    fn name(&self) -> &'static str {
        "tower http"
    }

    fn calls(&self, policy: Policy, ledger: Arc<LocalLedger>, asks: Vec<Ask>) -> Later<Vec<End>> {
        Box::pin(async move {
            let mut layer = StaggerLayer::http(Retrier::new(policy, TokioTime).with_ledger(ledger));
            if asks.iter().any(|ask| ask.keyed) {
                layer = layer.idempotency_keys(IdempotencyKey::random);
            }
            let pool = Pool::new();
            let service = layer.layer(service_fn(move |request: Request<Replay<Full<Bytes>>>| {
                let pool = pool.clone();
                async move { pool.send(request).await.map(|reply| reply.map(Full::new)) }
            }));
            let mut ends = Vec::new();
            for ask in asks {
                let request = ask.request().expect("the addresses are those of our servers");
                let result = service.clone().oneshot(request).await;
                ends.push(end(match result {
                    Ok(reply) => Ok(whole(reply).await),
                    Err(error) => Err(error),
                }));
            }
            ends
        })
    }
}

async fn whole(reply: Response<Full<Bytes>>) -> Response<Bytes> {
    let (head, body) = reply.into_parts();
    let Ok(body) = body.collect().await;
    Response::from_parts(head, body.to_bytes())
}

/// A reply that came back says no stop reason: only errors carry one.
fn end(result: Result<Response<Bytes>, ServiceError>) -> End {
    let ended = result.as_ref().err().and_then(ServiceError::end);
    let (stop, attempts) = (ended.map(|e| e.stop()), ended.map(|e| e.attempts()));
    End { result: result.map_err(|error| error.to_string()), stop, attempts }
}
