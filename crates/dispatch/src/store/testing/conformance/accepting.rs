//! Messages come in.

use crate::model::Delivery;
use crate::store::DeliveryStore;
use crate::store::testing::fixture::{app, at, ep, furnish, keyed, message, msg};

pub(crate) async fn accepted_messages_are_stored(store: &dyn DeliveryStore) {
    furnish(store).await;
    let (first, second) = (message(10, 1, &[1, 2]), message(11, 2, &[]));
    let accepted = store.accept(vec![first.clone(), second.clone()]).await.unwrap();
    assert_eq!(accepted.iter().map(|a| a.id).collect::<Vec<_>>(), [msg(10), msg(11)]);
    assert!(accepted.iter().all(|a| !a.repeated));
    assert_eq!(store.message(msg(10)).await.unwrap(), Some(first.message));
    assert_eq!(store.payload(msg(10)).await.unwrap(), Some(first.payload));
    assert_eq!(store.message(msg(12)).await.unwrap(), None);
    assert_eq!(store.payload(msg(12)).await.unwrap(), None);
    let new = |to| Delivery::new(msg(10), ep(to), app(1), at(10));
    assert_eq!(store.deliveries_of(msg(10)).await.unwrap(), [new(1), new(2)]);
    assert_eq!(store.delivery(msg(10), ep(2)).await.unwrap(), Some(new(2)));
    assert_eq!(store.delivery(msg(10), ep(3)).await.unwrap(), None);
    assert_eq!(store.open_deliveries(None, 9).await.unwrap(), [new(1), new(2)]);
    assert_eq!(store.deliveries_of(msg(11)).await.unwrap(), []);
}

pub(crate) async fn a_repeated_key_answers_the_first_id(store: &dyn DeliveryStore) {
    furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1], "order 7")]).await.unwrap();
    let again = store.accept(vec![keyed(2, 1, &[1, 2], "order 7")]).await.unwrap();
    assert_eq!((again[0].id, again[0].repeated), (msg(1), true));
    assert_eq!(store.message(msg(2)).await.unwrap(), None);
    assert_eq!(store.open_deliveries(None, 9).await.unwrap().len(), 1);
}

pub(crate) async fn equal_keys_within_one_batch_are_one_message(store: &dyn DeliveryStore) {
    furnish(store).await;
    let batch = vec![keyed(1, 1, &[1], "k"), keyed(2, 1, &[1], "other"), keyed(3, 1, &[1], "k")];
    let accepted = store.accept(batch).await.unwrap();
    let answers: Vec<_> = accepted.iter().map(|a| (a.id, a.repeated)).collect();
    assert_eq!(answers, [(msg(1), false), (msg(2), false), (msg(1), true)]);
    assert_eq!(store.message(msg(3)).await.unwrap(), None);
}

pub(crate) async fn keys_of_two_applications_are_apart(store: &dyn DeliveryStore) {
    furnish(store).await;
    let batch = vec![keyed(1, 1, &[1], "k"), keyed(2, 2, &[3], "k")];
    assert!(store.accept(batch).await.unwrap().iter().all(|a| !a.repeated));
}

pub(crate) async fn an_id_that_is_there_is_not_stored_again(store: &dyn DeliveryStore) {
    furnish(store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    let again = store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    assert_eq!((again[0].id, again[0].repeated), (msg(1), true));
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap().len(), 1);
}

pub(crate) async fn a_repeated_key_hides_no_other_message_of_its_id(store: &dyn DeliveryStore) {
    furnish(store).await;
    store.accept(vec![keyed(1, 1, &[1], "k")]).await.unwrap();
    let batch = vec![keyed(2, 1, &[1], "k"), message(2, 1, &[2])];
    let accepted = store.accept(batch).await.unwrap();
    let answers: Vec<_> = accepted.iter().map(|a| (a.id, a.repeated)).collect();
    assert_eq!(answers, [(msg(1), true), (msg(2), false)]);
    assert_eq!(store.message(msg(2)).await.unwrap().map(|it| it.key), Some(None));
    assert_eq!(store.deliveries_of(msg(2)).await.unwrap()[0].endpoint, ep(2));
}

pub(crate) async fn accepts_of_one_key_at_once_store_one(store: &dyn DeliveryStore) {
    furnish(store).await;
    let accept = |n| store.accept(vec![keyed(n, 1, &[1], "k")]);
    let (a, b, c) = tokio::join!(accept(1), accept(2), accept(3));
    let answers = [a, b, c].map(|answer| answer.unwrap()[0]);
    assert_eq!(answers.iter().filter(|a| !a.repeated).count(), 1);
    assert!(answers.iter().all(|a| a.id == answers[0].id));
    assert_eq!(store.open_deliveries(None, 9).await.unwrap().len(), 1);
}

pub(crate) async fn an_open_store_can_write(store: &dyn DeliveryStore) {
    store.check().await.unwrap();
}
