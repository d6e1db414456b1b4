//! Settings change, and every node follows.

use super::fixture::ClusterFixture;
use crate::model::EndpointState;
use crate::store::SettingChange::{Application, Endpoint};
use crate::store::testing::fixture::{app, application, at, endpoint, ep};
use crate::store::{ChangeLog, DeliveryStore, Settlement};

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
