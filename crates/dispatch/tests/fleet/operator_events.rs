//! Events for the operator, of several nodes of which one dies.

use std::collections::BTreeSet;

use serde_json::Value;
use stagger::Span;
use stagger::breaker::BreakerPlan;
use stagger_testkit::server::{Reaction, Script};

use crate::fleet::{Fleet, OPERATORS, application, endpoint, id, until};

/// The ids of the events of a type that were received, each once.
fn told(fleet: &Fleet, event_type: &str) -> BTreeSet<String> {
    let of_type = |body: &[u8]| {
        let body: Value = serde_json::from_slice(body).expect("JSON");
        body["type"] == event_type
    };
    let seen = fleet.server.seen();
    let events = seen.iter().filter(|seen| seen.path == "/operators" && of_type(&seen.body));
    events.map(|seen| seen.headers["webhook-id"].to_str().expect("text").to_owned()).collect()
}

#[tokio::test]
async fn a_trouble_is_told_once_although_its_leader_dies() {
    let script = Script::of([]).on_path("/1", Script::always(Reaction::status(500)));
    let mut fleet = Fleet::of(3, script).await;
    fleet.nodes[0].put_application(application(OPERATORS)).await.expect("it is stored");
    let operators = endpoint(OPERATORS, 50, &fleet.server.url("/operators"));
    fleet.nodes[0].put_endpoint(operators).await.expect("it is stored");
    let mut failing = fleet.endpoint(1);
    let breaker = BreakerPlan::builder().consecutive(3).open_time(Span::from_millis(300));
    let breaker = breaker.build().expect("valid");
    failing.policy = failing.policy.to_builder().breaker(breaker).build().expect("valid");
    fleet.nodes[1].put_endpoint(failing).await.expect("it is stored");
    fleet.send(&fleet.nodes[2], "1").await;
    until("the operator is told", || told(&fleet, "endpoint.failing").len() == 1).await;

    let leader = fleet.leader(1);
    drop(fleet.nodes.remove(leader));
    fleet.until_even().await;
    let probes = || fleet.server.seen().iter().filter(|seen| seen.path == "/1").count();
    let before = probes();
    until("the next leader probes", || probes() > before + 3).await;
    assert_eq!(told(&fleet, "endpoint.failing").len(), 1, "it was told before");
    fleet.nodes[0].disable(id(1)).await.expect("it is stored");
    until("the operator is told of that", || told(&fleet, "endpoint.disabled").len() == 1).await;
}
