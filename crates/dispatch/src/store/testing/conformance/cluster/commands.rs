//! Commands reach the leader of an endpoint, and the endpoint's state is readable.

use super::fixture::{ClusterFixture, shards};
use crate::model::DeliveryState::{Dead, Waiting};
use crate::model::{Disabled, EndpointState};
use crate::store::testing::fixture::{app, at, ep, message, msg, settled};
use crate::store::{DeliveryStore, EndpointCommand, Lead, ReplayRequest, Settlement, Shards};

pub(crate) async fn commands_are_kept_until_they_are_complete(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let cluster = fixture.cluster;
    let all = [
        EndpointCommand::Disable,
        EndpointCommand::Cancel(msg(7)),
        EndpointCommand::Enable,
        EndpointCommand::Recover,
    ];
    let mut left = Vec::new();
    for command in all {
        left.push((cluster.send_command(ep(1), command).await.unwrap(), ep(1), command));
        cluster.send_command(ep(3), command).await.unwrap();
    }
    assert!(left.is_sorted_by_key(|(number, ..)| *number));
    assert_eq!(cluster.commands(shards(&[1, 2])).await.unwrap(), left);
    assert_eq!(cluster.commands(Shards::ALL).await.unwrap().len(), 8);
    assert_eq!(cluster.commands(Shards::NONE).await.unwrap(), []);
    let done = [left[0].0, left[2].0];
    for _ in 0..2 {
        cluster.complete_commands(&done).await.unwrap();
        assert_eq!(cluster.commands(shards(&[1])).await.unwrap(), [left[1], left[3]]);
    }
    for (place, (number, ..)) in left.iter().enumerate() {
        assert_eq!(cluster.is_command_done(*number).await.unwrap(), place % 2 == 0);
    }
    assert_eq!(cluster.commands(shards(&[3])).await.unwrap().len(), 4);
}

pub(crate) async fn there_are_no_commands_for_deleted_endpoints(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let cluster = fixture.cluster;
    assert!(cluster.send_command(ep(9), EndpointCommand::Enable).await.unwrap_err().is_not_found());
    let of_endpoint = cluster.send_command(ep(1), EndpointCommand::Enable).await.unwrap();
    let of_application = cluster.send_command(ep(3), EndpointCommand::Enable).await.unwrap();
    let other = cluster.send_command(ep(2), EndpointCommand::Enable).await.unwrap();
    store.delete_endpoint(ep(1), at(20)).await.unwrap();
    store.delete_application(app(2)).await.unwrap();
    assert!(cluster.is_command_done(of_endpoint).await.unwrap());
    assert!(cluster.is_command_done(of_application).await.unwrap());
    assert_eq!(
        cluster.commands(Shards::ALL).await.unwrap(),
        [(other, ep(2), EndpointCommand::Enable)]
    );
    assert!(cluster.send_command(ep(1), EndpointCommand::Enable).await.unwrap_err().is_not_found());
}

pub(crate) async fn a_standing_is_as_it_was_settled(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let endpoint_state =
        EndpointState { disabled: Some(Disabled::Gone), ..EndpointState::default() };
    let learned =
        Settlement { endpoint_state: Some((ep(1), endpoint_state)), ..Settlement::default() };
    store.settle(fixture.ann, vec![learned]).await.unwrap();
    let of = |n| fixture.cluster.endpoint_state(ep(n));
    assert_eq!(of(1).await.unwrap(), Some(endpoint_state));
    assert_eq!(of(2).await.unwrap(), Some(EndpointState::default()));
    assert_eq!(of(9).await.unwrap(), None);
    store.delete_endpoint(ep(1), at(20)).await.unwrap();
    assert_eq!(of(1).await.unwrap(), None);
}

pub(crate) async fn the_cluster_view_counts_open_deliveries(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    fixture.accept(Lead::default(), vec![message(1, 1, &[1, 2]), message(2, 2, &[3])]).await;
    assert_eq!(fixture.cluster_view().await.open, 3);
    let changes = [settled(1, 1, 1, Dead, 9), settled(1, 2, 1, Waiting, 9)];
    store.settle(fixture.ann, changes.to_vec()).await.unwrap();
    assert_eq!(fixture.cluster_view().await.open, 2);
    store.replay(ReplayRequest::One(msg(1), ep(1)), at(20), 1).await.unwrap();
    assert_eq!(fixture.cluster_view().await.open, 3);
    store.delete_endpoint(ep(1), at(30)).await.unwrap();
    store.delete_application(app(2)).await.unwrap();
    assert_eq!(fixture.cluster_view().await.open, 1);
}
