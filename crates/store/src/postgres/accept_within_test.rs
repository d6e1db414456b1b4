//! Messages that are accepted within a transaction of the test's own.

use std::time::Duration;

use stagger_scheduler::model::{DeliveryState, NewMessage};
use tokio_postgres::IsolationLevel;

use super::test_schema::{ScratchSchema, TestSchema};
use crate::testing::fixture::{app, at, endpoint, ep, furnish, keyed, message, msg};
use crate::{
    Accepted, Cluster, ClusterAccept, DeliveryStore, Error, Notification, ShardId, Shards,
};

/// No test waits for longer than this.
const LONGEST: Duration = Duration::from_secs(60);

/// The answer of one call.
type Answer = Result<ClusterAccept, Error>;

async fn version(store: &ScratchSchema) -> u64 {
    store.changes_since(0).await.unwrap().to
}

/// A store with the settings of the fixture.
async fn furnished() -> Option<ScratchSchema> {
    let store = ScratchSchema::new().await?;
    furnish(&*store).await;
    Some(store)
}

fn stored(answer: &Answer) -> Vec<(u64, bool)> {
    let Ok(ClusterAccept::Stored(accepted)) = answer else { panic!("not stored: {answer:?}") };
    let number = |of: &Accepted| (1..99).find(|n| msg(*n) == of.id).unwrap();
    accepted.iter().map(|accepted| (number(accepted), accepted.repeated)).collect()
}

/// The pending deliveries, as they are counted.
async fn pending(store: &ScratchSchema) -> u64 {
    store.counts(None).await.unwrap().of(DeliveryState::Pending)
}

#[tokio::test]
async fn what_is_committed_is_there_for_its_leader_and_what_is_rolled_back_is_not() {
    let Some(store) = furnished().await else { return };
    let version = version(&store).await;
    let mut client = store.schema.connect().await;
    let mut joined = store.join(&"ann".into()).await.unwrap();
    let shards = store.acquire(joined.fence, Shards::COUNT).await.unwrap();
    for (n, commits) in [(1, true), (2, false)] {
        let mut caller = client.transaction().await.unwrap();
        let new = [message(n, 1, &[1, 2])];
        let answer = store.accept_within(&mut caller, version, &new).await;
        assert_eq!(stored(&answer), [(n, false)]);
        assert_eq!(store.message(msg(n)).await.unwrap(), None, "it is not committed yet");
        if commits {
            caller.commit().await.unwrap();
        } else {
            caller.rollback().await.unwrap();
        }
        assert_eq!(store.message(msg(n)).await.unwrap().is_some(), commits);
    }
    let arrivals = store.arrivals(shards, &[], 9).await.unwrap();
    let arrived: Vec<_> = arrivals.iter().filter_map(|it| it.delivery).collect();
    assert_eq!(arrived.len(), 2);
    assert!(arrived.iter().all(|it| it.message == msg(1)));
    let payload = store.payload(msg(1)).await.unwrap().unwrap();
    assert_eq!(payload, message(1, 1, &[]).payload);
    assert_eq!(pending(&store).await, 2);
    assert_eq!(store.counts(Some(ep(1))).await.unwrap().of(DeliveryState::Pending), 1);
    // The commit has notified the leader: nothing else in this test would.
    let leads = [1, 2].iter().map(|n| ShardId::of(ep(*n))).collect();
    let told = async {
        while let Some(notification) = joined.notifications.recv().await {
            if notification == Notification::Work(leads) {
                return;
            }
        }
        panic!("no notifications any more");
    };
    tokio::time::timeout(LONGEST, told).await.expect("the leader is notified");
}

#[tokio::test]
async fn a_refused_call_leaves_the_transaction_as_it_was() {
    let Some(store) = furnished().await else { return };
    let version = version(&store).await;
    let mut client = store.schema.connect().await;
    client.batch_execute("CREATE TABLE orders_of_host (n int)").await.unwrap();
    let mut caller = client.transaction().await.unwrap();
    caller.batch_execute("INSERT INTO orders_of_host VALUES (1)").await.unwrap();
    let mut ask =
        async |version, new: &[NewMessage]| store.accept_within(&mut caller, version, new).await;
    assert_eq!(ask(version - 1, &[message(1, 1, &[1])]).await, Ok(ClusterAccept::Outdated));
    let unknown = ask(version, &[message(2, 1, &[1]), message(3, 77, &[])]).await;
    assert!(unknown.unwrap_err().is_not_found());
    let answer = ask(version, &[keyed(4, 1, &[1], "once")]).await;
    assert_eq!(stored(&answer), [(4, false)]);
    let mut same = keyed(5, 1, &[1], "once");
    same.payload = message(4, 1, &[]).payload;
    same.message.event_type = message(4, 1, &[]).message.event_type;
    assert_eq!(stored(&ask(version, &[same, message(6, 1, &[1])]).await), [(4, true), (6, false)]);
    let other = ask(version, &[message(7, 1, &[1]), keyed(8, 1, &[1], "once")]).await.unwrap_err();
    assert!(other.is_conflict() && other.to_string().contains("other contents"), "{other}");
    caller.commit().await.unwrap();
    for (n, there) in [(1, false), (2, false), (4, true), (5, false), (6, true), (7, false)] {
        assert_eq!(store.message(msg(n)).await.unwrap().is_some(), there, "message {n}");
    }
    assert_eq!(pending(&store).await, 2);
    let rows = client.query("SELECT n FROM orders_of_host", &[]).await.unwrap();
    assert_eq!(rows.len(), 1);
}

#[tokio::test]
async fn twins_of_one_call_are_one_message() {
    let Some(store) = furnished().await else { return };
    let version = version(&store).await;
    let mut client = store.schema.connect().await;
    let mut caller = client.transaction().await.unwrap();
    let mut twin = keyed(3, 1, &[1], "twice");
    twin.payload = message(1, 1, &[]).payload;
    let new = [keyed(1, 1, &[1], "twice"), twin];
    assert_eq!(
        stored(&store.accept_within(&mut caller, version, &new).await),
        [(1, false), (1, true)]
    );
    caller.commit().await.unwrap();
    assert_eq!(pending(&store).await, 1);
}

#[tokio::test]
async fn open_transactions_of_one_endpoint_do_not_wait_for_each_other_or_stop_the_store() {
    let Some(store) = furnished().await else { return };
    let version = version(&store).await;
    let (mut one, mut other) = (store.schema.connect().await, store.schema.connect().await);
    let mut first = one.transaction().await.unwrap();
    let mut second = other.transaction().await.unwrap();
    for (caller, n) in [(&mut first, 1), (&mut second, 2)] {
        let answer = store.accept_within(caller, version, &[message(n, 1, &[1])]).await;
        assert_eq!(stored(&answer), [(n, false)]);
    }
    // Both are open, and the store accepts for the same endpoint.
    DeliveryStore::accept(&*store, vec![message(3, 1, &[1])]).await.unwrap();
    assert_eq!(pending(&store).await, 1);
    second.commit().await.unwrap();
    first.commit().await.unwrap();
    assert_eq!(pending(&store).await, 3);
    let counters = store.schema.connect().await;
    let rows = counters.query("SELECT DISTINCT counter FROM tally WHERE counter < 0", &[]).await;
    assert_eq!(rows.unwrap().len(), 2, "each transaction counts in a counter of its own");
}

#[tokio::test]
async fn an_endpoint_that_an_old_snapshot_does_not_see_gets_nothing() {
    let Some(store) = furnished().await else { return };
    let mut client = store.schema.connect().await;
    let builder = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let mut caller = builder.start().await.unwrap();
    caller.query("SELECT 1 FROM message", &[]).await.unwrap();
    store.put_endpoint(endpoint(40, 1)).await.unwrap();
    let version = version(&store).await;
    let new = [message(1, 1, &[1, 40])];
    assert_eq!(stored(&store.accept_within(&mut caller, version, &new).await), [(1, false)]);
    caller.commit().await.unwrap();
    let deliveries = store.deliveries_of(msg(1)).await.unwrap();
    assert_eq!(deliveries.iter().map(|it| it.endpoint).collect::<Vec<_>>(), [ep(1)]);
    store.delete_endpoint(ep(1), at(9)).await.unwrap();
    store.delete_application(app(1)).await.unwrap();
    assert_eq!(pending(&store).await, 0);
}

#[tokio::test]
async fn a_transaction_without_the_tables_of_the_store_is_refused() {
    let Some(store) = furnished().await else { return };
    let version = version(&store).await;
    let other = TestSchema::new().await.unwrap();
    // On the same server the schema is named, so that the search path of the caller does not matter.
    let mut client = other.connect().await;
    let mut caller = client.transaction().await.unwrap();
    let answer = store.accept_within(&mut caller, version, &[message(1, 1, &[1])]).await;
    assert_eq!(stored(&answer), [(1, false)]);
    caller.rollback().await.unwrap();
    store.schema.run("ALTER TABLE tally RENAME TO gone_tally").await;
    let mut caller = client.transaction().await.unwrap();
    let error =
        store.accept_within(&mut caller, version, &[message(2, 1, &[1])]).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the store's database") && text.contains("test_"), "{text}");
    caller.query_one("SELECT 1", &[]).await.expect("the transaction goes on");
    drop(caller);
    store.schema.run("ALTER TABLE gone_tally RENAME TO tally").await;
}
