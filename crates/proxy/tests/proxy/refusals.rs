//! Replies of the proxy's own: when, and in which form.

use stagger::{Clock, Span, TokioTime};
use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};

use crate::client::{RunningProxy, request, text};

#[tokio::test]
async fn an_upstream_that_is_away_is_refused_with_the_reason() {
    let port = RefusingPort::hold().expect("a port");
    let proxy = RunningProxy::start(&format!(
        "[route.api]\nupstream = '{}'\n[route.api.policy]\n\
         backoff = {{ base = '1ms', cap = '2ms' }}\nlimits = {{ max_attempts = 2 }}",
        port.url("")
    ))
    .await;
    let reply = proxy.send(request("POST", "/", "x", &[])).await;
    assert_eq!(reply.status(), 503);
    assert_eq!(
        text(reply.headers(), "stagger-stop"),
        "attempts_exhausted",
        "it was never sent, so POST too"
    );
    assert_eq!(text(reply.headers(), "content-type"), "application/problem+json");
    assert!(text(reply.headers(), "retry-after").parse::<u64>().is_ok_and(|s| s >= 1));
    let problem: serde_json::Value = serde_json::from_slice(reply.body()).expect("JSON");
    assert_eq!((&problem["status"], &problem["attempts"]), (&503.into(), &2.into()));
    let refusals = proxy.handle.refusals();
    assert_eq!((refusals.len(), refusals[0].stop), (1, "attempts_exhausted"));
    assert_eq!(refusals[0].route.as_deref(), Some("api"));
}

#[tokio::test]
async fn nobody_goes_to_a_server_before_the_time_it_asked_for() {
    let busy = Reaction::status(503).header("retry-after", "30");
    let server = TestServer::start(Script::of([busy]).then(Reaction::ok("fine"))).await;
    let proxy = RunningProxy::start(&format!(
        "[route.api]\nupstream = '{}'\npolicy = {{ limits = {{ deadline = '5s' }} }}",
        server.url("")
    ))
    .await;
    assert_eq!(proxy.ask("GET", "/").await.status(), 503, "the server's own");
    for _ in 0..3 {
        let reply = proxy.ask("GET", "/").await;
        assert_eq!(text(reply.headers(), "stagger-stop"), "hint_past_deadline");
        let after: u64 = text(reply.headers(), "retry-after").parse().expect("seconds");
        assert!((15..=90).contains(&after), "{after}");
    }
    assert_eq!(server.seen().len(), 1, "none before the hint");
}

#[tokio::test]
async fn a_hint_that_fits_holds_all_callers() {
    let busy = Reaction::status(503).header("retry-after", "1");
    let server = TestServer::start(Script::of([busy]).then(Reaction::ok("fine"))).await;
    let proxy = RunningProxy::start(&format!(
        "[route.api]\nupstream = '{}'\npolicy = {{ limits = {{ deadline = '9s' }} }}",
        server.url("")
    ))
    .await;
    let begun = TokioTime.now();
    let (one, other) = tokio::join!(proxy.ask("GET", "/"), async {
        server.until_taken(1).await;
        proxy.ask("GET", "/").await
    });
    assert_eq!((one.status().as_u16(), other.status().as_u16()), (200, 200));
    assert!(TokioTime.now() - begun >= Span::from_secs(1), "both waited");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn an_open_breaker_refuses_without_a_connection() {
    let server = TestServer::start(Script::always(Reaction::status(500))).await;
    let proxy = RunningProxy::start(&format!(
        "[route.api]\nupstream = '{}'\n[route.api.policy]\nlimits = {{ max_attempts = 1 }}\n\
         breaker = {{ consecutive = 3, open_time = '60s' }}",
        server.url("")
    ))
    .await;
    for _ in 0..3 {
        assert_eq!(text(proxy.ask("GET", "/").await.headers(), "stagger-stop"), "");
    }
    let refused = proxy.ask("GET", "/").await;
    assert_eq!((refused.status().as_u16(), server.seen().len()), (503, 3));
    assert_eq!(text(refused.headers(), "stagger-stop"), "breaker_open");
    assert!(text(refused.headers(), "retry-after").parse::<u64>().is_ok_and(|s| s >= 30));
    let ledger = proxy.handle.snapshot().routes[0].destinations[0].ledger;
    assert_eq!(ledger.breaker_refusals, 1);
}

#[tokio::test]
async fn a_deadline_of_the_caller_ends_the_call() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let proxy = RunningProxy::start(&format!("[route.api]\nupstream = '{}'", server.url(""))).await;
    for (name, value) in [("x-request-timeout", "100ms"), ("stagger-deadline-ms", "100")] {
        let reply = proxy.send(request("GET", "/", "", &[(name, value)])).await;
        assert_eq!(reply.status(), 504, "{name}");
        assert_eq!(text(reply.headers(), "stagger-stop"), "deadline_exceeded");
    }
    let told: u64 = text(&server.seen()[0].headers, "x-request-timeout")
        .strip_suffix("ms")
        .and_then(|millis| millis.parse().ok())
        .expect("what is left");
    assert!(told <= 100);
}

#[tokio::test]
async fn a_slow_upstream_took_the_places_of_another_route() {
    let slow = TestServer::start(Script::always(Reaction::hang())).await;
    let fast = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = RunningProxy::start(&format!(
        "[route.slow]\npath = '/slow'\nmax_in_flight = 2\nupstream = '{}'\n\
         [route.fast]\nupstream = '{}'",
        slow.url(""),
        fast.url("")
    ))
    .await;
    let full = async {
        slow.until_taken(2).await;
        let refused = proxy.ask("GET", "/slow").await;
        assert_eq!(text(refused.headers(), "stagger-stop"), "in_flight_limit");
        assert_eq!(proxy.ask("GET", "/fast").await.status(), 200);
        let figures = &proxy.handle.snapshot().routes;
        assert_eq!((figures[1].in_flight, figures[1].in_flight_refused), (2, 1));
    };
    tokio::select! {
        _ = proxy.ask("GET", "/slow") => panic!("the server hangs"),
        _ = proxy.ask("GET", "/slow") => panic!("the server hangs"),
        () = full => {}
    }
}

#[tokio::test]
async fn a_guarded_route_reached_an_address_of_this_machine() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let port = server.address().port();
    for (host, public_only, status) in
        [("127.0.0.1", true, 502), ("localhost", true, 502), ("127.0.0.1", false, 200)]
    {
        let proxy = RunningProxy::start(&format!(
            "[route.api]\nupstream = 'http://{host}:{port}'\npublic_only = {public_only}"
        ))
        .await;
        assert_eq!(proxy.ask("GET", "/").await.status(), status, "{host}");
    }
    assert_eq!(server.connections(), 1, "the guard comes before the connection");
    let proxy = RunningProxy::start(&format!(
        "[route.out]\nconnect = '127.0.0.1:{port}'\npublic_only = true"
    ))
    .await;
    let connect = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(proxy.raw(connect.as_bytes()).await.starts_with("HTTP/1.1 502"));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_caller_was_told_to_repeat_what_may_have_been_done() {
    let server = TestServer::start(Script::always(Reaction::reset())).await;
    let proxy = RunningProxy::start(&format!("[route.api]\nupstream = '{}'", server.url(""))).await;
    let reply = proxy.send(request("POST", "/", "pay", &[])).await;
    assert_eq!((reply.status().as_u16(), server.taken()), (502, 1));
    assert_eq!(text(reply.headers(), "stagger-stop"), "not_idempotent");
    assert_eq!(text(reply.headers(), "retry-after"), "");
}
