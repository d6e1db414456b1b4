//! Applications and endpoints.

use stagger::{Span, Verdict};

use super::answers::names;
use crate::model::DeliveryState::{Cancelled, Delivered, Pending, Waiting};
use crate::model::{DeliveryEnding, Disabled, EndpointState, Opened};
use crate::store::testing::fixture::{
    app, application, at, attempt, endpoint, ep, furnish, message, msg, settled,
};
use crate::store::{DeliveryStore, Settlement};

pub(crate) async fn applications_come_back_as_they_were(store: &dyn DeliveryStore) {
    let (second, mut first) = (application(2), application(1));
    store.put_application(second.clone()).await.unwrap();
    store.put_application(first.clone()).await.unwrap();
    first.name = "renamed".into();
    first.keys.clear();
    store.put_application(first.clone()).await.unwrap();
    assert_eq!(store.applications().await.unwrap(), [first, second]);
}

pub(crate) async fn endpoints_come_back_as_they_were_and_keep_their_standing(
    store: &dyn DeliveryStore,
) {
    let fence = furnish(store).await;
    let endpoint_state = EndpointState {
        disabled: Some(Disabled::Gone),
        failing_since: Some(at(3)),
        paused_until: Some(at(4)),
        open: Some(Opened { until: at(5), open_time: Span::from_secs(6) }),
        recovering_since: Some(at(7)),
    };
    let learned =
        Settlement { endpoint_state: Some((ep(1), endpoint_state)), ..Settlement::default() };
    store.settle(fence, vec![learned]).await.unwrap();
    let mut changed = endpoint(1, 1);
    changed.url = "https://example.com/other".into();
    store.put_endpoint(changed.clone()).await.unwrap();
    let expected = [
        (changed, endpoint_state),
        (endpoint(2, 1), EndpointState::default()),
        (endpoint(3, 2), EndpointState::default()),
    ];
    assert_eq!(store.endpoints().await.unwrap(), expected);
}

pub(crate) async fn a_deleted_endpoint_cancels_what_is_open_and_what_comes_later(
    store: &dyn DeliveryStore,
) {
    let fence = furnish(store).await;
    store.accept((1..=600).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    store.settle(fence, vec![settled(2, 1, 1, Delivered, 650)]).await.unwrap();
    store.delete_endpoint(ep(1), at(700)).await.unwrap();
    assert_eq!(store.endpoints().await.unwrap().len(), 2);
    store.accept(vec![message(800, 1, &[1, 2])]).await.unwrap();
    store.settle(fence, vec![settled(3, 1, 1, Waiting, 900)]).await.unwrap();
    let counts = store.counts(Some(ep(1))).await.unwrap();
    assert_eq!((counts.of(Cancelled), counts.of(Delivered), counts.of(Pending)), (600, 1, 0));
    for (n, when) in [(1, 700), (3, 700), (600, 700), (800, 800)] {
        let cancelled = store.delivery(msg(n), ep(1)).await.unwrap().unwrap();
        assert_eq!(cancelled.ending, Some(DeliveryEnding::EndpointDeleted));
        assert_eq!(cancelled.updated_at, at(when));
    }
    assert_eq!(store.counts(Some(ep(2))).await.unwrap().of(Pending), 601);
}

pub(crate) async fn a_deleted_application_leaves_nothing_and_gets_nothing(
    store: &dyn DeliveryStore,
) {
    let fence = furnish(store).await;
    store.accept((1..=300).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
    store.accept(vec![message(301, 2, &[3])]).await.unwrap();
    let made = Settlement {
        attempt: Some(attempt(5, 1, 1, Verdict::Ok)),
        ..settled(5, 1, 1, Delivered, 400)
    };
    store.settle(fence, vec![made]).await.unwrap();
    store.delete_application(app(1)).await.unwrap();
    assert_eq!(store.applications().await.unwrap(), [application(2)]);
    assert_eq!(store.endpoints().await.unwrap().len(), 1);
    assert_eq!(store.message(msg(5)).await.unwrap(), None);
    assert_eq!(store.payload(msg(5)).await.unwrap(), None);
    assert_eq!(store.attempts(msg(5), ep(1)).await.unwrap(), []);
    assert_eq!(names(&store.open_deliveries(None, 9).await.unwrap()), [(msg(301), ep(3))]);
    let refused = store.accept(vec![message(400, 2, &[3]), message(401, 1, &[1])]).await;
    assert!(refused.unwrap_err().is_not_found());
    assert_eq!(store.message(msg(400)).await.unwrap(), None);
    assert!(store.put_endpoint(endpoint(1, 1)).await.unwrap_err().is_not_found());
    assert_eq!(store.counts(None).await.unwrap().of(Pending), 1);
}
