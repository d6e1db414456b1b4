//! Accepting as a leader, the arrivals of other leaders, and loading shards.

use bytes::Bytes;
use stagger_scheduler::model::DeliveryState::{Dead, Delivered, Waiting};
use stagger_scheduler::model::{Delivery, DeliveryState};

use super::fixture::{ClusterFixture, numbers, shards};
use crate::testing::conformance::suite::names;
use crate::testing::fixture::{app, at, delivery, ep, keyed, message, msg, settled};
use crate::{
    ClusterAccept, DeliveryFilter, DeliveryStore, Fence, Lead, ReplayRequest, Settlement, Shards,
};

pub(crate) async fn arrivals_are_answered_until_they_are_done(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    for n in [3, 1, 2] {
        fixture.accept(Lead::default(), vec![message(n, 1, &[1, 2])]).await;
    }
    let order = [3, 1, 2].map(|n| (msg(n), ep(1)));
    for _ in 0..2 {
        assert_eq!(fixture.arrived(&[1]).await, order);
    }
    let all = numbers(&fixture.arrivals(&[1]).await);
    let mine = shards(&[1]);
    let two = fixture.cluster.arrivals(mine, &[], 2).await.unwrap();
    assert_eq!(numbers(&two), all[..2]);
    for _ in 0..2 {
        let left = fixture.cluster.arrivals(mine, &all[1..2], 9).await.unwrap();
        assert_eq!(numbers(&left), [all[0], all[2]]);
    }
    // None is wanted, but these are completed all the same.
    assert_eq!(fixture.cluster.arrivals(Shards::NONE, &all, 9).await.unwrap(), []);
    assert_eq!(fixture.arrivals(&[1]).await, []);
    assert_eq!(fixture.cluster.arrivals(mine, &[u64::MAX >> 1], 9).await.unwrap(), []);
    assert_eq!(fixture.arrived(&[1, 2]).await, [3, 1, 2].map(|n| (msg(n), ep(2))));
    assert_eq!(store.open_deliveries(None, 99).await.unwrap().len(), 6);
}

pub(crate) async fn arrivals_show_deliveries_as_they_are(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    fixture.accept(Lead::default(), (1..=3).map(|n| message(n, 1, &[1])).collect()).await;
    let changes = [settled(1, 1, 1, Waiting, 9), settled(2, 1, 1, Delivered, 9)];
    store.settle(fixture.ann, changes.to_vec()).await.unwrap();
    let found = fixture.arrivals(&[1]).await;
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].delivery, Some(delivery(1, 1, 1, Waiting, 9)));
    assert_eq!(found[1].delivery, None);
    assert_eq!(found[2].delivery.unwrap().message, msg(3));
    store.delete_endpoint(ep(1), at(20)).await.unwrap();
    let found = fixture.arrivals(&[1]).await;
    assert_eq!(found.iter().filter(|it| it.delivery.is_some()).count(), 0);
    let left = fixture.cluster.arrivals(Shards::ALL, &numbers(&found), 9).await.unwrap();
    assert_eq!(left, []);
}

pub(crate) async fn deleted_deliveries_do_not_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let batch = vec![message(1, 1, &[1]), message(2, 2, &[3]), message(3, 1, &[1])];
    fixture.accept(Lead::default(), batch).await;
    store.settle(fixture.ann, vec![settled(1, 1, 1, Delivered, 9)]).await.unwrap();
    assert_eq!(store.prune(None, at(3), 9).await.unwrap().messages, 1);
    store.delete_application(app(2)).await.unwrap();
    assert_eq!(fixture.arrived(&[1, 3]).await, [(msg(3), ep(1))]);
    let (_, covered) = fixture.load(Shards::ALL).await;
    assert_eq!(fixture.cluster.arrivals(Shards::ALL, &covered, 9).await.unwrap(), []);
}

pub(crate) async fn replays_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    store.accept((1..=3).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let ends = [(1, 1), (2, 1), (3, 2)].map(|(n, to)| settled(n, to, 1, Dead, 9));
    store.settle(fixture.ann, ends.to_vec()).await.unwrap();
    let (_, covered) = fixture.load(Shards::ALL).await;
    assert_eq!(fixture.cluster.arrivals(Shards::ALL, &covered, 9).await.unwrap(), []);
    store.replay(ReplayRequest::One(msg(2), ep(1)), at(20), 1).await.unwrap();
    assert_eq!(fixture.arrived(&[1, 2]).await, [(msg(2), ep(1))]);
    let found = fixture.arrivals(&[1]).await;
    let replayed = delivery(2, 1, 1, Dead, 9).replayed(at(20));
    assert_eq!(found[0].delivery, Some(replayed));
    assert_eq!(found[0].content.as_ref().map(|(message, _)| message.id), Some(msg(2)));
    let many = ReplayRequest::Many(app(1), DeliveryFilter::default());
    let replayed = store.replay(many, at(30), 9).await.unwrap();
    assert_eq!(names(&replayed), [(msg(1), ep(1)), (msg(3), ep(2))]);
    assert_eq!(fixture.arrived(&[1]).await, [2, 1].map(|n| (msg(n), ep(1))));
    assert_eq!(fixture.arrived(&[2]).await, [(msg(3), ep(2))]);
    assert!(store.replay(ReplayRequest::One(msg(2), ep(1)), at(40), 1).await.is_err());
    assert_eq!(fixture.arrivals(&[1, 2]).await.len(), 3);
}

pub(crate) async fn operational_messages_arrive(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let lead = fixture.leads(fixture.ann, &[1, 2]).await;
    fixture.accept(lead, vec![message(1, 1, &[1])]).await;
    let dead = Settlement { operational: vec![message(2, 1, &[2])], ..settled(1, 1, 1, Dead, 9) };
    for _ in 0..2 {
        store.settle(fixture.ann, vec![dead.clone()]).await.unwrap();
        assert_eq!(fixture.arrived(&[1, 2]).await, [(msg(2), ep(2))]);
    }
}

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

pub(crate) async fn open_deliveries_are_loaded_oldest_first(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let batch = [4, 2, 5, 3, 1].map(|n| message(n, 1, &[2, 1]));
    store.accept(batch.to_vec()).await.unwrap();
    store.accept(vec![message(6, 2, &[3])]).await.unwrap();
    let ends = [(2, Delivered), (3, Waiting), (5, Dead)].map(|(n, s)| settled(n, 1, 1, s, 9));
    store.settle(fixture.ann, ends.to_vec()).await.unwrap();
    store.replay(ReplayRequest::One(msg(5), ep(1)), at(20), 1).await.unwrap();
    let (found, _) = fixture.load(shards(&[1])).await;
    assert_eq!(names(&found), [1, 3, 4, 5].map(|n| (msg(n), ep(1))));
    assert_eq!(found[1], delivery(3, 1, 1, Waiting, 9));
    assert_eq!(found[3], delivery(5, 1, 1, Dead, 9).replayed(at(20)));
    let (found, _) = fixture.load(shards(&[1, 2])).await;
    let of = |to| found.iter().copied().filter(|it| it.endpoint == ep(to)).collect::<Vec<_>>();
    assert_eq!(found.len(), 9);
    assert_eq!(names(&of(1)), [1, 3, 4, 5].map(|n| (msg(n), ep(1))));
    assert_eq!(names(&of(2)), [1, 2, 3, 4, 5].map(|n| (msg(n), ep(2))));
    let (found, _) = fixture.load(Shards::ALL.without(shards(&[1, 2]))).await;
    assert_eq!(names(&found), [(msg(6), ep(3))]);
    assert_eq!(fixture.load(Shards::NONE).await, (Vec::new(), Vec::new()));
}

pub(crate) async fn a_long_backlog_is_loaded_whole(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    for thousand in 0..4 {
        let batch = (1..=1000).rev().map(|n| message(thousand * 1000 + n, 1, &[1, 2])).collect();
        store.accept(batch).await.unwrap();
    }
    let (found, covered) = fixture.load(Shards::ALL).await;
    assert_eq!((found.len(), covered.len()), (8000, 8000));
    for to in [1, 2] {
        let of_one: Vec<Delivery> =
            found.iter().copied().filter(|it| it.endpoint == ep(to)).collect();
        assert_eq!(names(&of_one), (1..=4000).map(|n| (msg(n), ep(to))).collect::<Vec<_>>());
    }
}

pub(crate) async fn loading_covers_what_has_arrived(store: &dyn DeliveryStore) {
    let fixture = ClusterFixture::of(store).await;
    let batch = (1..=3).map(|n| message(n, 1, &[1, 2])).collect();
    fixture.accept(Lead::default(), batch).await;
    let own = fixture.leads(fixture.ann, &[1]).await;
    fixture.accept(own, vec![message(4, 1, &[1])]).await;
    store.settle(fixture.ann, vec![settled(2, 1, 1, Delivered, 9)]).await.unwrap();
    let arrivals = fixture.arrivals(&[1]).await;
    let (found, covered) = fixture.load(own.shards).await;
    assert_eq!(names(&found), [1, 3, 4].map(|n| (msg(n), ep(1))));
    assert_eq!((covered.len(), &covered), (3, &numbers(&arrivals)));
    // Later ones are not.
    fixture.accept(Lead::default(), vec![message(5, 1, &[1])]).await;
    let left = fixture.cluster.arrivals(own.shards, &covered, 9).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].delivery.unwrap().message, msg(5));
    assert!(!covered.contains(&left[0].number));
    assert_eq!(fixture.arrivals(&[2]).await.len(), 3);
}
