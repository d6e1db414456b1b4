//! Attempts over real sockets, against a server with faults on order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use stagger::{Clock, Hint, Instant, Span, StdTime};
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, Endpoint, HeaderTemplate, REPLY_LIMIT, Secret, SecretKind,
    TraceContext,
};
use stagger_sender::{
    Received, SendOptions, Sender, TOLERANCE, Verifier, Written, check_header, generate_secret,
    public_key_text,
};
use stagger_testkit::server::{ConnectionEnd, Identity, Reaction, Script, SeenRequest, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::endpoint::{SECRET, endpoint, message, private};

/// A body of the vectors: parsing and serializing it again changes the signed bytes.
const BODY: &str = r#"{"amount": 10.0,"id":"évt_1"}"#;

fn sender() -> Sender {
    Sender::new(private()).expect("no certificates to read")
}

async fn send(sender: &Sender, endpoint: &Endpoint) -> AttemptAnswer {
    sender.send(endpoint, &message(), Bytes::from_static(BODY.as_bytes()), 1).await
}

/// The answer of the endpoint for one reaction.
async fn ask(reaction: Reaction) -> AttemptAnswer {
    let server = TestServer::start(Script::always(reaction)).await;
    send(&sender(), &endpoint(&server.url("/hook"))).await
}

pub(crate) fn field<'s>(seen: &'s SeenRequest, name: &str) -> &'s str {
    seen.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

pub(crate) fn wall() -> u64 {
    StdTime::wall().duration_since(UNIX_EPOCH).expect("after it").as_secs()
}

#[tokio::test]
async fn the_stored_bytes_arrive_under_headers_that_verify() {
    let server = TestServer::start(Script::always(Reaction::ok("thanks"))).await;
    let before = wall();
    let answer =
        sender().send(&endpoint(&server.url("/hook?a=%20b")), &message(), BODY.into(), 7).await;
    assert_eq!((answer.result, &answer.reply[..]), (Ok(200), &b"thanks"[..]));
    assert_eq!((answer.detail, answer.hint), (None, None));
    assert!(answer.latency > Span::ZERO);

    let seen = &server.seen()[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/hook?a=%20b"));
    assert_eq!(seen.body, BODY);
    assert_eq!(field(seen, "host"), server.address().to_string());
    assert_eq!(field(seen, "content-type"), "application/json");
    assert_eq!(field(seen, "content-length"), BODY.len().to_string());
    assert_eq!(field(seen, "user-agent"), concat!("stagger/", env!("CARGO_PKG_VERSION")));
    assert_eq!(field(seen, "stagger-attempt"), "7");
    assert_eq!(field(seen, "webhook-id"), message().id.to_string());
    assert!(!seen.headers.contains_key("accept-encoding"));
    // aws/aws-sdk-go #486: signed before the pause instead of when it is sent.
    let timestamp: u64 = field(seen, "webhook-timestamp").parse().expect("seconds");
    assert!((before..=wall()).contains(&timestamp));

    let verifier = Verifier::parse([SECRET]).expect("a key");
    let received = Received {
        id: field(seen, "webhook-id"),
        timestamp: field(seen, "webhook-timestamp"),
        signature: field(seen, "webhook-signature"),
        body: &seen.body,
    };
    let now = Instant::ORIGIN + Span::from_secs(wall());
    assert_eq!(verifier.verify(&received, now, TOLERANCE), Ok(()));
}

#[tokio::test]
async fn a_node_whose_lease_ended_while_it_connected_wrote_its_request_all_the_same() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let (sender, endpoint) = (sender(), endpoint(&server.url("/")));
    let target = sender.prepare(&endpoint);
    let holds = Arc::new(AtomicBool::new(true));
    let lease = Arc::clone(&holds);
    let written = || {
        let lease = Arc::clone(&lease);
        Written::permitted_by(move || lease.load(Relaxed))
    };
    let attempt =
        async || sender.send_noting(&target, (&message(), BODY.into()), 1, &written()).await;
    assert_eq!(attempt().await.result, Ok(200));
    // The next finds a connection that waits, and the one after it makes a new one.
    holds.store(false, Relaxed);
    for _ in 0..2 {
        let refused = attempt().await;
        assert_eq!(refused.result, Err(AttemptFailure::Stopped));
        assert!(!refused.written);
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn all_secrets_in_force_sign_and_a_replaced_one_does_not() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let mut endpoint = endpoint(&server.url("/"));
    let ed25519 = generate_secret(SecretKind::Asymmetric).expect("randomness");
    let gone = Secret { until: Some(Instant::ORIGIN), ..endpoint.secrets[0].clone() };
    endpoint.secrets.extend([ed25519.clone(), gone.clone()]);
    assert_eq!(send(&sender(), &endpoint).await.result, Ok(200));
    let seen = &server.seen()[0];
    assert_eq!(field(seen, "webhook-signature").split(' ').count(), 2);
    let public = public_key_text(&ed25519).expect("it has one");
    let received = Received {
        id: field(seen, "webhook-id"),
        timestamp: field(seen, "webhook-timestamp"),
        signature: field(seen, "webhook-signature"),
        body: &seen.body,
    };
    let now = Instant::ORIGIN + Span::from_secs(wall());
    let verifier = Verifier::parse([public.as_str()]).expect("a key");
    assert_eq!(verifier.verify(&received, now, TOLERANCE), Ok(()));

    endpoint.secrets = vec![gone];
    assert_eq!(send(&sender(), &endpoint).await.result, Err(AttemptFailure::Unbuildable));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn headers_are_filled_in_on_each_attempt() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let header = |name: &str, value: &str| HeaderTemplate {
        name: name.into(),
        value: value.into(),
        sensitive: false,
    };
    let mut endpoint = endpoint(&server.url("/"));
    endpoint.headers = vec![
        header("authorization", "Bearer abc"),
        header("user-agent", "mine/1"),
        header("x-trace", "{event.type}/{message.id}/{attempt.number}"),
    ];
    let sender = sender();
    assert_eq!(sender.check(&endpoint), Ok(()));
    let target = sender.prepare(&endpoint);
    for number in [1, 2] {
        let answer = sender.send_to(&target, &message(), BODY.into(), number).await;
        assert_eq!(answer.result, Ok(200));
        let seen = server.seen().pop().expect("one more");
        let trace = format!("invoice.paid/{}/{number}", message().id);
        assert_eq!(field(&seen, "x-trace"), trace);
        assert_eq!(field(&seen, "authorization"), "Bearer abc");
        assert_eq!(field(&seen, "user-agent"), "mine/1");
    }
}

/// netbox-community/netbox #22746, ZerosAndOnesLLC/AiFw #311.
#[tokio::test]
async fn a_header_that_was_stored_broken_is_never_sent() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let headers = [
        ("x-a\r\nx-b", "1"),
        ("x-a", "1\r\nx-b: 2"),
        ("x-a", "{event.type}\nx-b: 2"),
        ("authorization", "Bearer abc\n"),
        ("content-length", "0"),
        ("webhook-signature", "v1,AAAA"),
    ];
    for (name, value) in headers {
        let mut endpoint = endpoint(&server.url("/"));
        let header = HeaderTemplate { name: name.into(), value: value.into(), sensitive: true };
        assert!(check_header(&header).is_err());
        endpoint.headers = vec![header];
        assert!(sender().check(&endpoint).is_err());
        let answer = send(&sender(), &endpoint).await;
        assert_eq!(answer.result, Err(AttemptFailure::Unbuildable), "{name} {value}");
        assert!(answer.detail.is_some_and(|text| !text.contains("Bearer")));
    }
    let mut message = message();
    message.content_type = "text/plain\r\nx-b: 2".into();
    let answer = sender().send(&endpoint(&server.url("/")), &message, BODY.into(), 1).await;
    assert_eq!(answer.result, Err(AttemptFailure::Unbuildable));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_retry_hint_of_a_reply_is_read_unless_it_is_a_success() {
    let hint = |secs| Some(Hint::AtLeast(Span::from_secs(secs)));
    let busy = ask(Reaction::status(429).header("retry-after", "7")).await;
    assert_eq!((busy.result, busy.hint), (Ok(429), hint(7)));
    let dated = Reaction::status(503)
        .header("date", "Wed, 21 Oct 2015 07:28:00 GMT")
        .header("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT");
    assert_eq!(ask(dated).await.hint, hint(30));
    let fine = ask(Reaction::status(202).header("retry-after", "7")).await;
    assert_eq!((fine.result, fine.hint), (Ok(202), None));
    for status in [204, 301, 404, 410, 500] {
        let answer = ask(Reaction::status(status)).await;
        assert_eq!((answer.result, answer.hint), (Ok(status), None));
    }
}

#[tokio::test]
async fn each_way_to_break_has_its_name() {
    for reaction in [Reaction::reset(), Reaction::close(), Reaction::reset_unread()] {
        let answer = ask(reaction).await;
        assert_eq!(answer.result, Err(AttemptFailure::Transport), "{:?}", answer.detail);
        assert!(answer.written, "the receiver has seen it");
    }
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", free.local_addr().expect("bound"));
    drop(free);
    let refused = send(&sender(), &endpoint(&url)).await;
    assert_eq!((refused.result, refused.written), (Err(AttemptFailure::Connect), false));
    let answer = send(&sender(), &endpoint("not a url")).await;
    assert_eq!(answer.result, Err(AttemptFailure::Unbuildable));
}

#[tokio::test]
async fn a_receiver_that_hangs_costs_the_timeout_and_no_more() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let mut endpoint = endpoint(&server.url("/"));
    endpoint.timeout = Span::from_millis(50);
    let answer = send(&sender(), &endpoint).await;
    assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Timeout), true));
    assert!(answer.latency >= endpoint.timeout && answer.latency < Span::from_secs(5));
    // The connection is closed with the attempt.
    server.until_open(0).await;
}

#[tokio::test]
async fn an_attempt_that_is_dropped_closes_its_connection() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let (endpoint, sender) = (endpoint(&server.url("/")), sender());
    let attempt = tokio::spawn(async move { send(&sender, &endpoint).await });
    server.until_taken(1).await;
    attempt.abort();
    server.until_open(0).await;
}

/// kubernetes-sigs/external-dns #6484 and others: read in full, then cut.
#[tokio::test]
async fn a_long_body_is_read_to_its_bound_and_dropped() {
    let server = TestServer::start(Script::always(Reaction::ok(vec![b'a'; 10 << 20]))).await;
    let answer = send(&sender(), &endpoint(&server.url("/"))).await;
    assert_eq!((answer.result, answer.reply.len()), (Ok(200), REPLY_LIMIT));
    server.until_open(0).await;
}

#[tokio::test]
async fn a_body_that_drips_cannot_hold_the_attempt() {
    let slow = Reaction::ok(vec![b'a'; 100]).drip(Duration::from_secs(5));
    let server = TestServer::start(Script::always(slow)).await;
    let began = StdTime.now();
    let answer = send(&sender(), &endpoint(&server.url("/"))).await;
    assert_eq!((answer.result, answer.reply.len()), (Ok(200), 0));
    assert!(StdTime.now() - began < Span::from_secs(4));
}

#[tokio::test]
async fn a_body_without_its_end_changes_no_verdict() {
    let cut = Reaction::ok("abcdef").cut(3).ending(ConnectionEnd::Reset);
    let answer = ask(cut).await;
    assert_eq!(answer.result, Ok(200));
    let answer = ask(Reaction::ok("abcdef").stall(3)).await;
    assert_eq!((answer.result, &answer.reply[..]), (Ok(200), &b"abc"[..]));
}

#[tokio::test]
async fn a_compressed_body_is_not_unpacked() {
    // The head of a gzip member; the rest does not matter.
    let packed = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0; 1 << 20]].concat();
    let bomb = Reaction::ok(packed.clone()).header("content-encoding", "gzip");
    let answer = ask(bomb).await;
    assert_eq!((answer.result, &answer.reply[..]), (Ok(200), &packed[..REPLY_LIMIT]));
}

/// Sends `bytes` for ever to each client until it disconnects; returns the number of bytes taken.
async fn endless(
    first: &'static [u8],
    then: &'static [u8],
) -> (String, tokio::task::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        _ = stream.read(&mut [0; 4096]).await;
        let mut sent = 0;
        if stream.write_all(first).await.is_ok() {
            while let Ok(n) = stream.write(then).await {
                sent += n;
            }
        }
        sent
    });
    (url, task)
}

#[tokio::test]
async fn a_head_without_an_end_is_cut_off() {
    let (url, task) = endless(b"HTTP/1.1 200 OK\r\nx-a: ", &[b'a'; 1024]).await;
    let answer = send(&sender(), &endpoint(&url)).await;
    assert_eq!(answer.result, Err(AttemptFailure::Transport), "{:?}", answer.detail);
    // The kernel's buffers take some, and we no more than our own bound.
    assert!(task.await.expect("no panic") < 16 << 20);

    let (url, _task) = endless(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n").await;
    assert_eq!(send(&sender(), &endpoint(&url)).await.result, Err(AttemptFailure::Transport));
}

#[tokio::test]
async fn a_body_without_an_end_is_cut_off() {
    let head = b"HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n";
    let (url, task) = endless(head, &[b'a'; 1024]).await;
    let answer = send(&sender(), &endpoint(&url)).await;
    assert_eq!((answer.result, answer.reply.len()), (Ok(500), REPLY_LIMIT));
    assert!(task.await.expect("no panic") < 16 << 20);
}

#[tokio::test]
async fn a_reply_that_is_not_http_is_a_transport_failure() {
    let (url, _task) = endless(b"SSH-2.0-OpenSSH_9.9\r\n", b"").await;
    assert_eq!(send(&sender(), &endpoint(&url)).await.result, Err(AttemptFailure::Transport));
}

#[tokio::test]
async fn a_connection_serves_many_attempts() {
    let script = Script::of([Reaction::ok("x".repeat(5000)), Reaction::status(500).chunked()]);
    let server = TestServer::start(script).await;
    let (endpoint, sender) = (endpoint(&server.url("/")), sender());
    for status in [200, 500, 200, 200] {
        assert_eq!(send(&sender, &endpoint).await.result, Ok(status));
    }
    assert_eq!((server.seen().len(), server.connections()), (4, 1));
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_waited_costs_no_attempt() {
    let server =
        TestServer::start(Script::always(Reaction::ok("a").ending(ConnectionEnd::Close))).await;
    let (endpoint, sender) = (endpoint(&server.url("/")), sender());
    for _ in 0..20 {
        assert_eq!(send(&sender, &endpoint).await.result, Ok(200));
        server.until_open(0).await;
    }
    assert_eq!((server.seen().len(), server.connections()), (20, 20));
}

/// The request may have been seen: it is not sent again behind the engine's back.
#[tokio::test]
async fn a_connection_that_breaks_after_the_request_is_a_failed_attempt() {
    let server = TestServer::start(Script::of([Reaction::ok("a"), Reaction::reset()])).await;
    let (endpoint, sender) = (endpoint(&server.url("/")), sender());
    assert_eq!(send(&sender, &endpoint).await.result, Ok(200));
    assert_eq!(send(&sender, &endpoint).await.result, Err(AttemptFailure::Transport));
    assert_eq!((server.seen().len(), server.connections()), (2, 1));
}

#[tokio::test]
async fn only_a_certificate_of_a_trusted_authority_for_this_name_is_spoken_to() {
    let identities = [
        (Identity::valid(), Ok(200)),
        (Identity::expired(), Err(AttemptFailure::Tls)),
        (Identity::self_signed(), Err(AttemptFailure::Tls)),
        (Identity::wrong_name(), Err(AttemptFailure::Tls)),
    ];
    for (identity, result) in identities {
        let server = TestServer::start_tls(Script::always(Reaction::ok("")), &identity).await;
        let roots = identity.authority_pem().into_bytes();
        let trusting = Sender::new(SendOptions { roots, ..private() }).expect("a certificate");
        let answer = send(&trusting, &endpoint(&server.url("/"))).await;
        assert_eq!(answer.result, result, "{:?}", answer.detail);
        let answer = send(&sender(), &endpoint(&server.url("/"))).await;
        assert_eq!(answer.result, Err(AttemptFailure::Tls), "an unknown authority");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_no_server_for_https() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let url = server.url("/").replace("http:", "https:");
    assert_eq!(send(&sender(), &endpoint(&url)).await.result, Err(AttemptFailure::Tls));
}

#[test]
fn certificates_that_cannot_be_read_are_told_at_the_start() {
    let roots = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
    let sender = Sender::new(SendOptions { roots, ..private() });
    assert!(sender.is_err());
}

#[tokio::test]
async fn a_receiver_gets_the_trace_of_the_message_under_a_span_of_each_attempt() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let mut endpoint = endpoint(&server.url("/"));
    let header =
        |name: &str| HeaderTemplate { name: name.into(), value: "mine".into(), sensitive: false };
    endpoint.headers = vec![header("traceparent"), header("tracestate")];
    let mut message = message();
    message.trace = TraceContext::parse(PARENT, ["a=1,b=2"]);
    for _ in 0..2 {
        sender().send(&endpoint, &message, BODY.into(), 1).await;
    }
    let seen = server.seen();
    let contexts: Vec<_> = seen.iter().map(|it| field(it, "traceparent")).collect();
    assert!(contexts.iter().all(|it| it[..36] == PARENT[..36] && it[52..] == PARENT[52..]));
    assert_ne!(contexts[0], contexts[1]);
    assert!(!contexts.contains(&PARENT), "an attempt is not the span that produced its message");
    assert_eq!(field(&seen[0], "tracestate"), "a=1,b=2");
    assert_eq!(seen[0].headers.get_all("tracestate").iter().count(), 1);
    // Without a state the endpoint's own, which belongs to another trace, is not sent either.
    message.trace = TraceContext::parse(PARENT, []);
    sender().send(&endpoint, &message, BODY.into(), 1).await;
    assert_eq!(field(&server.seen()[2], "tracestate"), "");
    message.trace = None;
    sender().send(&endpoint, &message, BODY.into(), 1).await;
    assert_eq!(field(&server.seen()[3], "traceparent"), "mine");
}
