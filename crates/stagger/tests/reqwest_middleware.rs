//! The middleware of reqwest-middleware, over real sockets.
#![cfg(feature = "reqwest-middleware")]

use std::error::Error as StdError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use stagger::budget::BudgetPlan;
use stagger::reqwest::{CallOptions, StaggerMiddleware, client_builder};
use stagger::{Backoff, Policy, Span};
use stagger_testkit::server::{Reaction, Script, TestServer};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

/// Counts the requests that go through it.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

#[async_trait::async_trait]
impl Middleware for Counter {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        self.0.fetch_add(1, Ordering::Relaxed);
        next.run(request, extensions).await
    }
}

fn policy(attempts: u32) -> Result<Policy, Box<dyn StdError + Send + Sync>> {
    let backoff = Backoff::constant(Span::from_millis(2));
    let policy = Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited);
    Ok(policy.max_attempts(attempts).build()?)
}

fn chain(
    outer: &Counter,
    inner: &Counter,
) -> Result<ClientWithMiddleware, Box<dyn StdError + Send + Sync>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = ClientBuilder::new(client_builder().no_proxy().build()?);
    let client = client.with(outer.clone()).with(StaggerMiddleware::new(policy(3)?));
    Ok(client.with(inner.clone()).build())
}

#[tokio::test]
async fn what_lies_inside_happens_once_an_attempt() -> Done {
    let script = Script::of([Reaction::status(503), Reaction::reset()]);
    let server = TestServer::start(script.then(Reaction::ok("done"))).await;
    let (outer, inner) = (Counter::default(), Counter::default());
    let reply = chain(&outer, &inner)?.put(server.url("/")).body("one bolt").send().await?;
    assert_eq!(reply.text().await?, "done");
    assert_eq!((outer.0.load(Ordering::Relaxed), inner.0.load(Ordering::Relaxed)), (1, 3));
    assert!(server.seen().iter().all(|seen| &seen.body[..] == b"one bolt"));
    Ok(())
}

#[tokio::test]
async fn a_request_has_a_policy_of_its_own() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let client = chain(&Counter::default(), &Counter::default())?;
    let call = CallOptions::new().policy(policy(2)?).idempotent();
    let reply = client.post(server.url("/")).with_extension(call).send().await?;
    assert_eq!((reply.status().as_u16(), server.seen().len()), (503, 2));
    Ok(())
}

#[tokio::test]
async fn a_body_that_breaks_off_is_read_again_when_buffered() -> Done {
    let script = Script::of([Reaction::ok("whole").cut(2)]).then(Reaction::ok("whole"));
    let server = TestServer::start(script).await;
    let client = chain(&Counter::default(), &Counter::default())?;
    let call = CallOptions::new().buffered(100);
    let reply = client.get(server.url("/")).with_extension(call).send().await?;
    assert_eq!((reply.text().await?, server.seen().len()), ("whole".to_owned(), 2));
    Ok(())
}

#[tokio::test]
async fn a_failed_call_says_why() -> Done {
    let server = TestServer::start(Script::always(Reaction::reset())).await;
    let client = chain(&Counter::default(), &Counter::default())?;
    let failed = client.get(server.url("/")).send().await.unwrap_err();
    assert!(failed.to_string().contains("after 3 attempts"), "{failed}");
    Ok(())
}
