//! Headers of traces through a proxy that exports none.

use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::client::{RunningProxy, request, text};

#[tokio::test]
async fn a_trace_was_changed_by_a_proxy_that_has_no_spans() {
    let script = Script::of([Reaction::status(503), Reaction::ok("fine"), Reaction::ok("fine")]);
    let server = TestServer::start(script).await;
    let proxy = RunningProxy::start(&format!(
        "[route.api]\nupstream = '{}'\npolicy = {{ backoff = {{ base = '1ms', cap = '2ms' }} }}",
        server.url("")
    ))
    .await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let sent = [("traceparent", parent), ("tracestate", "rojo=1,congo=t61rcWkgMzE")];
    assert_eq!(proxy.send(request("GET", "/", "", &sent)).await.status(), 200);
    assert_eq!(proxy.ask("GET", "/").await.status(), 200);
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    for attempt in &seen[..2] {
        assert_eq!(text(&attempt.headers, "traceparent"), parent);
        assert_eq!(text(&attempt.headers, "tracestate"), "rojo=1,congo=t61rcWkgMzE");
    }
    assert_eq!(text(&seen[2].headers, "traceparent"), "", "none is made up");
}
