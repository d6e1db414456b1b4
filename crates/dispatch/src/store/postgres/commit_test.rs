//! Connections that fail in the middle of a commit, so that its result is unknown.

use super::test_proxy::{CommitFault, Proxy};
use super::test_schema::TestSchema;
use super::{PostgresOptions, PostgresStore, check_postgres};
use crate::model::DeliveryState::{Dead, Delivered};
use crate::store::testing::fixture::{app, at, ep, furnish, keyed, msg, settled};
use crate::store::{DeliveryFilter, DeliveryStore, Fence, ReplayRequest};

/// A store with a connection that can be cut.
struct CommitFixture {
    store: PostgresStore,
    proxy: Proxy,
    fence: Fence,
    schema: TestSchema,
}

impl CommitFixture {
    async fn new() -> Option<Self> {
        let schema = TestSchema::new().await?;
        let (proxy, address) = schema.through_proxy().await;
        let store = PostgresStore::open(&address, PostgresOptions::default()).await;
        let store = store.unwrap();
        let fence = furnish(&store).await;
        Some(Self { store, proxy, fence, schema })
    }

    async fn end(self) {
        assert!(self.proxy.is_through(), "no commit was cut");
        check_postgres(&self.schema.address()).await.unwrap();
    }
}

/// A caller that is told that a message is new delivers it: exactly one caller must be told,
/// whatever happened to the commit.
#[tokio::test]
async fn a_doubtful_accept_is_new_exactly_once() {
    for cut in [CommitFault::Answer, CommitFault::Question] {
        let Some(fixture) = CommitFixture::new().await else { return };
        fixture.store.accept(vec![keyed(1, 1, &[1], "first")]).await.unwrap();
        fixture.proxy.arm(cut);
        let batch = vec![keyed(2, 1, &[1, 2], "second"), keyed(3, 1, &[1], "first")];
        let accepted = fixture.store.accept(batch).await.unwrap();
        let answers: Vec<_> = accepted.iter().map(|a| (a.id, a.repeated)).collect();
        assert_eq!(answers, [(msg(2), false), (msg(1), true)], "{cut:?}");
        let again = fixture.store.accept(vec![keyed(4, 1, &[1], "second")]).await.unwrap();
        assert_eq!((again[0].id, again[0].repeated), (msg(2), true), "{cut:?}");
        assert_eq!(fixture.store.open_deliveries(None, 9).await.unwrap().len(), 3, "{cut:?}");
        fixture.end().await;
    }
}

#[tokio::test]
async fn a_doubtful_replay_is_pending_and_returned() {
    for cut in [CommitFault::Answer, CommitFault::Question] {
        let Some(fixture) = CommitFixture::new().await else { return };
        let store = &fixture.store;
        let batch = (1..=3).map(|n| keyed(n, 1, &[1], &n.to_string())).collect();
        store.accept(batch).await.unwrap();
        let ends = (1..=3).map(|n| settled(n, 1, 1, Dead, 30)).collect();
        store.settle(fixture.fence, ends).await.unwrap();
        fixture.proxy.arm(cut);
        let one = store.replay(ReplayRequest::One(msg(2), ep(1)), at(40), 1).await.unwrap();
        assert_eq!(store.delivery(msg(2), ep(1)).await.unwrap(), Some(one[0]), "{cut:?}");
        assert_eq!(one[0].replays, 1, "{cut:?}");
        assert!(fixture.proxy.is_through());
        fixture.proxy.arm(cut);
        let all = ReplayRequest::Many(app(1), DeliveryFilter::default());
        let many = store.replay(all, at(41), 9).await.unwrap();
        assert_eq!(many.iter().map(|d| d.message).collect::<Vec<_>>(), [msg(1), msg(3)], "{cut:?}");
        assert!(many.iter().all(|d| d.replays == 1 && d.state.is_open()), "{cut:?}");
        fixture.end().await;
    }
}

#[tokio::test]
async fn a_doubtful_settlement_can_be_repeated() {
    for cut in [CommitFault::Answer, CommitFault::Question] {
        let Some(fixture) = CommitFixture::new().await else { return };
        fixture.store.accept(vec![keyed(1, 1, &[1], "k")]).await.unwrap();
        fixture.proxy.arm(cut);
        let end = vec![settled(1, 1, 1, Delivered, 5)];
        let failed = fixture.store.settle(fixture.fence, end.clone()).await.unwrap_err();
        assert!(failed.is_unavailable(), "{failed}");
        fixture.store.settle(fixture.fence, end).await.unwrap();
        assert_eq!(fixture.store.counts(None).await.unwrap().of(Delivered), 1, "{cut:?}");
        fixture.end().await;
    }
}
