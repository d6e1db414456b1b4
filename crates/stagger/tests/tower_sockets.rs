//! HTTP through the tower layer over real sockets: hyper's client below it, and axum around it.
#![cfg(all(feature = "http", feature = "tokio", feature = "tower"))]

use std::error::Error as StdError;
use std::time::Duration;

use axum::Router;
use axum::error_handling::HandleErrorLayer;
use axum::routing::put;
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::http::{ByBoxedChain, DRAIN_LIMIT, Replay};
use stagger::tower::{HttpLayer, ServiceError, StaggerLayer};
use stagger::{
    AttemptInfo, Backoff, Cause, ConfigError, Policy, Retrier, Span, Stop, TokioTime, Verdict,
};
use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};
use tower::{Layer, ServiceBuilder, ServiceExt};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;
type Hyper = Client<HttpConnector, Replay<Full<Bytes>>>;

/// Three attempts, a few milliseconds apart.
fn retrier() -> Result<Retrier<TokioTime>, ConfigError> {
    let backoff = Backoff::exponential(Span::from_millis(2), Span::from_millis(8))?;
    let policy = Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited);
    Ok(Retrier::new(policy.build()?, TokioTime))
}

fn layer() -> Result<HttpLayer<TokioTime>, ConfigError> {
    Ok(StaggerLayer::http(retrier()?))
}

/// hyper's client, without the retries that it makes by itself.
fn client() -> Hyper {
    Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build_http()
}

fn order(method: &str, url: &str) -> Result<Request<Full<Bytes>>, http::Error> {
    Request::builder().method(method).uri(url).body(Full::new(Bytes::from_static(b"one bolt")))
}

#[tokio::test]
async fn a_body_has_equal_bytes_on_the_wire() -> Done {
    let script = Script::of([Reaction::status(503), Reaction::status(502)]);
    let server = TestServer::start(script.then(Reaction::ok("done"))).await;
    let service = layer()?.layer(client());
    let reply = service.oneshot(order("PUT", &server.url("/orders/7"))?).await?;
    assert_eq!(reply.into_body().collect().await?.to_bytes(), "done");
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    for seen in seen {
        assert_eq!(
            (&seen.body[..], &seen.headers["content-length"]),
            (&b"one bolt"[..], &"8".parse()?)
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_drained_reply_gives_its_connection_back() -> Done {
    let busy = || Reaction::status(503).body("b".repeat(20_000));
    for (limit, connections) in [(DRAIN_LIMIT, 1), (0, 2)] {
        let server = TestServer::start(Script::of([busy()]).then(Reaction::ok("done"))).await;
        // Long enough for the body to arrive.
        let backoff = Backoff::constant(Span::from_millis(100));
        let backoff = backoff.with_jitter(stagger::Jitter::None)?;
        let policy = Policy::builder().backoff(backoff).build()?;
        let layer = StaggerLayer::http(Retrier::new(policy, TokioTime)).drain_replies(limit);
        let reply = layer.layer(client()).oneshot(order("PUT", &server.url("/"))?).await?;
        assert_eq!(reply.status(), StatusCode::OK);
        assert_eq!(server.connections(), connections, "reading up to {limit} bytes");
    }
    Ok(())
}

#[tokio::test]
async fn a_post_that_nobody_took_is_sent_again() -> Done {
    let refusal = RefusingPort::hold()?;
    let failed =
        layer()?.layer(client()).oneshot(order("POST", &refusal.url("/"))?).await.unwrap_err();
    let end = failed.end().ok_or("a call was begun")?;
    assert_eq!((end.stop(), end.attempts()), (Stop::AttemptsExhausted, 3));
    Ok(())
}

#[tokio::test]
async fn a_post_that_was_reset_is_not() -> Done {
    let server = TestServer::start(Script::always(Reaction::reset())).await;
    let service = layer()?.layer(client());
    let failed = service.oneshot(order("POST", &server.url("/"))?).await.unwrap_err();
    assert_eq!(failed.end().map(|end| end.attempts()), Some(1));
    assert_eq!(server.seen().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_server_that_hangs_up_is_asked_again() -> Done {
    let script = Script::of([Reaction::close(), Reaction::reset()]).then(Reaction::ok("done"));
    let server = TestServer::start(script).await;
    let service = layer()?.layer(client());
    let reply = service.oneshot(order("PUT", &server.url("/"))?).await?;
    assert_eq!(reply.status(), StatusCode::OK);
    assert_eq!(server.seen().len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_server_that_always_hangs_up_was_healthy_to_the_breaker() -> Done {
    let server = TestServer::start(Script::always(Reaction::close())).await;
    let breaker = BreakerPlan::builder().minimum_calls(5).build()?;
    let policy = Policy::builder().breaker(breaker).max_attempts(1).build()?;
    let service = StaggerLayer::http(Retrier::new(policy, TokioTime)).layer(client());
    for _ in 0..20 {
        let failed = service.clone().oneshot(order("GET", &server.url("/"))?).await;
        assert!(failed.is_err(), "{failed:?}");
    }
    assert_eq!(server.seen().len(), 5, "the breaker opened");
    Ok(())
}

#[tokio::test]
async fn a_time_limit_below_the_layer_was_permanent() -> Done {
    let server = TestServer::start(Script::of([Reaction::hang()]).then(Reaction::ok("done"))).await;
    let service = ServiceBuilder::new()
        .layer(layer()?.errors_classified_by(ByBoxedChain))
        .timeout(Duration::from_millis(100))
        .service(client());
    let reply = service.oneshot(order("GET", &server.url("/"))?).await?;
    assert_eq!((reply.status(), server.seen().len()), (StatusCode::OK, 2));

    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let service = ServiceBuilder::new()
        .layer(layer()?.errors_classified_by(ByBoxedChain))
        .timeout(Duration::from_millis(50))
        .service(client());
    let failed = service.oneshot(order("GET", &server.url("/"))?).await.unwrap_err();
    let last = failed.end().and_then(|end| end.history().last()).ok_or("a call was begun")?;
    assert_eq!((last.verdict, last.cause), (Verdict::Transient, Cause::Timeout));
    Ok(())
}

#[tokio::test]
async fn a_router_is_asked_again() -> Done {
    let handler = |request: Request<axum::body::Body>| async move {
        let attempt = request.extensions().get::<AttemptInfo>().map_or(0, |attempt| attempt.number);
        let body =
            request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let status = if attempt < 3 { StatusCode::BAD_GATEWAY } else { StatusCode::OK };
        (status, body)
    };
    let failed =
        |error: ServiceError| async move { (StatusCode::GATEWAY_TIMEOUT, error.to_string()) };
    let around = ServiceBuilder::new().layer(HandleErrorLayer::new(failed)).layer(layer()?);
    let router = Router::new().route("/orders/{id}", put(handler)).layer(around);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/orders/7", listener.local_addr()?);
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let plain: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let reply =
        tokio::time::timeout(Duration::from_secs(10), plain.request(order("PUT", &url)?)).await??;
    assert_eq!(reply.status(), StatusCode::OK);
    assert_eq!(reply.into_body().collect().await?.to_bytes(), "one bolt");
    server.abort();
    Ok(())
}
