//! Several servers behind one layer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response};
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::tonic::{CallError, GrpcLayer};
use stagger::tower::Idempotent;
use tonic::body::Body;
use tower::{Layer, ServiceExt, service_fn};

use crate::Done;
use crate::client::{METHOD, Text, hello, quick, retrier};

/// Whether these calls succeed, each to the server of its client's origin, where a.example is away and
/// the others are at first.
async fn calls<D>(
    layer: GrpcLayer<stagger::TokioTime, stagger::LocalLedger, D>,
    origins: &[&str],
) -> Vec<bool>
where
    D: Idempotent<http::Uri> + Clone,
{
    let seen = Arc::new(Mutex::new(Vec::new()));
    let service = layer.layer(service_fn(move |request: Request<Body>| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let host = request.uri().host().unwrap_or_default().to_owned();
        let healed = host != "a.example" && seen.contains(&host);
        seen.push(host);
        let mut reply = Response::new(Body::empty());
        reply.headers_mut().insert("grpc-status", if healed { 0 } else { 14 }.into());
        std::future::ready(Ok::<_, Infallible>(reply))
    }));
    let mut succeeded = Vec::new();
    for origin in origins {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = format!("{origin}/store.Orders/Get").parse().expect("an address");
        let result: Result<_, CallError> = service.clone().oneshot(request).await;
        succeeded.push(result.is_ok());
    }
    succeeded
}

#[tokio::test]
async fn a_server_without_retries_left_took_those_of_another() -> Done {
    let one = quick()?.budget(BudgetPlan::Tokens(TokenPlan::new(1, 1)?));
    let layer = GrpcLayer::new(retrier(one)?).idempotent(|_: &http::Uri| true);
    let origins = ["http://a.example", "http://a.example", "http://b.example"];
    assert_eq!(calls(layer, &origins).await, [false, false, true]);
    let config = serde_json::from_value(serde_json::json!({
        "methodConfig": [{ "name": [{}], "retryPolicy": crate::client::retrying(3, &["UNAVAILABLE"]) }],
        "retryThrottling": { "maxTokens": 4, "tokenRatio": 1 },
    }))?;
    let layer = GrpcLayer::new(retrier(quick()?)?).service_config(config);
    assert_eq!(calls(layer, &origins).await, [false, false, true], "throttling is a server's own");
    Ok(())
}

/// The host in the URI of a request as a layer above the channel sees it.
async fn host_above_the_channel(origin: http::Uri) -> Option<String> {
    let seen = Arc::new(Mutex::new(None));
    let host = Arc::clone(&seen);
    let channel = service_fn(move |request: Request<Body>| {
        let uri = request.uri().host().map(str::to_owned);
        *host.lock().unwrap_or_else(PoisonError::into_inner) = uri;
        std::future::ready(Ok::<_, Infallible>(Response::new(Body::empty())))
    });
    let mut client = tonic::client::Grpc::with_origin(channel, origin);
    let path = http::uri::PathAndQuery::from_static(METHOD);
    // The reply has no message, which is an error; only the request matters.
    let _reply = client.unary(hello(), path, Text).await;
    seen.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[tokio::test]
async fn a_request_names_its_server_only_where_its_client_has_an_origin() {
    assert_eq!(host_above_the_channel(http::Uri::default()).await, None);
    let origin = http::Uri::from_static("http://a.example");
    assert_eq!(host_above_the_channel(origin).await.as_deref(), Some("a.example"));
}
