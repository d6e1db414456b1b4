//! The traces that a collector receives.

use stagger_dispatch::observe::{LogFormat, init_logs_and_traces};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::fixture::Fixture;

#[tokio::test]
async fn an_attempt_is_a_span_at_the_collector() {
    let collector = TestServer::start(Script::of([])).await;
    init_logs_and_traces(LogFormat::Text, &collector.url("/v1/traces")).unwrap();
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([Reaction::status(500)])).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let sent = fixture.send(["1"]).await[0].to_string();
    collector.until_taken(1).await;
    let seen = &collector.seen()[0];
    assert_eq!(seen.path, "/v1/traces");
    assert_eq!(seen.headers["content-type"], "application/x-protobuf");
    let holds = |text: &str| seen.body.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("stagger.attempt") && holds(&sent) && holds("http.response.status_code"));
}
