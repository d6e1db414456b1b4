//! The effect of a policy on the replies of reqwest, and on its slow requests, over real sockets.
#![cfg(feature = "reqwest")]

use std::error::Error as StdError;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Body, Method, Request, Response};
use stagger::budget::BudgetPlan;
use stagger::hedge::HedgePlan;
use stagger::reqwest::{CallOptions, Client, ClientOptions, client_builder};
use stagger::{
    Backoff, CallReport, Done as End, HintRule, HintScope, LongHint, Policy, PolicyBuilder, Ratio,
    Span, Stop,
};
use stagger_testkit::server::{Reaction, Script, TestServer};

type Failure = Box<dyn StdError + Send + Sync>;
type Done = Result<(), Failure>;

/// Three attempts, a few milliseconds apart.
fn builder() -> PolicyBuilder {
    let backoff = Backoff::constant(Span::from_millis(2));
    Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited)
}

fn client(policy: PolicyBuilder) -> Result<Client, Failure> {
    // rustls has no provider of its own here; whoever comes second finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(Client::new(client_builder().no_proxy().build()?, policy.build()?))
}

async fn get(client: &Client, server: &TestServer, call: CallOptions) -> Result<Response, Failure> {
    let request = Request::new(Method::GET, server.url("/").parse()?);
    Ok(client.execute_with(request, call).await?)
}

/// Fails a test that would hang.
async fn soon<F: Future>(call: F) -> Result<F::Output, Failure> {
    Ok(tokio::time::timeout(Duration::from_secs(10), call).await?)
}

/// The least time that this call takes in some tries: a machine may be slow now and then.
async fn fastest(client: &Client, server: &TestServer) -> Result<Span, Failure> {
    let mut least = Span::MAX;
    for _ in 0..5 {
        let report = Arc::new(Mutex::new(CallReport::default()));
        get(client, server, CallOptions::new().report(Arc::clone(&report))).await?;
        least = least.min(report.lock().map_err(|_| "poisoned")?.elapsed());
    }
    Ok(least)
}

/// A body that comes in two pieces, of which the second is late.
struct Late {
    pieces: Vec<&'static str>,
    timer: std::pin::Pin<Box<tokio::time::Sleep>>,
}

impl Late {
    fn new() -> Self {
        let timer = Box::pin(tokio::time::sleep(Duration::from_millis(200)));
        Self { pieces: vec!["bolt", "one "], timer }
    }
}

impl http_body::Body for Late {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        if self.pieces.len() == 1 {
            std::task::ready!(self.timer.as_mut().poll(context));
        }
        let piece = self.pieces.pop().map(|piece| Bytes::from_static(piece.as_bytes()));
        std::task::Poll::Ready(piece.map(|piece| Ok(http_body::Frame::data(piece))))
    }
}

#[tokio::test]
async fn the_hedge_plan_of_the_policy_was_ignored() -> Done {
    let server = TestServer::start(Script::of([Reaction::hang()]).then(Reaction::ok("done"))).await;
    let client = client(builder().hedge(HedgePlan::fixed(Span::from_millis(20), 2)?))?;
    let reply = soon(get(&client, &server, CallOptions::new())).await??;
    assert_eq!((reply.text().await?, server.taken()), ("done".to_owned(), 2));
    Ok(())
}

#[tokio::test]
async fn a_post_has_no_copies() -> Done {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let hedged = builder().hedge(HedgePlan::fixed(Span::from_millis(20), 2)?);
    let client = client(hedged.attempt_timeout(Span::from_millis(200)))?;
    let request = Request::new(Method::POST, server.url("/").parse()?);
    let failed = soon(client.execute(request)).await?.unwrap_err();
    assert_eq!((failed.stop(), server.taken()), (Stop::NotIdempotent, 1));
    Ok(())
}

#[tokio::test]
async fn a_copy_takes_no_bytes_from_the_body_of_the_one_before() -> Done {
    // Whichever copy is whole first hangs, so the other one must be whole too.
    let server = TestServer::start(Script::of([Reaction::hang()]).then(Reaction::ok("done"))).await;
    let hedged = builder().hedge(HedgePlan::fixed(Span::from_millis(20), 2)?);
    let client = client(hedged.max_attempts(2))?;
    let mut request = Request::new(Method::PUT, server.url("/").parse()?);
    *request.body_mut() = Some(Body::wrap(Late::new()));
    let reply = soon(client.execute(request)).await??;
    assert_eq!(reply.text().await?, "done");
    let bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, ["one bolt"; 2]);
    Ok(())
}

#[tokio::test]
async fn a_body_that_stalls_outlived_the_deadline() -> Done {
    for status in [200, 404] {
        let stalled = Reaction::status(status).body("x".repeat(100)).stall(10);
        let server = TestServer::start(Script::always(stalled)).await;
        let client = client(builder().deadline(Span::from_millis(200)))?;
        let mut reply = get(&client, &server, CallOptions::new()).await?;
        assert_eq!((reply.status().as_u16(), reply.content_length()), (status, Some(100)));
        assert_eq!(reply.chunk().await?.map(|chunk| chunk.len()), Some(10));
        let failed = soon(reply.chunk()).await?.expect_err("the deadline has passed");
        assert!(failed.is_timeout(), "{failed:?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_arrived_before_the_deadline_can_be_read_after_it() -> Done {
    let server = TestServer::start(Script::always(Reaction::ok("x".repeat(100)))).await;
    let client = client(builder().deadline(Span::from_millis(200)))?;
    let reply = get(&client, &server, CallOptions::new().buffered(100)).await?;
    // The time passes, and nothing else happens.
    let _ = tokio::time::timeout(Duration::from_millis(300), std::future::pending::<()>()).await;
    assert_eq!(reply.text().await?.len(), 100);
    Ok(())
}

#[tokio::test]
async fn a_reply_with_a_deadline_lost_something_of_its_head_or_its_body() -> Done {
    let text = |length| Reaction::ok("x".repeat(length)).header("x-store", "bolts");
    // All there with the head, in chunks, and too long for one read.
    for (reaction, length) in
        [(text(100), 100), (text(100).chunked(), 100), (text(900_000), 900_000)]
    {
        let server = TestServer::start(Script::always(reaction)).await;
        let client = client(builder().deadline(Span::from_secs(9)))?;
        let request = client.get(server.url("/?bolts#shelf")).header("x-asked", "yes");
        let reply = request.send().await?;
        assert_eq!(reply.headers()["x-store"], "bolts");
        assert_eq!(reply.url().as_str(), server.url("/?bolts"));
        assert!(reply.remote_addr().is_some(), "the extensions are there");
        assert_eq!(reply.text().await?.len(), length);
    }
    Ok(())
}

#[tokio::test]
async fn a_short_reply_could_not_be_read_after_the_deadline() -> Done {
    let server = TestServer::start(Script::always(Reaction::ok("x".repeat(100)))).await;
    let client = client(builder().deadline(Span::from_millis(200)))?;
    let reply = get(&client, &server, CallOptions::new()).await?;
    assert_eq!(reply.content_length(), Some(100));
    // The time passes, and nothing else happens.
    let _ = tokio::time::timeout(Duration::from_millis(300), std::future::pending::<()>()).await;
    assert_eq!(reply.text().await?.len(), 100);
    Ok(())
}

#[tokio::test]
async fn a_bad_reply_did_not_say_why_the_call_ended() -> Done {
    for (status, stop, attempts) in [(503, Stop::AttemptsExhausted, 3), (404, Stop::Permanent, 1)] {
        let server = TestServer::start(Script::always(Reaction::status(status))).await;
        let reply = get(&client(builder())?, &server, CallOptions::new()).await?;
        let end = reply.extensions().get::<End>().ok_or("it says why the call ended")?;
        assert_eq!((reply.status().as_u16(), end.stop, end.attempts), (status, stop, attempts));
    }
    let server = TestServer::start(Script::always(Reaction::ok("done"))).await;
    let reply = get(&client(builder())?, &server, CallOptions::new()).await?;
    assert!(reply.extensions().get::<End>().is_none(), "a success has nothing to explain");
    Ok(())
}

#[tokio::test]
async fn a_404_with_a_slow_body_came_back_late() -> Done {
    let slow = Reaction::status(404).body("x".repeat(100)).stall(10);
    let server = TestServer::start(Script::always(slow)).await;
    let took = fastest(&client(builder())?, &server).await?;
    assert!(took < Span::from_millis(100), "{took}");
    Ok(())
}

#[tokio::test]
async fn reading_a_failed_reply_held_the_call_past_its_deadline() -> Done {
    let slow = Reaction::status(503).body("x".repeat(100)).stall(10);
    let server = TestServer::start(Script::always(slow)).await;
    let client = client(builder().deadline(Span::from_millis(50)))?;
    let took = fastest(&client, &server).await?;
    assert!(took < Span::from_millis(100), "{took}");
    Ok(())
}

#[tokio::test]
async fn a_call_started_at_once_after_the_hint_of_another() -> Done {
    let limited = Reaction::status(429).header("retry-after-ms", "300");
    let server = TestServer::start(Script::of([limited]).then(Reaction::ok("done"))).await;
    let hints = HintRule::default().with_scope(HintScope::Destination);
    let client = client(builder().max_attempts(1).hints(hints))?;
    get(&client, &server, CallOptions::new()).await?;
    let hasty = builder().hints(hints).deadline(Span::from_millis(100)).build()?;
    let refused = client.get(server.url("/")).policy(hasty).send().await.unwrap_err();
    assert_eq!((refused.stop(), server.taken()), (Stop::HintPastDeadline, 1));
    let report = Arc::new(Mutex::new(CallReport::default()));
    get(&client, &server, CallOptions::new().report(Arc::clone(&report))).await?;
    let waited = report.lock().map_err(|_| "poisoned")?.elapsed();
    // The refused call took a little of the pause.
    assert!(waited > Span::from_millis(100), "{waited}");
    Ok(())
}

#[tokio::test]
async fn a_delay_in_the_body_was_not_kept_to() -> Result<(), Failure> {
    const BODY: &str = r#"{"error":{"code":429,"details":[{
        "@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.08s"}]}}"#;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bare = client_builder().no_proxy().build()?;
    let short = HintRule::new(Span::from_millis(50), Ratio::ZERO, LongHint::Stop)?;
    let policy = builder().hints(short).build()?;
    let nothing = |_: http::StatusCode, _: &http::HeaderMap, _: &[u8]| None;
    for (options, stops) in [
        (ClientOptions::new(), false),
        (ClientOptions::new().body_hints(), true),
        (ClientOptions::new().provider(nothing), true),
    ] {
        let busy = || Reaction::status(429).body(BODY);
        let server = TestServer::start(Script::of([busy()]).then(Reaction::ok("done"))).await;
        let client = Client::with_options(bare.clone(), policy, options);
        let reply = get(&client, &server, CallOptions::new()).await?;
        let end = reply.extensions().get::<End>().map(|end| (end.stop, end.hint));
        let too_long = (Stop::HintTooLong, Some(Span::from_millis(80)));
        assert_eq!(end, stops.then_some(too_long));
        assert_eq!(reply.text().await?, if stops { BODY } else { "done" });

        // A header goes before the body.
        let header = busy().header("retry-after-ms", "1");
        let server = TestServer::start(Script::of([header]).then(Reaction::ok("done"))).await;
        assert_eq!(get(&client, &server, CallOptions::new()).await?.text().await?, "done");
    }
    Ok(())
}
