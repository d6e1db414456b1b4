//! A change made through one node takes effect on all nodes.

use std::collections::BTreeSet;

use stagger_dispatch::model::*;
use stagger_dispatch::store::{DeliveryFilter, ReplayRequest};
use stagger_testkit::server::{Reaction, Script};
use uuid::Uuid;

use crate::fleet::{Fleet, application, endpoint, id, until};

#[tokio::test]
async fn every_delivery_is_made_once_whichever_node_accepts_it() {
    let fleet = Fleet::of(3, Script::of([])).await;
    fleet.endpoints(20).await;
    for n in 0..15 {
        fleet.send(&fleet.nodes[n % 3], &n.to_string()).await;
    }
    fleet.until_count(DeliveryState::Delivered, 300).await;
    let received = fleet.received();
    assert_eq!(received.len(), 300);
    assert_eq!(received.iter().collect::<BTreeSet<_>>().len(), 300);
}

#[tokio::test]
async fn a_change_made_on_one_node_is_known_to_all_when_it_answers() {
    let fleet = Fleet::of(3, Script::of([])).await;
    let app = ApplicationId::from_uuid(Uuid::from_u128(2));
    fleet.nodes[0].put_application(application(app)).await.unwrap();
    fleet.nodes[1].put_endpoint(endpoint(app, 1, &fleet.server.url("/first"))).await.unwrap();
    let fleet = Fleet { app, ..fleet };
    fleet.send(&fleet.nodes[2], "1").await;
    fleet.until_count(DeliveryState::Delivered, 1).await;
    fleet.nodes[2].put_endpoint(endpoint(app, 2, &fleet.server.url("/second"))).await.unwrap();
    fleet.send(&fleet.nodes[0], "2").await;
    fleet.until_count(DeliveryState::Delivered, 3).await;
    fleet.nodes[0].delete_endpoint(id(1)).await.unwrap();
    fleet.send(&fleet.nodes[1], "3").await;
    fleet.until_count(DeliveryState::Delivered, 4).await;
    let paths: Vec<_> = fleet.received().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/first", "/first", "/second", "/second"]);
    fleet.nodes[1].delete_application(app).await.unwrap();
    fleet.nodes[2].sync_settings().await.unwrap();
    assert_eq!(fleet.nodes[2].application(app), None);
    assert!(fleet.nodes[2].endpoints(app).is_empty());
}

#[tokio::test]
async fn an_endpoint_is_disabled_and_enabled_by_way_of_any_node() {
    let fleet = Fleet::of(3, Script::of([])).await;
    fleet.endpoints(1).await;
    fleet.other(1).disable(id(1)).await.unwrap();
    for node in &fleet.nodes {
        let view = node.view(id(1)).await.unwrap();
        assert_eq!(view.endpoint_state.disabled, Some(Disabled::ByHand));
    }
    fleet.send(fleet.other(1), "1").await;
    fleet.until_count(DeliveryState::Pending, 1).await;
    fleet.other(1).enable(id(1)).await.unwrap();
    fleet.until_count(DeliveryState::Delivered, 1).await;
    assert_eq!(fleet.received().len(), 1);
}

#[tokio::test]
async fn a_delivery_is_cancelled_by_way_of_any_node() {
    let fleet = Fleet::of(2, Script::of([])).await;
    fleet.endpoints(1).await;
    fleet.other(1).disable(id(1)).await.unwrap();
    let message = fleet.send(&fleet.nodes[0], "1").await;
    let cancelled = fleet.other(1).cancel(message, id(1)).await.unwrap();
    assert_eq!(cancelled.state, DeliveryState::Cancelled);
    let again = fleet.other(1).cancel(message, id(1)).await.unwrap_err();
    assert_eq!(again.to_string(), "the delivery is already cancelled");
    fleet.other(1).enable(id(1)).await.unwrap();
    fleet.send(&fleet.nodes[0], "2").await;
    fleet.until_count(DeliveryState::Delivered, 1).await;
    assert_eq!(fleet.received().len(), 1);
}

#[tokio::test]
async fn dead_letters_are_replayed_by_way_of_any_node() {
    let refused = vec![Reaction::status(422); 40];
    let fleet = Fleet::of(3, Script::of(refused)).await;
    fleet.endpoints(4).await;
    for n in 0..10 {
        fleet.send(&fleet.nodes[n % 3], &n.to_string()).await;
    }
    fleet.until_count(DeliveryState::Dead, 40).await;
    let all = ReplayRequest::Many(fleet.app, DeliveryFilter::default());
    assert_eq!(fleet.nodes[2].replay(all).await.unwrap(), 40);
    fleet.until_count(DeliveryState::Delivered, 40).await;
    assert_eq!(fleet.received().len(), 80);
}

#[tokio::test]
async fn changed_settings_reach_the_leader() {
    let fleet = Fleet::of(2, Script::of([])).await;
    fleet.endpoints(1).await;
    let moved = endpoint(fleet.app, 1, &fleet.server.url("/moved"));
    fleet.other(1).put_endpoint(moved).await.unwrap();
    let leader = &fleet.nodes[fleet.leader(1)];
    until("the leader knows it", || leader.endpoint(id(1)).unwrap().url.ends_with("/moved")).await;
    fleet.send(fleet.other(1), "1").await;
    fleet.until_count(DeliveryState::Delivered, 1).await;
    assert_eq!(fleet.received()[0].0, "/moved");
}
