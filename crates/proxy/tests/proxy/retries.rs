//! Attempts: how many, of which requests, with which headers.

use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::client::{RunningProxy, read_until, request, text};

const FAST: &str =
    "policy = { backoff = { base = '1ms', cap = '2ms' }, limits = { max_attempts = 3 } }";

fn route(server: &TestServer, more: &str) -> String {
    format!("[route.api]\nupstream = '{}'\n{FAST}\n{more}", server.url(""))
}

#[tokio::test]
async fn a_failure_that_heals_is_not_the_callers() {
    let script = Script::of([Reaction::status(503), Reaction::reset(), Reaction::ok("fine")]);
    let server = TestServer::start(script).await;
    let proxy = RunningProxy::start(&route(&server, "")).await;
    let reply = proxy.ask("GET", "/orders?open=1").await;
    assert_eq!((reply.status().as_u16(), &reply.body()[..]), (200, &b"fine"[..]));
    assert_eq!(text(reply.headers(), "via"), "1.1 stagger");
    let seen = server.seen();
    let attempts: Vec<_> = seen.iter().map(|it| text(&it.headers, "stagger-attempt")).collect();
    assert_eq!(attempts, ["1", "2", "3"]);
    assert!(seen.iter().all(|it| it.path == "/orders?open=1"));
    assert!(seen.iter().all(|it| text(&it.headers, "via") == "1.1 stagger"));
    let own = server.address().to_string();
    assert!(seen.iter().all(|it| text(&it.headers, "host") == own), "Host is the upstream's");
    let figures = &proxy.handle.snapshot().routes[0].destinations[0];
    assert_eq!((figures.calls, figures.attempts, figures.succeeded), (1, 3, 1));
    assert_eq!((figures.retries, figures.hedges), (2, 0));
    assert_eq!((figures.errors, figures.replies), (1, [0, 1, 0, 0, 1]));
}

#[tokio::test]
async fn a_post_was_sent_twice_without_leave() {
    for (more, attempts) in [
        ("", 1),
        ("[route.api.retry]\nmethods = ['POST']", 3),
        ("[route.api.retry]\nidempotency_key = true", 3),
    ] {
        let server = TestServer::start(Script::always(Reaction::status(503).body("busy"))).await;
        let proxy = RunningProxy::start(&route(&server, more)).await;
        let reply = proxy.send(request("POST", "/orders", "one bolt", &[])).await;
        assert_eq!(
            (reply.status().as_u16(), &reply.body()[..]),
            (503, &b"busy"[..]),
            "the server's own"
        );
        assert_eq!(text(reply.headers(), "stagger-stop"), "", "it is no refusal of the proxy");
        let seen = server.seen();
        assert_eq!(seen.len(), attempts, "{more}");
        assert!(seen.iter().all(|it| it.body == "one bolt"), "equal bytes");
        let keys: Vec<_> = seen.iter().map(|it| text(&it.headers, "idempotency-key")).collect();
        assert!(
            keys.iter().all(|key| *key == keys[0]) && keys[0].is_empty() != more.contains("key")
        );
    }
}

#[tokio::test]
async fn retries_of_the_caller_and_of_the_proxy_multiplied() {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let proxy = RunningProxy::start(&route(&server, "")).await;
    let repeat = request("GET", "/", "", &[("stagger-attempt", "2")]);
    assert_eq!(proxy.send(repeat).await.status(), 503);
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "the caller makes the others");
    assert_eq!(text(&seen[0].headers, "stagger-attempt"), "2");
    let sdk = request("GET", "/", "", &[("amz-sdk-request", "attempt=1; max=3")]);
    assert_eq!(proxy.send(sdk).await.status(), 503);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_body_past_its_bound_is_sent_once() {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let more = "[route.api.retry]\nmethods = ['POST']\nreplay_limit = '64B'";
    let proxy = RunningProxy::start(&route(&server, more)).await;
    let long = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789";
    proxy.send(request("POST", "/", long, &[])).await;
    assert_eq!(server.seen().len(), 1);
    proxy.send(request("POST", "/", "short", &[])).await;
    assert_eq!(server.seen().len(), 4);
    let stops = &proxy.handle.snapshot().routes[0].destinations[0].stops;
    assert_eq!(stops.get("not_replayable"), Some(&1), "{stops:?}");
}

#[tokio::test]
async fn an_attempt_after_the_token_changed_carried_the_old_one() {
    let file = std::env::temp_dir().join(format!("stagger-proxy-rotated-{}", std::process::id()));
    std::fs::write(&file, "old").unwrap();
    let server = TestServer::start(Script::of([Reaction::ok("1"), Reaction::ok("2")])).await;
    let more = format!(
        "[route.api.headers]\nauthorization = {{ file = '{}', prefix = 'Bearer ' }}\nx-team = 'a'",
        file.display()
    );
    let proxy = RunningProxy::start(&route(&server, &more)).await;
    let forged = [("authorization", "Bearer forged")];
    proxy.send(request("GET", "/", "", &forged)).await;
    std::fs::write(&file, "fresh").unwrap();
    proxy.send(request("GET", "/", "", &forged)).await;
    std::fs::remove_file(&file).unwrap();
    let seen = server.seen();
    let tokens: Vec<_> = seen.iter().map(|it| text(&it.headers, "authorization")).collect();
    assert_eq!(tokens, ["Bearer old", "Bearer fresh"]);
    assert_eq!(text(&seen[0].headers, "x-team"), "a");
}

#[tokio::test]
async fn a_path_is_stripped_and_a_host_kept_by_setting() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let more = "path = '/pay/'\nstrip_path = true\nkeep_host = true\nforwarded = true";
    let proxy = RunningProxy::start(&route(&server, more)).await;
    let hops = [
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("te", "trailers"),
        ("x-forwarded-for", "9.9.9.9"),
    ];
    assert_eq!(proxy.send(request("GET", "/pay/in?x", "", &hops)).await.status(), 200);
    let seen = &server.seen()[0];
    assert_eq!((seen.path.as_str(), text(&seen.headers, "host")), ("/in?x", "api.internal"));
    assert_eq!(text(&seen.headers, "x-hop"), "", "a field of one connection");
    assert_eq!(text(&seen.headers, "x-forwarded-for"), "127.0.0.1");
    assert_eq!(text(&seen.headers, "forwarded"), "for=127.0.0.1;host=\"api.internal\";proto=http");
    assert_eq!(proxy.ask("GET", "/other").await.status(), 404);
}

#[tokio::test]
async fn a_401_is_final_unless_the_route_says_otherwise() {
    let file = std::env::temp_dir().join(format!("stagger-proxy-expired-{}", std::process::id()));
    std::fs::write(&file, "stale").unwrap();
    let server = TestServer::start(Script::always(Reaction::status(401))).await;
    for (after_401, attempts) in [(false, 1), (true, 2)] {
        let before = server.taken();
        let more = format!(
            "retry.after_401 = {after_401}\nheaders.authorization = {{ file = '{}' }}",
            file.display()
        );
        let proxy = RunningProxy::start(&route(&server, &more)).await;
        let reply = proxy.ask("GET", "/").await;
        assert_eq!(
            (reply.status().as_u16(), server.taken() - before),
            (401, attempts),
            "{after_401}"
        );
    }
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn a_token_that_ran_out_is_replaced_within_the_call() {
    let file = std::env::temp_dir().join(format!("stagger-proxy-renewed-{}", std::process::id()));
    std::fs::write(&file, "stale").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = RunningProxy::start(&format!(
        "[route.api]\nupstream = 'http://{}'\nretry.after_401 = true\n\
         headers.authorization = {{ file = '{}' }}",
        listener.local_addr().unwrap(),
        file.display()
    ))
    .await;
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(read_until(&mut stream, "\r\n\r\n").await.contains("authorization: stale"));
        std::fs::write(&file, "fresh").unwrap();
        let refused = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(refused).await.unwrap();
        assert!(read_until(&mut stream, "\r\n\r\n").await.contains("authorization: fresh"));
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    };
    let (reply, ()) = tokio::join!(proxy.ask("GET", "/"), server);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(reply.status(), 204);
}

#[tokio::test]
async fn a_slow_server_is_asked_a_second_time() {
    let server = TestServer::start(Script::of([Reaction::hang(), Reaction::ok("fine")])).await;
    let proxy = RunningProxy::start(&format!(
        "[route.api]\nupstream = '{}'\nretry.idempotency_key = true\n\
         policy = {{ hedge = {{ delay = '20ms' }}, budget = 'unlimited' }}",
        server.url("")
    ))
    .await;
    let reply = proxy.send(request("POST", "/", "one bolt", &[])).await;
    assert_eq!((reply.status().as_u16(), &reply.body()[..]), (200, &b"fine"[..]));
    let seen = server.seen();
    assert_eq!((seen.len(), &seen[0].body), (2, &seen[1].body));
    assert_eq!(seen[0].headers["idempotency-key"], seen[1].headers["idempotency-key"]);
    let figures = &proxy.handle.snapshot().routes[0].destinations[0];
    assert_eq!((figures.calls, figures.attempts, figures.succeeded), (1, 2, 1));
    assert_eq!((figures.retries, figures.hedges), (0, 1));
}
