//! reqwest under a policy, over real sockets.
#![cfg(feature = "reqwest")]

use std::error::Error as StdError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::StatusCode;
use reqwest::{Body, Method, Request};
use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::engine::breaker::Destination;
use stagger::http::{AttemptHeaders, IdempotencyKey};
use stagger::reqwest::{CallOptions, Client, ClientOptions, SendError, client_builder};
use stagger::{
    Backoff, CallReport, Clock, NextStep, Policy, PolicyBuilder, Retrier, Span, Stop, TokioTime,
    Verdict,
};
use stagger_testkit::server::{Identity, Reaction, Reason, RefusingPort, Script, TestServer};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

/// Three attempts, a few milliseconds apart.
fn builder() -> Result<PolicyBuilder, Box<dyn StdError + Send + Sync>> {
    let backoff = Backoff::exponential(Span::from_millis(2), Span::from_millis(8))?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

fn policy() -> Result<Policy, Box<dyn StdError + Send + Sync>> {
    Ok(builder()?.build()?)
}

/// rustls has no provider of its own here; whoever comes second finds it installed.
fn plain() -> reqwest::ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    client_builder().no_proxy()
}

fn bare() -> Result<reqwest::Client, reqwest::Error> {
    plain().build()
}

fn client() -> Result<Client, Box<dyn StdError + Send + Sync>> {
    with(ClientOptions::new())
}

fn with(options: ClientOptions) -> Result<Client, Box<dyn StdError + Send + Sync>> {
    Ok(Client::with_options(bare()?, policy()?, options))
}

fn order(method: Method, url: &str) -> Result<Request, Box<dyn StdError + Send + Sync>> {
    let mut request = Request::new(method, url.parse()?);
    *request.body_mut() = Some(Body::from("one bolt"));
    Ok(request)
}

async fn after(first: Reaction) -> TestServer {
    TestServer::start(Script::of([first]).then(Reaction::ok("done"))).await
}

/// A body that does not tell that it is bytes.
struct Stream(Option<Bytes>);

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        std::task::Poll::Ready(self.0.take().map(|bytes| Ok(http_body::Frame::data(bytes))))
    }
}

#[tokio::test]
async fn a_body_has_equal_bytes_on_the_wire() -> Done {
    let script = Script::of([Reaction::status(503), Reaction::status(502)]);
    let server = TestServer::start(script.then(Reaction::ok("done"))).await;
    let reply = client()?.execute(order(Method::PUT, &server.url("/orders/7"))?).await?;
    assert_eq!(reply.url().as_str(), server.url("/orders/7"));
    assert_eq!(reply.text().await?, "done");
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    for seen in seen {
        let length = &seen.headers["content-length"];
        assert_eq!((&seen.body[..], length.as_bytes()), (&b"one bolt"[..], &b"8"[..]));
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_is_sent_again_unless_it_is_too_long() -> Done {
    for (bytes, attempts, status) in [(1_000, 2, 200), (100_000, 1, 503)] {
        let server = after(Reaction::status(503)).await;
        let mut request = order(Method::PUT, &server.url("/"))?;
        let whole = Bytes::from(vec![b'x'; bytes]);
        *request.body_mut() = Some(Body::wrap(Stream(Some(whole.clone()))));
        let report = Arc::new(Mutex::new(CallReport::default()));
        let call = CallOptions::new().report(Arc::clone(&report));
        let reply = client()?.execute_with(request, call).await?;
        assert_eq!(reply.status().as_u16(), status);
        let stop = report.lock().map_err(|_| "poisoned")?.stop();
        let expected = if attempts == 1 { Stop::NotReplayable } else { Stop::Succeeded };
        assert_eq!(stop, Some(expected));
        let seen = server.seen();
        assert_eq!(seen.len(), attempts);
        assert!(seen.iter().all(|seen| seen.body == whole));
    }
    Ok(())
}

#[tokio::test]
async fn the_last_reply_is_returned_with_its_body() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503).body("come later"))).await;
    let report = Arc::new(Mutex::new(CallReport::default()));
    let call = CallOptions::new().report(Arc::clone(&report));
    let reply = client()?.execute_with(order(Method::GET, &server.url("/a"))?, call).await?;
    assert_eq!((reply.status().as_u16(), reply.url().path()), (503, "/a"));
    assert_eq!((reply.content_length(), reply.text().await?), (Some(10), "come later".to_owned()));
    let report = report.lock().map_err(|_| "poisoned")?;
    assert_eq!((report.stop(), report.attempts()), (Some(Stop::AttemptsExhausted), 3));
    Ok(())
}

#[tokio::test]
async fn a_failed_reply_gives_its_connection_back() -> Done {
    for (bytes, connections) in [(20_000, 1), (200_000, 2)] {
        let server = after(Reaction::status(503).body("b".repeat(bytes))).await;
        let reply = client()?.execute(order(Method::GET, &server.url("/"))?).await?;
        assert_eq!(reply.status(), StatusCode::OK);
        assert_eq!(server.connections(), connections, "after {bytes} bytes");
    }
    Ok(())
}

#[tokio::test]
async fn a_failed_reply_without_an_end_does_not_hold_the_call() -> Done {
    let server = after(Reaction::status(503).body("b".repeat(100)).stall(10)).await;
    let reply = client()?.execute(order(Method::GET, &server.url("/"))?).await?;
    assert_eq!((reply.status(), server.seen().len()), (StatusCode::OK, 2));
    Ok(())
}

#[tokio::test]
async fn a_post_is_not_doubled() -> Done {
    for failure in [Reaction::status(503), Reaction::reset(), Reaction::close()] {
        let server = TestServer::start(Script::always(failure)).await;
        let _ = client()?.execute(order(Method::POST, &server.url("/"))?).await;
        assert_eq!(server.seen().len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_post_with_a_key_or_on_the_callers_word_is_sent_again() -> Done {
    let key = IdempotencyKey::random();
    for call in [CallOptions::new().idempotency_key(key), CallOptions::new().idempotent()] {
        let has_key = format!("{call:?}").contains("bits");
        let server = after(Reaction::status(503)).await;
        client()?.execute_with(order(Method::POST, &server.url("/"))?, call).await?;
        let seen = server.seen();
        assert_eq!(seen.len(), 2);
        for seen in seen {
            let sent = seen.headers.get("idempotency-key");
            assert_eq!(sent, has_key.then(|| key.value()).as_ref());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_post_that_nobody_took_is_sent_again() -> Done {
    let refusal = RefusingPort::hold()?;
    let failed = client()?.execute(order(Method::POST, &refusal.url("/"))?).await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::AttemptsExhausted, 3));
    assert!(matches!(failed.into_inner(), Some(SendError::Reqwest(error)) if error.is_connect()));
    Ok(())
}

#[tokio::test]
async fn a_server_that_hangs_up_is_asked_again() -> Done {
    let script = Script::of([Reaction::close(), Reaction::reset()]).then(Reaction::ok("done"));
    let server = TestServer::start(script).await;
    let reply = client()?.execute(order(Method::PUT, &server.url("/"))?).await?;
    assert_eq!((reply.status(), server.seen().len()), (StatusCode::OK, 3));
    Ok(())
}

#[tokio::test]
async fn a_refused_stream_is_sent_again_once_and_counted_by_nobody_else() -> Done {
    let refused = Reaction::reset_stream(Reason::REFUSED_STREAM);
    let server = after(refused).await;
    let bare = plain().http2_prior_knowledge().build()?;
    let report = Arc::new(Mutex::new(CallReport::default()));
    let call = CallOptions::new().report(Arc::clone(&report));
    let client = Client::new(bare, policy()?);
    let reply = client.execute_with(order(Method::POST, &server.url("/"))?, call).await?;
    assert_eq!((reply.status(), server.taken()), (StatusCode::OK, 2));
    assert_eq!(report.lock().map_err(|_| "poisoned")?.history().iter().len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_bad_certificate_is_permanent() -> Done {
    for identity in [Identity::expired(), Identity::wrong_name(), Identity::self_signed()] {
        let server = TestServer::start_tls(Script::always(Reaction::ok("")), &identity).await;
        let root = reqwest::Certificate::from_pem(identity.authority_pem().as_bytes())?;
        let bare = plain().tls_certs_only([root]).build()?;
        let client = Client::new(bare, policy()?);
        let failed = client.execute(order(Method::GET, &server.url("/"))?).await.unwrap_err();
        assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1), "{failed:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_scheme_that_nobody_speaks_is_permanent() -> Done {
    let failed = client()?.execute(order(Method::GET, "gopher://a.example/")?).await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1));
    Ok(())
}

#[tokio::test]
async fn a_redirect_without_end_is_permanent() -> Done {
    let server =
        TestServer::start(Script::always(Reaction::status(302).header("location", "/"))).await;
    let failed = client()?.execute(order(Method::GET, &server.url("/"))?).await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1));
    Ok(())
}

#[tokio::test]
async fn a_hint_longer_than_allowed_ends_the_call() -> Done {
    let busy = Reaction::status(429).header("retry-after", "3600");
    let server = TestServer::start(Script::always(busy)).await;
    let report = Arc::new(Mutex::new(CallReport::default()));
    let call = CallOptions::new().report(Arc::clone(&report));
    let reply = client()?.execute_with(order(Method::GET, &server.url("/"))?, call).await?;
    assert_eq!((reply.status().as_u16(), server.seen().len()), (429, 1));
    assert_eq!(report.lock().map_err(|_| "poisoned")?.hint(), Some(Span::from_secs(3_600)));
    Ok(())
}

#[tokio::test]
async fn a_body_that_breaks_off_is_read_again_when_buffered() -> Done {
    let whole = "w".repeat(1_000);
    for buffered in [true, false] {
        let script = Script::of([Reaction::ok(whole.clone()).cut(10)]);
        let server = TestServer::start(script.then(Reaction::ok(whole.clone()))).await;
        let call = CallOptions::new();
        let call = if buffered { call.buffered(1_000) } else { call };
        let reply = client()?.execute_with(order(Method::GET, &server.url("/"))?, call).await?;
        assert_eq!(reply.text().await.ok(), buffered.then(|| whole.clone()));
        assert_eq!(server.seen().len(), 1 + usize::from(buffered));
    }
    Ok(())
}

#[tokio::test]
async fn a_reply_that_is_too_large_is_an_error_with_its_limit() -> Done {
    for reply in [Reaction::ok("x".repeat(11)), Reaction::ok("x".repeat(11)).chunked()] {
        let server = TestServer::start(Script::always(reply)).await;
        let call = CallOptions::new().buffered(10);
        let request = order(Method::GET, &server.url("/"))?;
        let failed = client()?.execute_with(request, call).await.unwrap_err();
        assert_eq!(server.seen().len(), 1);
        assert!(matches!(failed.into_inner(), Some(SendError::TooLarge { limit: 10 })));
    }
    Ok(())
}

#[tokio::test]
async fn the_limit_of_an_attempt_covers_a_buffered_body_and_no_other() -> Done {
    let policy = builder()?.attempt_timeout(Span::from_millis(150)).build()?;
    let client = Client::new(bare()?, policy);
    let stalled = || after(Reaction::ok("x".repeat(100)).stall(10));
    let server = stalled().await;
    let call = CallOptions::new().buffered(1_000);
    let reply = client.execute_with(order(Method::GET, &server.url("/"))?, call).await?;
    assert_eq!((reply.text().await?, server.seen().len()), ("done".to_owned(), 2));
    let server = stalled().await;
    let mut reply = client.execute(order(Method::GET, &server.url("/"))?).await?;
    assert_eq!(reply.chunk().await?.map(|chunk| chunk.len()), Some(10));
    assert_eq!(server.seen().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_hanging_server_is_asked_again() -> Done {
    let server = after(Reaction::hang()).await;
    let policy = builder()?.attempt_timeout(Span::from_millis(150)).build()?;
    let reply = Client::new(bare()?, policy).execute(order(Method::GET, &server.url("/"))?).await?;
    assert_eq!((reply.status(), server.seen().len()), (StatusCode::OK, 2));
    Ok(())
}

#[tokio::test]
async fn credentials_are_refreshed_once() -> Done {
    for (refusals, status) in [(1, 200), (2, 401)] {
        let script = Script::of(vec![Reaction::status(401); refusals]);
        let server = TestServer::start(script.then(Reaction::ok("done"))).await;
        let token = Arc::new(AtomicUsize::new(0));
        let (read, write) = (Arc::clone(&token), Arc::clone(&token));
        let options = ClientOptions::new()
            .prepare(move |request, _| {
                let value = read.load(Ordering::Relaxed).into();
                request.headers_mut().insert("authorization", value);
            })
            .refresh(move || {
                write.fetch_add(1, Ordering::Relaxed);
                std::future::ready(())
            });
        let reply = with(options)?.execute(order(Method::POST, &server.url("/"))?).await?;
        assert_eq!(reply.status().as_u16(), status);
        let seen = server.seen();
        let sent: Vec<_> =
            seen.iter().map(|seen| seen.headers["authorization"].as_bytes()).collect();
        assert_eq!(sent, [b"0", b"1"]);
        assert_eq!(token.load(Ordering::Relaxed), 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_misdirected_request_goes_over_a_fresh_connection() -> Done {
    for (fresh, seen) in [(true, 2), (false, 1)] {
        let server = after(Reaction::status(421)).await;
        let mut options = ClientOptions::new();
        if fresh {
            let bare = plain().pool_max_idle_per_host(0).build()?;
            options = options.fresh_client(bare);
        }
        with(options)?.execute(order(Method::POST, &server.url("/"))?).await?;
        assert_eq!((server.seen().len(), server.connections()), (seen, seen));
    }
    Ok(())
}

#[tokio::test]
async fn a_request_that_came_too_early_is_sent_again_once() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(425))).await;
    let reply = client()?.execute(order(Method::GET, &server.url("/"))?).await?;
    assert_eq!((reply.status().as_u16(), server.seen().len()), (425, 2));
    Ok(())
}

#[tokio::test]
async fn every_attempt_tells_its_number() -> Done {
    let server = after(Reaction::status(503)).await;
    let options = ClientOptions::new().attempt_headers(AttemptHeaders::new().number());
    with(options)?.execute(order(Method::GET, &server.url("/"))?).await?;
    let numbers: Vec<_> =
        server.seen().iter().map(|seen| seen.headers["stagger-attempt"].clone()).collect();
    assert_eq!(numbers, ["1", "2"]);
    Ok(())
}

#[tokio::test]
async fn an_open_breaker_costs_no_request() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let policy = builder()?.breaker(BreakerPlan::builder().consecutive(1).build()?).build()?;
    let client = Client::new(bare()?, policy);
    client.execute(order(Method::GET, &server.url("/"))?).await?;
    let failed = client.clone().execute(order(Method::GET, &server.url("/b"))?).await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::BreakerOpen, 0));
    assert_eq!(server.seen().len(), 1, "nor does a retry");
    Ok(())
}

#[tokio::test]
async fn callers_that_fail_for_ever_are_stopped_by_the_budget() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let backoff = Backoff::constant(Span::from_millis(1));
    let client = Client::new(bare()?, Policy::builder().backoff(backoff).build()?);
    for _ in 0..50 {
        client.clone().execute(order(Method::GET, &server.url("/"))?).await?;
    }
    let seen = server.seen().len();
    assert!(seen < 80, "{seen} requests for 50 calls, where 150 had no budget");
    Ok(())
}

#[tokio::test]
async fn layers_do_not_multiply() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let (client, url) = (client()?, server.url("/"));
    let outer = Retrier::new(policy()?, TokioTime);
    let failed = outer
        .retry(|| async {
            let request = Request::new(Method::GET, url.parse().expect("a URL"));
            let reply = client.execute(request).await.expect("a reply");
            if reply.status().is_success() { Ok(()) } else { Err(reply.status()) }
        })
        .when(|_| true);
    assert!(failed.await.is_err());
    assert_eq!(server.seen().len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_call_dropped_by_an_outer_timeout_got_its_retry_for_free() -> Done {
    let server =
        TestServer::start(Script::of([Reaction::status(503)]).then(Reaction::hang())).await;
    let backoff = Backoff::constant(Span::from_millis(1));
    let client = Client::new(bare()?, Policy::builder().backoff(backoff).build()?);
    let call = client.execute(order(Method::GET, &server.url("/"))?);
    let limit = std::time::Duration::from_millis(300);
    assert!(tokio::time::timeout(limit, call).await.is_err());
    assert_eq!(server.seen().len(), 2);
    let destination = Destination::of_url(&server.url("/"))?;
    let stats = client.ledgers().stats(TokioTime.now(), &destination).ok_or("used")?;
    assert_eq!(
        (stats.grants, stats.refunds),
        (1, 0),
        "the retry was on the wire, so it stays paid"
    );
    Ok(())
}

#[test]
fn calls_can_be_spawned() {
    fn is_send<T: Send>(_: &T) {}
    let call = async {
        let client = client().ok()?;
        client.execute(order(Method::GET, "http://127.0.0.1/").ok()?).await.ok()
    };
    is_send(&call);
}

#[tokio::test]
async fn every_attempt_is_told_with_what_follows() -> Done {
    let limited = Reaction::status(429).header("retry-after-ms", "1");
    let server =
        TestServer::start(Script::of([Reaction::hang(), limited]).then(Reaction::ok("done"))).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let options = ClientOptions::new().on_attempt(move |attempt| {
        let status =
            attempt.result.map(|result| result.as_ref().map(|reply| reply.status().as_u16()).ok());
        let Ok(mut heard) = heard.lock() else { return };
        heard.push((attempt.number, status, attempt.outcome.verdict, attempt.next));
    });
    let policy = builder()?.attempt_timeout(Span::from_millis(300)).build()?;
    let client = Client::with_options(bare()?, policy, options);
    client.get(server.url("/")).send().await?;
    let told = told.lock().map_err(|_| "poisoned")?;
    let known: Vec<_> = told.iter().map(|told| (told.0, told.1, told.2)).collect();
    let expected = [
        (1, None, Verdict::Transient),
        (2, Some(Some(429)), Verdict::Throttled),
        (3, Some(Some(200)), Verdict::Ok),
    ];
    assert_eq!(known, expected);
    let waits = |next, least, most| match next {
        NextStep::Retry(delay) => {
            delay >= Span::from_micros(least) && delay <= Span::from_micros(most)
        }
        _ => false,
    };
    assert!(waits(told[0].3, 0, 2_000), "{told:?}");
    assert!(waits(told[1].3, 1_000, 4_500), "{told:?}");
    assert_eq!(told[2].3, NextStep::Stop(Stop::Succeeded));
    Ok(())
}

#[tokio::test]
async fn a_request_that_was_sent_the_usual_way_bypassed_the_policy() -> Done {
    let script = Script::of(vec![Reaction::status(503); 5]);
    let server = TestServer::start(script.then(Reaction::ok("done"))).await;
    let breaker = BreakerPlan::builder().consecutive(2).build()?;
    let client = Client::new(bare()?, builder()?.max_attempts(2).build()?);
    for status in [503, 503, 200, 200, 200] {
        assert_eq!(client.get(server.url("/")).send().await?.status().as_u16(), status);
    }
    assert_eq!(server.seen().len(), 8, "the first three calls were retried");
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let client = Client::new(bare()?, builder()?.breaker(breaker).build()?);
    let mut refused = 0;
    for _ in 0..5 {
        refused += usize::from(client.get(server.url("/")).send().await.is_err());
    }
    assert_eq!((server.seen().len(), refused), (2, 4), "the breaker opens in the first call");
    Ok(())
}

#[tokio::test]
async fn a_request_is_built_as_reqwest_builds_it() -> Done {
    let server = after(Reaction::status(503)).await;
    let client = client()?;
    let request = client
        .post(server.url("/orders"))
        .header("x-one", "1")
        .headers([(http::HeaderName::from_static("x-two"), "2".parse()?)].into_iter().collect())
        .bearer_auth("secret")
        .query(&[("page", "2")])
        .json(&["one bolt"])
        .version(http::Version::HTTP_11)
        .timeout(std::time::Duration::from_secs(10))
        .idempotency_key(IdempotencyKey::random());
    let copy = request.try_clone().ok_or("bytes can be cloned")?.build()?;
    assert_eq!(copy.url().query(), Some("page=2"));
    assert_eq!(request.send().await?.status(), StatusCode::OK);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for seen in seen {
        let header = |name: &str| seen.headers.get(name).and_then(|value| value.to_str().ok());
        assert_eq!((header("x-one"), header("x-two")), (Some("1"), Some("2")));
        assert_eq!(header("authorization"), Some("Bearer secret"));
        assert_eq!(header("content-type"), Some("application/json"));
        assert_eq!(&seen.body[..], br#"["one bolt"]"#);
    }
    Ok(())
}

#[tokio::test]
async fn a_form_and_a_password_are_sent_on_every_attempt() -> Done {
    let server = after(Reaction::status(503)).await;
    let request = client()?.put(server.url("/")).basic_auth("me", Some("secret"));
    request.form(&[("part", "one bolt")]).send().await?;
    for seen in server.seen() {
        assert_eq!(
            (&seen.body[..], seen.headers["authorization"].as_bytes()),
            (&b"part=one+bolt"[..], &b"Basic bWU6c2VjcmV0"[..])
        );
    }
    assert_eq!(server.seen().len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_request_has_settings_of_its_own() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503).body("come later"))).await;
    let (client, report) = (client()?, Arc::new(Mutex::new(CallReport::default())));
    let once = builder()?.max_attempts(1).build()?;
    client.get(server.url("/")).policy(once).send().await?;
    client.put(server.url("/")).not_idempotent().report(Arc::clone(&report)).send().await?;
    assert_eq!(server.seen().len(), 2, "one attempt for each");
    assert_eq!(report.lock().map_err(|_| "poisoned")?.stop(), Some(Stop::NotIdempotent));
    let server = TestServer::start(Script::always(Reaction::ok("x".repeat(11)))).await;
    let failed = client.get(server.url("/")).buffered(10).send().await.unwrap_err();
    assert!(matches!(failed.into_inner(), Some(SendError::TooLarge { limit: 10 })));
    Ok(())
}

#[cfg(feature = "reqwest-multipart")]
#[tokio::test]
async fn a_multipart_form_is_sent_again() -> Done {
    let server = after(Reaction::status(503)).await;
    let form = reqwest::multipart::Form::new().text("part", "one bolt");
    client()?.put(server.url("/")).multipart(form).send().await?;
    let seen = server.seen();
    assert!(seen.len() == 2 && seen[0].body == seen[1].body, "{seen:?}");
    assert!(String::from_utf8_lossy(&seen[0].body).contains("one bolt"));
    Ok(())
}
