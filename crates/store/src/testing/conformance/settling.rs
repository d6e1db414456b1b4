//! Accepting messages and settling attempts.

use stagger::Verdict;
use stagger_scheduler::model::DeliveryState::{Cancelled, Dead, Delivered, Pending, Waiting};
use stagger_scheduler::model::{Delivery, EndpointState};

use super::suite::{counted, names};
use crate::testing::fixture::{
    app, at, attempt, delivery, ep, furnish, keyed, message, msg, page, settled,
};
use crate::{
    AuditEntry, DeliveryCounts, DeliveryStore, Fence, MessageFilter, ReplayRequest, Settlement,
};

pub(crate) async fn a_settlement_is_written_whole(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    let failed = Settlement {
        delivery: Some(delivery(1, 1, 1, Waiting, 5)),
        attempt: Some(attempt(1, 1, 1, Verdict::Throttled)),
        endpoint_state: Some((
            ep(1),
            EndpointState { paused_until: Some(at(9)), ..EndpointState::default() },
        )),
        operational: vec![message(2, 1, &[2])],
    };
    store.settle(fence, vec![failed, settled(1, 2, 1, Delivered, 6)]).await.unwrap();
    let expected = [delivery(1, 1, 1, Waiting, 5), delivery(1, 2, 1, Delivered, 6)];
    assert_eq!(store.deliveries_of(msg(1)).await.unwrap(), expected);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap().len(), 1);
    assert_eq!(store.endpoints().await.unwrap()[0].1.paused_until, Some(at(9)));
    let open: Vec<_> = names(&store.open_deliveries(None, 9).await.unwrap());
    assert_eq!(open, [(msg(1), ep(1)), (msg(2), ep(2))]);
}

pub(crate) async fn a_stale_run_changes_nothing(store: &dyn DeliveryStore) {
    let stale = furnish(store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    let fence = store.begin_run().await.unwrap();
    assert!(fence > stale);
    for wrong in [stale, Fence(0), Fence(fence.0 + 1)] {
        let refused = store.settle(wrong, vec![settled(1, 1, 1, Delivered, 5)]).await;
        assert!(refused.unwrap_err().is_conflict());
    }
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Pending);
    store.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await.unwrap();
}

pub(crate) async fn a_finished_delivery_stays_finished(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    let late = Settlement {
        attempt: Some(attempt(1, 1, 1, Verdict::Transient)),
        ..settled(1, 1, 1, Waiting, 6)
    };
    store.settle(fence, vec![settled(1, 1, 1, Cancelled, 5), late]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Cancelled);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap().len(), 1);
    store.settle(fence, vec![settled(1, 1, 1, Delivered, 7)]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Delivered);
}

pub(crate) async fn a_late_settlement_does_not_undo_a_replay(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    store.settle(fence, vec![settled(1, 1, 1, Dead, 5)]).await.unwrap();
    store.replay(ReplayRequest::One(msg(1), ep(1)), at(20), 1).await.unwrap();
    let late = Settlement {
        attempt: Some(attempt(1, 1, 2, Verdict::Transient)),
        ..settled(1, 1, 1, Dead, 21)
    };
    store.settle(fence, vec![late, settled(1, 1, 1, Waiting, 22)]).await.unwrap();
    let kept = store.delivery(msg(1), ep(1)).await.unwrap().unwrap();
    assert_eq!((kept.state, kept.replays, kept.updated_at), (Pending, 1, at(20)));
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap().len(), 1, "it was made");
    let mut own = settled(1, 1, 1, Delivered, 23);
    own.delivery.as_mut().unwrap().replays = 1;
    store.settle(fence, vec![own]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state, Delivered);
}

pub(crate) async fn settlements_of_what_is_gone_are_left_out(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    let gone = Settlement {
        delivery: Some(delivery(1, 1, 1, Waiting, 5)),
        attempt: Some(attempt(1, 1, 1, Verdict::Transient)),
        endpoint_state: Some((ep(9), EndpointState::default())),
        operational: Vec::new(),
    };
    store.settle(fence, vec![gone]).await.unwrap();
    assert_eq!(store.delivery(msg(1), ep(1)).await.unwrap(), None);
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap(), []);
    assert_eq!(store.endpoints().await.unwrap().len(), 3);
    assert_eq!(store.counts(None).await.unwrap(), DeliveryCounts::default());
}

pub(crate) async fn attempts_come_back_in_order_as_they_were(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    store.accept(vec![message(1, 1, &[1, 2])]).await.unwrap();
    let verdicts = [
        Verdict::Transient,
        Verdict::Throttled,
        Verdict::Unprocessed,
        Verdict::Permanent,
        Verdict::Cancelled,
        Verdict::Ok,
    ];
    let made: Vec<_> = (1..).zip(verdicts).map(|(n, v)| attempt(1, 1, n, v)).collect();
    for attempt in made.iter().rev().cloned() {
        let settlement = Settlement { attempt: Some(attempt), ..settled(1, 1, 1, Waiting, 5) };
        store.settle(fence, vec![settlement]).await.unwrap();
    }
    assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap(), made);
    assert_eq!(store.attempts(msg(1), ep(2)).await.unwrap(), []);
}

pub(crate) async fn counts_follow_every_change(store: &dyn DeliveryStore) {
    let fence = furnish(store).await;
    assert_eq!(store.counts(Some(ep(1))).await.unwrap(), DeliveryCounts::default());
    store.accept((1..=6).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    let states = [Waiting, Delivered, Dead, Cancelled].into_iter();
    let ends = (1..).zip(states).map(|(n, state)| settled(n, 1, 1, state, 9)).collect();
    store.settle(fence, ends).await.unwrap();
    assert_eq!(counted(store, Some(ep(1))).await, [2, 1, 1, 1, 1]);
    assert_eq!(counted(store, Some(ep(2))).await, [6, 0, 0, 0, 0]);
    assert_eq!(counted(store, None).await, [8, 1, 1, 1, 1]);
    store.replay(ReplayRequest::One(msg(3), ep(1)), at(20), 1).await.unwrap();
    store.settle(fence, vec![settled(2, 2, 1, Delivered, 9)]).await.unwrap();
    store.prune(None, at(99), 9).await.unwrap();
    assert_eq!(counted(store, None).await, [8, 1, 0, 0, 1]);
    store.delete_application(app(1)).await.unwrap();
    assert_eq!(counted(store, None).await, [0; 5]);
}

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

pub(crate) async fn a_message_keeps_its_attributes_as_an_event(store: &dyn DeliveryStore) {
    furnish(store).await;
    store.accept(vec![message(7, 1, &[1])]).await.unwrap();
    store.accept(vec![message(14, 1, &[1]), keyed(16, 1, &[1], "order 7")]).await.unwrap();
    store.accept(vec![message(21, 1, &[1]), keyed(22, 1, &[1], "order 7")]).await.unwrap();
    for n in [7, 14, 21] {
        let given = message(n, 1, &[1]).message.attributes;
        assert!(!given.is_empty());
        assert_eq!(store.message(msg(n)).await.unwrap().unwrap().attributes, given);
    }
    assert!(store.message(msg(16)).await.unwrap().unwrap().attributes.is_empty());
}

pub(crate) async fn a_message_keeps_the_trace_of_its_producer(store: &dyn DeliveryStore) {
    furnish(store).await;
    // A batch with a repetition may be stored by other statements than one without.
    store.accept(vec![message(12, 1, &[1]), keyed(13, 1, &[1], "order 7")]).await.unwrap();
    store.accept(vec![message(15, 1, &[1]), keyed(16, 1, &[1], "order 7")]).await.unwrap();
    for n in [12, 15] {
        let stored = store.message(msg(n)).await.unwrap().unwrap();
        let trace = stored.trace.as_ref().unwrap();
        assert_eq!(trace.span_id(), n.to_be_bytes());
        assert_eq!(trace.tracestate(), Some("a=1,b=\"2"));
        assert_eq!(stored, message(n, 1, &[1]).message);
    }
    let listed = store.messages(app(1), MessageFilter::default(), page(9)).await.unwrap();
    let traced = listed.items.iter().filter(|message| message.trace.is_some()).count();
    assert_eq!((listed.items.len(), traced), (3, 2));
    let in_channels = listed.items.iter().filter(|message| !message.channels.is_empty()).count();
    assert_eq!(in_channels, 1, "message 15");
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

pub(crate) async fn the_audit_log_has_the_newest_entries_first(store: &dyn DeliveryStore) {
    let entry = |n: u64| AuditEntry {
        number: 0,
        at: at(n),
        actor: "admin".into(),
        action: format!("PATCH /v1/applications/{n}"),
        detail: "name, slots \u{e4}".into(),
    };
    assert_eq!(store.audit(None, 9).await.unwrap(), []);
    for n in 1..=5 {
        store.record_audit(entry(n)).await.unwrap();
    }
    let newest = store.audit(None, 2).await.unwrap();
    assert_eq!(newest.iter().map(|entry| entry.at).collect::<Vec<_>>(), [at(5), at(4)]);
    assert!(newest[0].number > newest[1].number && newest[1].number > 0);
    assert_eq!(AuditEntry { number: 0, ..newest[0].clone() }, entry(5));
    let older = store.audit(Some(newest[1].number), 9).await.unwrap();
    assert_eq!(older.iter().map(|entry| entry.at).collect::<Vec<_>>(), [at(3), at(2), at(1)]);
}
