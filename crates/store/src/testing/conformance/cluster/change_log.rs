//! The change log, and commands to leaders.

use stagger_scheduler::model::DeliveryState::{Dead, Waiting};
use stagger_scheduler::model::{Disabled, EndpointState};

use super::fixture::{ClusterFixture, shards};
use crate::SettingChange::{Application, Document, Endpoint};
use crate::testing::fixture::{app, application, at, endpoint, ep, message, msg, setting, settled};
use crate::{
    ChangeLog, DeliveryStore, DocumentKey, DocumentKind, EndpointCommand, Lead, ReplayRequest,
    Settlement, Shards,
};

pub(crate) async fn the_change_log_has_the_current_settings(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let begin = fixture.settings_version().await;
    let mut renamed = application(1);
    renamed.name = "renamed".into();
    store.put_application(renamed.clone()).await.unwrap();
    store.put_endpoint(endpoint(4, 1)).await.unwrap();
    let mut moved = endpoint(1, 1);
    moved.url = "https://example.com/elsewhere".into();
    store.put_endpoint(endpoint(1, 1)).await.unwrap();
    store.put_endpoint(moved.clone()).await.unwrap();
    let endpoint_state = EndpointState { failing_since: Some(at(3)), ..EndpointState::default() };
    let learned =
        Settlement { endpoint_state: Some((ep(1), endpoint_state)), ..Settlement::default() };
    store.settle(fixture.ann, vec![learned]).await.unwrap();
    let log = fixture.cluster.changes_since(begin).await.unwrap();
    assert!(log.to > begin);
    let changes = log.changes.expect("nobody has followed them");
    assert_eq!(changes.len(), 3);
    assert_eq!(changes[0], Application(app(1), Some(renamed)));
    assert!(changes.contains(&Endpoint(ep(4), Some((endpoint(4, 1), EndpointState::default())))));
    assert!(changes.contains(&Endpoint(ep(1), Some((moved, endpoint_state)))));
    let none = ChangeLog { to: log.to, changes: Some(Vec::new()) };
    assert_eq!(fixture.cluster.changes_since(log.to).await.unwrap(), none);
    // A newer version comes from another store.
    assert_eq!(fixture.cluster.changes_since(log.to + 1).await.unwrap().changes, None);
    assert_eq!(fixture.cluster_view().await.settings_version, log.to);
}

pub(crate) async fn the_change_log_has_deletions(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let begin = fixture.settings_version().await;
    store.delete_endpoint(ep(2), at(20)).await.unwrap();
    let between = fixture.cluster.changes_since(begin).await.unwrap();
    assert_eq!(between.changes, Some(vec![Endpoint(ep(2), None)]));
    store.delete_application(app(2)).await.unwrap();
    let log = fixture.cluster.changes_since(between.to).await.unwrap();
    let mut changes = log.changes.expect("nobody has followed them");
    // Its endpoints may be named too.
    changes.retain(|change| *change != Endpoint(ep(3), None));
    assert_eq!(changes, [Application(app(2), None)]);
    assert!(log.to > between.to);
}

pub(crate) async fn the_change_log_has_documents(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let begin = fixture.settings_version().await;
    let (first, second) =
        (setting(DocumentKind::EventType, "a.b"), setting(DocumentKind::ApiKey, "a.b"));
    let mut changed = first.clone();
    changed.text = "{}".into();
    for document in [&first, &second, &changed] {
        store.put_document(document.clone()).await.unwrap();
    }
    store.put_endpoint(endpoint(1, 1)).await.unwrap();
    let log = fixture.cluster.changes_since(begin).await.unwrap();
    assert!(log.to > begin);
    let changes = log.changes.expect("nobody has followed them");
    assert_eq!(changes.len(), 3);
    for document in [&changed, &second] {
        let change = Document(document.key.clone(), Some(document.text.clone()));
        assert!(changes.contains(&change), "{changes:?}");
    }
    store.note_document_use(first.key.clone(), 20_000).await.unwrap();
    store.delete_document(DocumentKey::new(DocumentKind::ApiKey, "none")).await.unwrap();
    assert_eq!(fixture.settings_version().await, log.to, "no setting has changed");
    store.delete_document(first.key.clone()).await.unwrap();
    let last = fixture.cluster.changes_since(log.to).await.unwrap();
    assert_eq!(last.changes, Some(vec![Document(first.key, None)]));
}

pub(crate) async fn an_application_is_told_of_before_its_endpoints(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let begin = fixture.settings_version().await;
    store.put_application(application(3)).await.unwrap();
    store.put_endpoint(endpoint(5, 3)).await.unwrap();
    store.put_endpoint(endpoint(4, 3)).await.unwrap();
    store.put_application(application(3)).await.unwrap();
    let changes = fixture.cluster.changes_since(begin).await.unwrap().changes.unwrap();
    assert_eq!(changes[0], Application(app(3), Some(application(3))));
    assert_eq!(changes.len(), 3);
}

pub(crate) async fn a_learned_state_is_no_setting_change(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let begin = fixture.settings_version().await;
    let endpoint_state = EndpointState { paused_until: Some(at(3)), ..EndpointState::default() };
    let learned =
        Settlement { endpoint_state: Some((ep(1), endpoint_state)), ..Settlement::default() };
    store.settle(fixture.ann, vec![learned]).await.unwrap();
    assert_eq!(fixture.settings_version().await, begin);
}

pub(crate) async fn old_changes_are_returned_complete_or_not_at_all(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let begin = fixture.settings_version().await;
    for n in 1..=20 {
        store.put_endpoint(endpoint(n, 1)).await.unwrap();
        let settings_version = fixture.settings_version().await;
        let log = fixture.cluster.changes_since(begin).await.unwrap();
        assert_eq!(log.to, settings_version);
        assert!(log.changes.is_none_or(|changes| changes.len() as u64 == n));
        let none = ChangeLog { to: settings_version, changes: Some(Vec::new()) };
        assert_eq!(fixture.cluster.changes_since(settings_version).await.unwrap(), none);
    }
    // A node that is one version behind gets that change.
    store.put_application(application(3)).await.unwrap();
    let log = fixture.cluster.changes_since(fixture.settings_version().await - 1).await.unwrap();
    assert_eq!(log.changes, Some(vec![Application(app(3), Some(application(3)))]));
}

pub(crate) async fn commands_are_kept_until_they_are_complete(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let cluster = fixture.cluster;
    let all = [
        EndpointCommand::Disable,
        EndpointCommand::Cancel(msg(7)),
        EndpointCommand::Enable,
        EndpointCommand::Recover,
        EndpointCommand::Retry(msg(8)),
        EndpointCommand::Probe,
    ];
    let mut left = Vec::new();
    for command in all {
        left.push((cluster.send_command(ep(1), command).await.unwrap(), ep(1), command));
        cluster.send_command(ep(3), command).await.unwrap();
    }
    assert!(left.is_sorted_by_key(|(number, ..)| *number));
    assert_eq!(cluster.commands(shards(&[1, 2])).await.unwrap(), left);
    assert_eq!(cluster.commands(Shards::ALL).await.unwrap().len(), 12);
    assert_eq!(cluster.commands(Shards::NONE).await.unwrap(), []);
    let done = [left[0].0, left[2].0];
    for _ in 0..2 {
        cluster.complete_commands(&done).await.unwrap();
        assert_eq!(
            cluster.commands(shards(&[1])).await.unwrap(),
            [left[1], left[3], left[4], left[5]]
        );
    }
    for (number, ..) in &left {
        assert_eq!(cluster.is_command_done(*number).await.unwrap(), done.contains(number));
    }
    assert_eq!(cluster.commands(shards(&[3])).await.unwrap().len(), 6);
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
