//! The meaning of each failure to a client of reqwest, over real sockets.
#![cfg(feature = "reqwest")]

use std::error::Error as StdError;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::{ClientBuilder, Method};
use stagger::budget::BudgetPlan;
use stagger::classify::TransportRules;
use stagger::http::IdempotencyKey;
use stagger::reqwest::{CallOptions, Client, ClientOptions, SendError, client_builder};
use stagger::{Backoff, CallReport, Jitter, Outcome, Policy, PolicyBuilder, Span, Stop, Verdict};
use stagger_testkit::server::{
    ConnectionEnd, Identity, Reaction, Reason, RefusingPort, Script, TestServer,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

type Failure = Box<dyn StdError + Send + Sync>;
type Done = Result<(), Failure>;

/// Three attempts, a few milliseconds apart.
fn builder() -> Result<PolicyBuilder, Failure> {
    let backoff = Backoff::exponential(Span::from_millis(2), Span::from_millis(8))?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

fn over(inner: ClientBuilder, options: ClientOptions) -> Result<Client, Failure> {
    // rustls has no provider of its own here; whoever comes second finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(Client::with_options(inner.no_proxy().build()?, builder()?.build()?, options))
}

fn client() -> Result<Client, Failure> {
    over(client_builder(), ClientOptions::new())
}

fn http2() -> Result<Client, Failure> {
    over(client_builder().http2_prior_knowledge(), ClientOptions::new())
}

async fn after(first: Reaction) -> TestServer {
    TestServer::start(Script::of([first]).then(Reaction::ok("done"))).await
}

/// Whether the reply is the name that a provider gives to an empty account.
fn empty_account(_: StatusCode, _: &HeaderMap, body: &[u8]) -> Option<Outcome> {
    let said: serde_json::Value = serde_json::from_slice(body).ok()?;
    let empty = said["error"]["code"] == "insufficient_quota";
    empty.then_some(Outcome::new(Verdict::Permanent))
}

/// A resolver that knows nothing but one failure.
struct Unknown(&'static str);

impl Resolve for Unknown {
    fn resolve(&self, _: Name) -> Resolving {
        let error = io::Error::other(format!("failed to lookup address information: {}", self.0));
        Box::pin(std::future::ready(Err(error.into())))
    }
}

#[tokio::test]
async fn a_chain_printed_the_clients_error_twice() -> Done {
    let refusal = RefusingPort::hold()?;
    let failed = client()?.get(refusal.url("/")).send().await.unwrap_err();
    let said = failed.to_string();
    let mut source = failed.source();
    while let Some(error) = source {
        assert!(!said.contains(&error.to_string()), "{error} is in {said}");
        source = error.source();
    }
    Ok(())
}

#[tokio::test]
async fn an_empty_account_is_not_asked_again_and_a_full_minute_is() -> Done {
    for (code, with_judge, seen) in [
        ("insufficient_quota", true, 1),
        ("rate_limit_exceeded", true, 3),
        ("insufficient_quota", false, 3),
    ] {
        let body = format!(r#"{{"error":{{"code":"{code}","message":"quota per minute"}}}}"#);
        let server =
            TestServer::start(Script::always(Reaction::status(429).body(body.clone()))).await;
        let options = ClientOptions::new();
        let options = if with_judge { options.provider(empty_account) } else { options };
        let client = over(client_builder(), options)?;
        let reply = client.get(server.url("/")).send().await?;
        assert_eq!((reply.status().as_u16(), server.seen().len()), (429, seen), "{code}");
        assert_eq!(reply.text().await?, body, "what the provider's classifier read is still there");
    }
    Ok(())
}

#[tokio::test]
async fn statuses_that_will_not_heal_are_asked_once() -> Done {
    for status in [400, 403, 404, 405, 409, 410, 411, 413, 415, 422, 423, 431, 451, 501, 505, 525] {
        let server = TestServer::start(Script::always(Reaction::status(status))).await;
        let client = client()?;
        let reply = client.get(server.url("/")).send().await?;
        assert_eq!((reply.status().as_u16(), server.seen().len()), (status, 1));
    }
    Ok(())
}

#[tokio::test]
async fn an_overloaded_provider_is_asked_again_but_a_billed_post_is_not() -> Done {
    for status in [408, 429, 502, 504, 520, 529] {
        for (method, seen) in [(Method::GET, 3), (Method::POST, 1)] {
            let server = TestServer::start(Script::always(Reaction::status(status))).await;
            let client = client()?;
            client.request(method.clone(), server.url("/")).send().await?;
            assert_eq!(server.seen().len(), seen, "{method} {status}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_timed_out_request_with_a_hint_is_not_sent_at_once() -> Done {
    let late = Reaction::status(408).header("retry-after", "3600");
    let server = TestServer::start(Script::always(late)).await;
    let report = Arc::new(Mutex::new(CallReport::default()));
    let client = client()?;
    let call = CallOptions::new().report(Arc::clone(&report));
    client.get(server.url("/")).options(call).send().await?;
    assert_eq!(server.seen().len(), 1);
    let report = report.lock().map_err(|_| "poisoned")?;
    assert_eq!(
        (report.stop(), report.hint()),
        (Some(Stop::HintTooLong), Some(Span::from_secs(3_600)))
    );
    Ok(())
}

#[tokio::test]
async fn of_several_hints_the_longest_wins() -> Done {
    for [first, second] in [["0", "7200"], ["7200", "0"], ["soon", "7200"]] {
        let busy = Reaction::status(503).header("retry-after", first);
        let server = TestServer::start(Script::always(busy.header("retry-after", second))).await;
        let report = Arc::new(Mutex::new(CallReport::default()));
        let client = client()?;
        let call = CallOptions::new().report(Arc::clone(&report));
        client.get(server.url("/")).options(call).send().await?;
        let hint = report.lock().map_err(|_| "poisoned")?.hint();
        assert_eq!((hint, server.seen().len()), (Some(Span::from_secs(7_200)), 1));
    }
    Ok(())
}

#[tokio::test]
async fn a_post_above_the_last_stream_of_a_goaway_is_sent_again() -> Done {
    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM] {
        let server = after(Reaction::go_away_below(reason)).await;
        let client = http2()?;
        let reply = client.post(server.url("/")).body("one bolt").send().await?;
        assert_eq!((reply.status(), server.taken()), (StatusCode::OK, 2), "{reason:?}");
        assert!(server.seen().iter().all(|seen| &seen.body[..] == b"one bolt"));
    }
    Ok(())
}

#[tokio::test]
async fn a_post_that_a_goaway_includes_is_not_doubled() -> Done {
    for reason in [Reason::NO_ERROR, Reason::INTERNAL_ERROR] {
        for (method, seen) in [(Method::POST, 1), (Method::PUT, 2)] {
            let server = after(Reaction::go_away_at(reason)).await;
            let client = http2()?;
            let sent = client.request(method.clone(), server.url("/")).send().await;
            assert_eq!((sent.is_ok(), server.taken()), (seen == 2, seen), "{method} {reason:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn no_hidden_retry_is_made_of_a_refused_stream() -> Done {
    let refused = || vec![Reaction::reset_stream(Reason::REFUSED_STREAM); 3];
    let once = builder()?.max_attempts(1).build()?;
    for (inner, hidden) in [(client_builder(), false), (reqwest::Client::builder(), true)] {
        let server = TestServer::start(Script::of(refused()).then(Reaction::ok("done"))).await;
        let client = over(inner.http2_prior_knowledge(), ClientOptions::new())?;
        let call = CallOptions::new().policy(once);
        let sent = client.get(server.url("/")).options(call).send().await;
        // One attempt, and one that is free; reqwest's own retries would get as far as the reply.
        assert_eq!((sent.is_ok(), server.taken()), if hidden { (true, 4) } else { (false, 2) });
    }
    Ok(())
}

#[tokio::test]
async fn a_post_over_a_connection_that_went_stale_is_not_doubled() -> Done {
    for method in [Method::POST, Method::PUT] {
        let server = after(Reaction::ok("first").ending(ConnectionEnd::Close)).await;
        let client = client()?;
        client.get(server.url("/")).send().await?.text().await?;
        let sent = client.request(method.clone(), server.url("/")).send().await;
        let seen = server.seen().iter().filter(|seen| seen.method == method).count();
        assert!(seen <= 1, "{method} was seen {seen} times");
        assert!(sent.is_ok() || method == Method::POST, "{sent:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_asked_for_once() -> Done {
    for (said, attempts, stop) in [
        ("Name or service not known", 1, Stop::Permanent),
        ("No address associated with hostname", 1, Stop::Permanent),
        ("Temporary failure in name resolution", 3, Stop::AttemptsExhausted),
        ("Try again", 3, Stop::AttemptsExhausted),
    ] {
        let inner = client_builder().dns_resolver(Arc::new(Unknown(said)));
        let client = over(inner, ClientOptions::new())?;
        let failed = client.post("http://no.example/").send().await.unwrap_err();
        assert_eq!((failed.stop(), failed.attempts()), (stop, attempts), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_tried_again_for_those_who_say_so() -> Done {
    let rules = TransportRules::default().retry_unknown_names();
    let inner = client_builder().dns_resolver(Arc::new(Unknown("Name or service not known")));
    let client = over(inner, ClientOptions::new().transport_rules(rules))?;
    let failed = client.post("http://no.example/").send().await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::AttemptsExhausted, 3));
    Ok(())
}

#[tokio::test]
async fn a_refused_connection_is_permanent_for_those_who_say_so() -> Done {
    let refusal = RefusingPort::hold()?;
    let options =
        ClientOptions::new().transport_rules(TransportRules::default().connect_is_permanent());
    let client = over(client_builder(), options)?;
    let failed = client.get(refusal.url("/")).send().await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1));
    Ok(())
}

#[tokio::test]
async fn a_bad_certificate_is_tried_again_for_those_who_say_so() -> Done {
    let rules = TransportRules::default().retry_certificates();
    for (identity, attempts) in [(Identity::expired(), Some(3)), (Identity::valid(), None)] {
        let server = TestServer::start_tls(Script::always(Reaction::ok("")), &identity).await;
        let root = reqwest::Certificate::from_pem(identity.authority_pem().as_bytes())?;
        let inner = client_builder().tls_certs_only([root]);
        let client = over(inner, ClientOptions::new().transport_rules(rules))?;
        let sent = client.post(server.url("/")).send().await;
        assert_eq!(sent.err().map(|failed| failed.attempts()), attempts);
    }
    Ok(())
}

/// A proxy that gives every connection this answer, and its count of them.
async fn proxy(answer: &'static str) -> Result<(String, Arc<AtomicUsize>), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let seen = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4_096];
            let _ = socket.read(&mut request).await;
            count.fetch_add(1, Ordering::SeqCst);
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    Ok((url, seen))
}

#[tokio::test]
async fn a_proxy_that_refuses_was_asked_for_every_attempt() -> Done {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (answer, attempts) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", 1),
        ("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", 1),
        ("", 3),
    ] {
        let (url, seen) = proxy(answer).await?;
        let inner = client_builder().proxy(reqwest::Proxy::all(url)?).build()?;
        let client = Client::new(inner, builder()?.build()?);
        let failed = client.get("https://shop.example/").send().await.unwrap_err();
        let found = (failed.attempts(), seen.load(Ordering::SeqCst));
        assert_eq!(found, (attempts, attempts as usize), "{answer:?}: {failed:?}");
    }
    Ok(())
}

#[tokio::test]
async fn https_without_tls_was_tried_for_every_attempt() -> Done {
    let refusal = RefusingPort::hold()?;
    let without_tls = |_: Failure| Failure::from("invalid URL, scheme is not http");
    let layer = tower::util::MapErrLayer::new(without_tls);
    let client = over(client_builder().connector_layer(layer), ClientOptions::new())?;
    let failed = client.get(refusal.url("/")).send().await.unwrap_err();
    let inner = failed.get_ref().and_then(SendError::as_reqwest);
    assert!(inner.is_some_and(reqwest::Error::is_connect), "{failed:?}");
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1));
    Ok(())
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_permanent() -> Done {
    let report = Arc::new(Mutex::new(CallReport::default()));
    let client = client()?;
    let call = CallOptions::new().report(Arc::clone(&report));
    let failed = client.get("no address").options(call).send().await.unwrap_err();
    assert_eq!(failed.stop(), Stop::Permanent);
    assert_eq!(report.lock().map_err(|_| "poisoned")?.stop(), Some(Stop::Permanent));
    let inner = failed.get_ref().and_then(SendError::as_reqwest);
    assert!(inner.is_some_and(reqwest::Error::is_builder), "{failed:?}");
    Ok(())
}

#[tokio::test]
async fn a_put_that_counts_up_is_sent_once_on_the_callers_word() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let client = client()?;
    let call = CallOptions::new().not_idempotent();
    client.put(server.url("/")).options(call).send().await?;
    assert_eq!(server.seen().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_key_stays_for_the_call_and_no_longer() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let options = ClientOptions::new().idempotency_keys(IdempotencyKey::random);
    let client = over(client_builder(), options)?;
    client.post(server.url("/")).body("one bolt").send().await?;
    client.post(server.url("/")).body("one bolt").send().await?;
    client.post(server.url("/")).header("idempotency-key", "mine").send().await?;
    client.get(server.url("/")).send().await?;
    let seen = server.seen();
    let keys: Vec<_> = seen.iter().map(|seen| seen.headers.get("idempotency-key")).collect();
    assert_eq!(keys.len(), 12);
    let calls: Vec<_> = keys.chunks(3).collect();
    assert!(calls.iter().all(|call| call.iter().all(|key| *key == call[0])), "{keys:?}");
    assert!(calls[0][0].is_some() && calls[0][0] != calls[1][0]);
    assert_eq!(calls[2][0].map(|key| key.as_bytes()), Some(&b"mine"[..]));
    assert_eq!(calls[3][0], None);
    Ok(())
}

#[tokio::test]
async fn a_post_that_hangs_is_not_doubled() -> Done {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let client = client()?;
    let policy = builder()?.attempt_timeout(Span::from_millis(100)).build()?;
    let call = CallOptions::new().policy(policy);
    let failed = client.post(server.url("/")).options(call).send().await.unwrap_err();
    assert_eq!((failed.stop(), server.seen().len()), (Stop::NotIdempotent, 1));
    // The limit of reqwest is one for an attempt as well.
    let request = client.get(server.url("/")).timeout(Duration::from_millis(50));
    let failed = request.send().await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::AttemptsExhausted, 3));
    let inner = failed.get_ref().and_then(SendError::as_reqwest);
    assert!(inner.is_some_and(reqwest::Error::is_timeout));
    Ok(())
}

#[tokio::test]
async fn a_wait_past_the_deadline_is_not_begun() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let backoff = Backoff::constant(Span::from_secs(600)).with_jitter(Jitter::None)?;
    let policy = Policy::builder().backoff(backoff).deadline(Span::from_secs(60)).build()?;
    let report = Arc::new(Mutex::new(CallReport::default()));
    let client = client()?;
    let call = CallOptions::new().policy(policy).report(Arc::clone(&report));
    let reply = client.get(server.url("/")).options(call).send().await?;
    assert_eq!((reply.status().as_u16(), server.seen().len()), (503, 1));
    assert_eq!(report.lock().map_err(|_| "poisoned")?.stop(), Some(Stop::DeadlineExceeded));
    Ok(())
}

#[tokio::test]
async fn a_call_dropped_in_its_wait_makes_no_further_attempt() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let backoff = Backoff::constant(Span::from_secs(600)).with_jitter(Jitter::None)?;
    let policy = Policy::builder().backoff(backoff).build()?;
    let client = client()?;
    let call = CallOptions::new().policy(policy);
    let call = client.get(server.url("/")).options(call).send();
    assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
    assert_eq!(server.taken(), 1);
    Ok(())
}
