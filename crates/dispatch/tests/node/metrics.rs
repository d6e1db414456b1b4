//! The metrics of a node in the format of Prometheus.

use stagger_dispatch::observe::init_metrics;
use stagger_scheduler::model::DeliveryState;
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::fixture::Fixture;

#[tokio::test]
async fn figures_of_attempts_retries_and_ends_are_on_the_page() {
    let metrics = init_metrics().unwrap();
    assert!(init_metrics().is_err_and(|error| error.is_conflict()));
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([Reaction::status(500)])).await;
    let disabled = fixture.endpoint(1, &server.url("/"), |_| {}).await;
    fixture.send(["1"]).await;
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
    fixture.node.disable(disabled).await.unwrap();
    fixture.send(["2"]).await;
    fixture.store.fill(true);
    assert!(fixture.try_send(["3"]).await.is_err());

    let page = metrics.render(&fixture.node).await;
    for line in [
        "stagger_attempts_total{stagger_verdict=\"ok\"} ",
        "stagger_attempts_total{stagger_verdict=\"transient\"} ",
        "stagger_retries_total{stagger_verdict=\"transient\"} ",
        "stagger_deliveries_ended_total{stagger_state=\"delivered\"} ",
        "stagger_messages_accepted_total ",
        "stagger_commit_failures_total ",
        "stagger_breaker_state{stagger_breaker_state=\"closed\"} ",
        "stagger_endpoints_disabled ",
        "stagger_retry_delay_seconds_bucket{le=\"0.05\"} ",
    ] {
        // Other tests of this process may be counted too.
        let count = page.lines().find_map(|found| found.strip_prefix(line)?.parse::<u64>().ok());
        assert!(count.is_some_and(|count| count > 0), "{line} is not in\n{page}");
    }
    let series = page.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    for name in series.filter_map(|line| line.split(['{', ' ']).next()) {
        let ends = ["_bucket", "_sum", "_count"];
        let name = ends.into_iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(page.contains(&format!("# HELP {name} ")), "{name} is not described in\n{page}");
    }
    assert!(page.contains("stagger_keys_wrong_total{stagger_place=\"api\"} 0"), "{page}");
}
