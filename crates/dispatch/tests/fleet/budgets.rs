//! Retries to one destination, within one budget of several dispatchers, on a real Redis.

use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::breaker::BreakerPlan;
use stagger::{Ratio, Span};
use stagger_dispatch::model::*;
use stagger_dispatch::node::{Node, NodeOptions, SharedBudgets};
use stagger_dispatch::send::{SendOptions, Sender};
use stagger_dispatch::store::MemoryStore;
use stagger_testkit::server::{Reaction, Script, TestServer};
use uuid::Uuid;

use crate::fleet::{application, endpoint, submission, until};

/// First attempts of each dispatcher.
const FIRSTS: u32 = 300;
/// Retries in ten seconds whatever the traffic, and the most that two leases hold besides: see the
/// budgets guide.
const FLOOR: u32 = 10;
const LEASES: u32 = 12;

async fn dispatcher(budgets: SharedBudgets, url: &str) -> (Node, ApplicationId) {
    let allowed = SendOptions { allow_private: true, ..SendOptions::default() };
    let sender = Sender::new(allowed).expect("no certificates");
    let store = Arc::new(MemoryStore::default());
    let node = Node::start_with(store, sender, NodeOptions::default(), Some(budgets)).await;
    let (node, app) = (node.expect("it loads"), ApplicationId::from_uuid(Uuid::from_u128(1)));
    node.put_application(application(app)).await.expect("it is stored");
    let mut endpoint = endpoint(app, 1, url);
    // Only the budget holds anything back.
    let patient = BreakerPlan::builder().ratio(None).consecutive(10_000).build();
    let policy = endpoint.policy.to_builder().breaker(patient.expect("it is within its bounds"));
    endpoint.policy = policy.build().expect("it is valid");
    node.put_endpoint(endpoint).await.expect("it is stored");
    (node, app)
}

#[tokio::test]
async fn dispatchers_that_share_nothing_else_stay_within_one_budget() {
    let Ok(redis) = std::env::var("STAGGER_TEST_REDIS") else {
        eprintln!("skipped: no STAGGER_TEST_REDIS");
        return;
    };
    let server = TestServer::start(Script::always(Reaction::status(429))).await;
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let share = Ratio::from_percent(10);
        let budgets =
            SharedBudgets::connect(&redis, share, NonZeroU32::MIN).await.expect("it is up");
        nodes.push(dispatcher(budgets, &server.url("/")).await);
    }
    for (node, app) in &nodes {
        let messages = (0..FIRSTS).map(|n| submission(&n.to_string())).collect();
        node.accept(*app, messages).await.expect("there is room");
    }
    let made = || {
        let seconds = nodes.iter().flat_map(|(node, _)| node.attempt_rates(None).seconds);
        seconds.fold((0, 0), |(firsts, retries), it| (firsts + it.first, retries + it.retries))
    };
    until("the first attempts are made, and some retries", || {
        let (firsts, retries) = made();
        firsts == 2 * FIRSTS && retries >= FIRSTS / 10
    })
    .await;
    let (retries, most) = (made().1, 2 * FIRSTS / 10 + FLOOR + LEASES);
    assert!(retries <= most, "{retries} retries, of {most}");
    for (node, _) in &nodes {
        node.shutdown(Span::ZERO).await;
    }
}
