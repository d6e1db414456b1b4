//! Services behind each other over real sockets, whose retries must not multiply.
#![cfg(all(feature = "http", feature = "tokio", feature = "tower"))]

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, State};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use stagger::budget::BudgetPlan;
use stagger::http::{AttemptHeaders, InboundAttempt};
use stagger::tower::{InboundLayer, StaggerLayer};
use stagger::{Backoff, ConfigError, Policy, Retrier, Span, TokioTime};
use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::sync::Notify;
use tower::{Layer, ServiceExt};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

/// Three attempts, a few milliseconds apart.
fn retrier() -> Result<Retrier<TokioTime>, ConfigError> {
    let backoff = Backoff::exponential(Span::from_millis(1), Span::from_millis(4))?;
    let policy = Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited);
    Ok(Retrier::new(policy.build()?, TokioTime))
}

/// Asks `url` up to three times; each attempt tells the server as `told`.
async fn ask(
    url: &str,
    told: AttemptHeaders,
) -> Result<StatusCode, Box<dyn StdError + Send + Sync>> {
    let client = Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build_http();
    let service = StaggerLayer::http(retrier()?).attempt_headers(told).layer(client);
    let reply = service.oneshot(Request::get(url).body(Empty::<Bytes>::new())?).await?;
    let status = reply.status();
    reply.into_body().collect().await?;
    Ok(status)
}

async fn serve(router: Router) -> std::io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, router).await });
    Ok(address)
}

/// A service that asks the next one, up to three times.
async fn relay(next: String, told: AttemptHeaders) -> std::io::Result<(Router, String)> {
    let handler = async move || match ask(&next, told).await {
        Ok(status) => status,
        Err(_) => StatusCode::BAD_GATEWAY,
    };
    Ok((Router::new().fallback(handler), "/".to_owned()))
}

/// The requests that reach a server which is always busy, at the end of `relays` services that each retry.
async fn requests_behind(
    relays: usize,
    (first, told): (AttemptHeaders, AttemptHeaders),
    layer: Option<InboundLayer>,
) -> Result<usize, Box<dyn StdError + Send + Sync>> {
    let backend = TestServer::start(Script::always(Reaction::status(503))).await;
    let mut url = backend.url("/");
    for _ in 0..relays {
        let (router, path) = relay(url, told).await?;
        let router = match &layer {
            Some(layer) => router.layer(layer.clone()),
            None => router,
        };
        url = format!("http://{}{path}", serve(router).await?);
    }
    assert_eq!(ask(&url, first).await?, StatusCode::SERVICE_UNAVAILABLE);
    Ok(backend.seen().len())
}

const SILENT: AttemptHeaders = AttemptHeaders::new();
const NUMBERED: AttemptHeaders = AttemptHeaders::new().number();
const AS_ENVOY: AttemptHeaders = AttemptHeaders::new().envoy_number();

#[tokio::test]
async fn three_of_three_attempts_were_nine_requests() -> Done {
    assert_eq!(requests_behind(1, (NUMBERED, NUMBERED), None).await?, 9, "nobody reads them");
    let layer = || Some(InboundLayer::new());
    assert_eq!(requests_behind(1, (SILENT, SILENT), layer()).await?, 9, "no caller tells");
    assert_eq!(requests_behind(1, (NUMBERED, NUMBERED), layer()).await?, 3);
    // Envoy counts without retrying, so only its second attempt tells: three, and one for each other.
    assert_eq!(requests_behind(1, (AS_ENVOY, SILENT), layer()).await?, 3 + 1 + 1);
    Ok(())
}

#[tokio::test]
async fn three_services_of_three_attempts_were_twenty_seven_requests() -> Done {
    assert_eq!(requests_behind(2, (NUMBERED, NUMBERED), None).await?, 27);
    let layer = || Some(InboundLayer::new());
    assert_eq!(requests_behind(2, (NUMBERED, NUMBERED), layer()).await?, 3);
    // A repeat is passed on as one, or the service behind the next would take it for a first attempt: each
    // first attempt of the first two makes three, and each repeat one.
    assert_eq!(requests_behind(2, (AS_ENVOY, AS_ENVOY), layer()).await?, (3 + 1 + 1) + 1 + 1);
    Ok(())
}

#[tokio::test]
async fn a_repeat_is_told_on_as_one() -> Done {
    let backend = TestServer::start(Script::always(Reaction::status(503))).await;
    let (router, path) = relay(backend.url("/"), NUMBERED).await?;
    let url = format!("http://{}{path}", serve(router.layer(InboundLayer::new())).await?);
    ask(&url, NUMBERED).await?;
    let seen = backend.seen();
    let told: Vec<_> = seen.iter().map(|seen| seen.headers["stagger-attempt"].as_bytes()).collect();
    assert_eq!(told, [b"1", b"2", b"3"]);
    Ok(())
}

#[tokio::test]
async fn work_that_a_handler_spawned_retried_for_its_caller() -> Done {
    let backend = TestServer::start(Script::always(Reaction::status(503))).await;
    let url = backend.url("/");
    let handler = |scoped: bool| {
        let url = url.clone();
        async move |Extension(attempt): Extension<InboundAttempt>| {
            let work = async move { ask(&url, SILENT).await.is_ok() };
            let work = if scoped { tokio::spawn(attempt.scope(work)) } else { tokio::spawn(work) };
            work.await.is_ok_and(|answered| answered).to_string()
        }
    };
    let routes = Router::new()
        .route("/spawned", axum::routing::get(handler(false)))
        .route("/scoped", axum::routing::get(handler(true)));
    let address = serve(routes.layer(InboundLayer::new())).await?;
    for (path, requests) in [("spawned", 3), ("scoped", 3 + 1)] {
        assert_eq!(ask(&format!("http://{address}/{path}"), NUMBERED).await?, StatusCode::OK);
        assert_eq!(backend.seen().len(), requests, "{path}");
    }
    Ok(())
}

/// A request with these headers, by a client without a policy.
async fn send(
    address: SocketAddr,
    headers: &[(&'static str, &'static str)],
) -> Result<http::Response<hyper::body::Incoming>, Box<dyn StdError + Send + Sync>> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut request = Request::get(format!("http://{address}/"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Ok(client.request(request.body(Empty::<Bytes>::new())?).await?)
}

#[tokio::test]
async fn a_full_server_took_repeats_before_first_attempts() -> Done {
    let (arrived, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = async |State((arrived, go)): State<(Arc<Notify>, Arc<Notify>)>| {
        arrived.notify_one();
        go.notified().await;
        "done"
    };
    let router =
        Router::new().fallback(handler).with_state((Arc::clone(&arrived), Arc::clone(&go)));
    let address = serve(router.layer(InboundLayer::new().shed_repeats_above(2))).await?;
    let mut first = Vec::new();
    for _ in 0..3 {
        first.push(tokio::spawn(async move { send(address, &[("stagger-attempt", "1")]).await }));
        arrived.notified().await;
    }
    let repeat = [("stagger-attempt", "2")];
    assert_eq!(send(address, &repeat).await?.status(), StatusCode::SERVICE_UNAVAILABLE);
    let grpc = [("grpc-previous-rpc-attempts", "1"), ("content-type", "application/grpc+proto")];
    let reply = send(address, &grpc).await?;
    assert_eq!((reply.status(), &reply.headers()["grpc-status"]), (StatusCode::OK, &"14".parse()?));
    for served in first {
        go.notify_one();
        assert_eq!(served.await??.status(), StatusCode::OK, "first attempts are served");
    }
    let repeat = tokio::spawn(async move { send(address, &repeat).await });
    arrived.notified().await;
    go.notify_one();
    assert_eq!(repeat.await??.status(), StatusCode::OK, "there is room again");
    Ok(())
}
