//! The cluster of one keeps the contract of a cluster for its only node.

use std::sync::Arc;

use stagger_scheduler::model::{DeliveryState, EndpointState};

use super::fixture::{app, application, at, endpoint, ep, furnish, message, msg, settled};
use crate::{
    ChangeLog, ClusterAccept, ClusterHandle, DeliveryStore, EndpointCommand, Joined, Lead,
    MemoryStore, Notification, ReplayRequest, SettingChange, SettingWrite, Settlement, ShardId,
    Shards,
};

/// A store for one node with applications and endpoints, and the membership of its node.
async fn joined() -> (Arc<dyn DeliveryStore>, ClusterHandle, Joined) {
    let store: Arc<dyn DeliveryStore> = Arc::new(MemoryStore::default());
    furnish(&*store).await;
    let cluster = ClusterHandle::of(&store);
    let joined = cluster.join(&"ann".into()).await.unwrap();
    (store, cluster, joined)
}

fn shards(endpoints: &[u64]) -> Shards {
    endpoints.iter().map(|n| ShardId::of(ep(*n))).collect()
}

#[tokio::test]
async fn the_only_node_leads_everything_from_the_start_and_sends_no_heartbeats() {
    let (_, cluster, joined) = joined().await;
    assert_eq!((joined.shards, joined.heartbeats), (Shards::ALL, false));
    let view = cluster.heartbeat(joined.fence, false).await.unwrap();
    assert_eq!((view.members.len(), view.free), (1, Shards::NONE));
    assert_eq!((view.members[0].fence, view.members[0].shards), (joined.fence, Shards::ALL));
    assert!(!cluster.evict(joined.fence, 1).await.unwrap());
    assert_eq!(cluster.acquire(joined.fence, 9).await.unwrap(), Shards::NONE);
    cluster.release(joined.fence, shards(&[1])).await.unwrap();
    let left = cluster.heartbeat(joined.fence, true).await.unwrap().members.remove(0);
    assert_eq!((left.shards, left.leaving), (Shards::ALL.without(shards(&[1])), true));
}

#[tokio::test]
async fn a_node_whose_store_another_run_has_taken_over_cannot_join_again() {
    let (store, cluster, first) = joined().await;
    let second = ClusterHandle::of(&store).join(&"bob".into()).await.unwrap();
    assert!(second.fence > first.fence);
    let refused = cluster.settle_as_leader(first.fence, vec![Settlement::default()]).await;
    assert!(refused.unwrap_err().is_conflict());
    assert!(cluster.rejoin(&"ann".into(), first.fence).await.unwrap_err().is_conflict());
}

#[tokio::test]
async fn accepted_deliveries_are_the_nodes_own_and_are_loaded_by_the_next_run() {
    let (store, cluster, joined) = joined().await;
    let lead = Lead { fence: joined.fence, shards: Shards::ALL };
    let accepted = cluster.accept(lead, 0, vec![message(1, 1, &[1, 2])]).await.unwrap();
    assert!(matches!(accepted, ClusterAccept::Stored(of) if of.len() == 1));
    assert_eq!(cluster.arrivals(Shards::ALL, &[], 9).await.unwrap(), []);
    for (of, expected) in [(Shards::ALL, vec![ep(1), ep(2)]), (shards(&[2]), vec![ep(2)])] {
        let mut loaded = Vec::new();
        let mut page = |some: Vec<_>| loaded.extend(some);
        let covered = ClusterHandle::of(&store).load(of, &mut page).await.unwrap();
        let found: Vec<_> =
            loaded.iter().map(|it: &stagger_scheduler::model::Delivery| it.endpoint).collect();
        assert_eq!((covered, found), (Vec::new(), expected));
    }
}

#[tokio::test]
async fn operational_messages_and_replays_arrive_until_they_are_done() {
    let (_, cluster, joined) = joined().await;
    let lead = Lead { fence: joined.fence, shards: Shards::ALL };
    cluster.accept(lead, 0, vec![message(1, 1, &[1])]).await.unwrap();
    let operational = vec![message(2, 1, &[2])];
    let dead = Settlement { operational, ..settled(1, 1, 1, DeliveryState::Dead, 5) };
    cluster.settle_as_leader(joined.fence, vec![dead]).await.unwrap();
    let replayed =
        cluster.replay_to_leaders(ReplayRequest::One(msg(1), ep(1)), at(9), 1).await.unwrap();
    assert_eq!(replayed[0].state, DeliveryState::Pending);

    let arrivals = cluster.arrivals(Shards::ALL, &[], 9).await.unwrap();
    let names: Vec<_> =
        arrivals.iter().map(|it| it.delivery.map(|it| (it.message, it.endpoint))).collect();
    assert_eq!(names, [Some((msg(2), ep(2))), Some((msg(1), ep(1)))]);
    let content = arrivals[0].content.as_ref().map(|(of, payload)| (of.id, payload.len()));
    assert_eq!(content, Some((msg(2), message(2, 1, &[2]).payload.len())));
    assert_eq!(arrivals[1].content, None);
    assert_eq!(cluster.arrivals(shards(&[1]), &[], 9).await.unwrap(), arrivals[1..]);
    let first = [arrivals[0].number];
    assert_eq!(cluster.arrivals(Shards::ALL, &first, 9).await.unwrap(), arrivals[1..]);
}

#[tokio::test]
async fn a_node_reads_all_settings_first_and_then_its_changes_in_order() {
    let (store, cluster, _) = joined().await;
    let ChangeLog { to, changes } = cluster.changes_since(0).await.unwrap();
    assert_eq!(changes, None);
    cluster.change_setting(SettingWrite::PutApplication(application(4))).await.unwrap();
    cluster.change_setting(SettingWrite::PutEndpoint(endpoint(4, 4))).await.unwrap();
    cluster.change_setting(SettingWrite::DeleteEndpoint(ep(1), at(9))).await.unwrap();
    cluster.change_setting(SettingWrite::DeleteApplication(app(2))).await.unwrap();
    assert!(store.applications().await.unwrap().contains(&application(4)));
    let log = cluster.changes_since(to).await.unwrap();
    let put = Some((endpoint(4, 4), EndpointState::default()));
    let expected = vec![
        SettingChange::Application(app(4), Some(application(4))),
        SettingChange::Endpoint(ep(4), put),
        SettingChange::Endpoint(ep(1), None),
        SettingChange::Application(app(2), None),
    ];
    assert_eq!(log, ChangeLog { to: to + 4, changes: Some(expected) });
    let none = ChangeLog { to: log.to, changes: Some(Vec::new()) };
    assert_eq!(cluster.changes_since(log.to).await.unwrap(), none);
}

#[tokio::test]
async fn a_setting_that_is_not_stored_is_no_change() {
    let (_, cluster, _) = joined().await;
    let ChangeLog { to, .. } = cluster.changes_since(0).await.unwrap();
    cluster.change_setting(SettingWrite::DeleteApplication(app(2))).await.unwrap();
    let refused = cluster.change_setting(SettingWrite::PutEndpoint(endpoint(9, 2))).await;
    assert!(refused.unwrap_err().is_not_found());
    let changes = cluster.changes_since(to).await.unwrap().changes.unwrap();
    assert_eq!(changes, [SettingChange::Application(app(2), None)]);
}

#[tokio::test]
async fn the_node_is_notified_of_its_own_work_and_commands_wait_until_they_are_complete() {
    let (_, cluster, mut joined) = joined().await;
    let number = cluster.send_command(ep(1), EndpointCommand::Cancel(msg(1))).await.unwrap();
    cluster.notify(Notification::Settings).await;
    cluster.notify(Notification::Members).await;
    cluster.notify(Notification::Work(shards(&[1]))).await;
    assert_eq!(joined.notifications.try_recv().unwrap(), Notification::Work(shards(&[1])));
    assert!(joined.notifications.try_recv().is_err());
    let commands = cluster.commands(shards(&[1])).await.unwrap();
    assert_eq!(commands, [(number, ep(1), EndpointCommand::Cancel(msg(1)))]);
    assert_eq!(cluster.commands(shards(&[2])).await.unwrap(), []);
    assert!(!cluster.is_command_done(number).await.unwrap());
    cluster.complete_commands(&[number]).await.unwrap();
    assert!(cluster.is_command_done(number).await.unwrap());
    cluster.release(joined.fence, shards(&[1])).await.unwrap();
    let late = cluster.send_command(ep(1), EndpointCommand::Enable).await;
    assert!(late.unwrap_err().is_unavailable());
}
