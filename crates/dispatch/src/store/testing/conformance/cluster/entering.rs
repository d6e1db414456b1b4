//! Messages come in at any node.

use bytes::Bytes;

use super::fixture::{ClusterFixture, shards};
use crate::model::{Delivery, DeliveryState};
use crate::store::testing::fixture::{app, at, ep, keyed, message, msg};
use crate::store::{ClusterAccept, DeliveryStore, Fence, Lead};

pub(crate) async fn deliveries_for_other_leaders_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1]).await;
    let new = message(1, 1, &[1, 2]);
    assert_eq!(fixture.accept(lead, vec![new.clone(), message(2, 2, &[3])]).await, [false, false]);
    assert_eq!(fixture.arrived(&[1]).await, []);
    assert_eq!(fixture.arrived(&[3]).await, [(msg(2), ep(3))]);
    let arrivals = fixture.arrivals(&[2]).await;
    assert_eq!(arrivals.len(), 1);
    assert_eq!(arrivals[0].delivery, Some(Delivery::new(msg(1), ep(2), app(1), at(1))));
    assert_eq!(arrivals[0].content, Some((new.message.clone(), new.payload.clone())));
    assert_eq!(store.message(msg(1)).await.unwrap(), Some(new.message));
    assert_eq!(store.payload(msg(1)).await.unwrap(), Some(new.payload));
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap().len(), 2);
}

pub(crate) async fn a_node_that_leads_nothing_takes_messages(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    fixture.leads(fixture.ann, &[1]).await;
    let lead = Lead { fence: Fence(9999), ..Lead::default() };
    assert_eq!(fixture.accept(lead, vec![message(1, 1, &[1, 2])]).await, [false]);
    assert_eq!(fixture.arrived(&[1]).await, [(msg(1), ep(1))]);
    assert_eq!(fixture.arrived(&[2]).await, [(msg(1), ep(2))]);
}

pub(crate) async fn messages_of_a_store_all_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    fixture.leads(fixture.ann, &[1, 2, 3]).await;
    store.accept(vec![message(1, 1, &[1, 2]), message(2, 2, &[])]).await.unwrap();
    assert_eq!(fixture.arrived(&[2]).await, [(msg(1), ep(2))]);
    assert_eq!(fixture.arrived(&[1, 3]).await, [(msg(1), ep(1))]);
}

pub(crate) async fn a_repeated_message_arrives_once(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let twice = vec![keyed(1, 1, &[1], "k"), keyed(2, 1, &[1, 2], "k"), message(1, 1, &[2])];
    assert_eq!(fixture.accept(Lead::default(), twice.clone()).await, [false, true, true]);
    assert_eq!(fixture.accept(Lead::default(), twice.clone()).await, [true; 3]);
    store.accept(twice).await.unwrap();
    assert_eq!(fixture.arrivals(&[1, 2]).await.len(), 1);
    assert_eq!(fixture.arrived(&[1]).await, [(msg(1), ep(1))]);
}

pub(crate) async fn a_large_payload_does_not_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let mut new = message(1, 1, &[1]);
    new.payload = Bytes::from(vec![b'x'; 1 << 20]);
    new.message.size = 1 << 20;
    fixture.accept(Lead::default(), vec![new.clone()]).await;
    let arrivals = fixture.arrivals(&[1]).await;
    assert_eq!((arrivals.len(), &arrivals[0].content), (1, &None));
    assert_eq!(arrivals[0].delivery.unwrap().message, msg(1));
    assert_eq!(store.payload(msg(1)).await.unwrap(), Some(new.payload));
}

pub(crate) async fn settings_that_were_not_followed_are_outdated(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1]).await;
    let settings_version = fixture.settings_version().await;
    store.delete_endpoint(ep(2), at(20)).await.unwrap();
    for lead in [lead, Lead::default()] {
        let new = vec![message(1, 1, &[1, 2])];
        let entry = fixture.cluster.accept(lead, settings_version, new).await.unwrap();
        assert_eq!(entry, ClusterAccept::Outdated);
    }
    assert_eq!(store.message(msg(1)).await.unwrap(), None);
    assert_eq!(fixture.arrived(&[1, 2]).await, []);
    fixture.accept(lead, vec![message(1, 1, &[1, 2])]).await;
    assert_eq!(fixture.arrived(&[1, 2]).await, []);
    let cancelled = store.delivery(msg(1), ep(2)).await.unwrap().unwrap();
    assert_eq!(cancelled.state, DeliveryState::Cancelled);
}

pub(crate) async fn an_application_that_is_gone_takes_no_messages(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    store.delete_application(app(1)).await.unwrap();
    let batch = vec![message(1, 2, &[3]), message(2, 1, &[1])];
    let refused =
        fixture.cluster.accept(Lead::default(), fixture.settings_version().await, batch).await;
    assert!(refused.unwrap_err().is_not_found());
    assert_eq!(store.message(msg(1)).await.unwrap(), None);
    assert_eq!(fixture.arrivals(&[1, 3]).await, []);
}

pub(crate) async fn accepts_at_once_arrive_once_each(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1]).await;
    let settings_version = fixture.settings_version().await;
    let accept =
        |lead, n| fixture.cluster.accept(lead, settings_version, vec![keyed(n, 1, &[1, 2], "k")]);
    let none = Lead::default();
    let (a, b, c) = tokio::join!(accept(lead, 1), accept(none, 2), accept(lead, 3));
    let id = |entry| match entry {
        ClusterAccept::Stored(accepted) => (accepted[0].id, accepted[0].repeated),
        other => panic!("{other:?}"),
    };
    let answers = [a, b, c].map(|entry| id(entry.unwrap()));
    let first: Vec<_> = answers.iter().filter(|(_, repeated)| !repeated).collect();
    assert_eq!(first.len(), 1);
    assert!(answers.iter().all(|(id, _)| *id == first[0].0));
    assert_eq!(fixture.arrived(&[2]).await, [(first[0].0, ep(2))]);
    let own = fixture.cluster.arrivals(shards(&[1]), &[], 9).await.unwrap();
    // The lead of the first decides.
    assert_eq!(own.len(), usize::from(first[0].0 == msg(2)));
}
