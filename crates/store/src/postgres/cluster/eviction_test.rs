//! Memberships that end during one of their writes, and members that do not learn of their
//! eviction.

use std::sync::Arc;
use std::time::Duration;

use stagger::{Sleep, Span, TokioTime};
use stagger_scheduler::model::DeliveryState::{Delivered, Pending};
use tokio::time::timeout;
use tokio_postgres::Client;

use super::super::accept::{Accept, AcceptCall, Choice};
use super::super::test_schema::TestSchema;
use super::super::test_server::CommitFault;
use super::super::writer::SELDOM;
use super::super::{PostgresOptions, PostgresStore, check_postgres};
use crate::testing::fixture::{ep, furnish, message, msg, settled};
use crate::{Accepted, Cluster, ClusterAccept, DeliveryStore, Fence, Lead, ShardId, Shards};

/// The longest time that an operation may take, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until the answer to a question is yes.
async fn until(client: &Client, question: &str) {
    let ask = async {
        while !client.query_one(question, &[]).await.unwrap().get::<_, bool>(0) {
            TokioTime.sleep(Span::from_millis(5)).await;
        }
    };
    timeout(TIMEOUT, ask).await.expect(question);
}

/// A session waits for a lock of this one. (`pg_stat_activity` has the state of the moment at which
/// a transaction first queried it.)
const SOMEBODY_WAITS: &str = "SELECT count(*) > 0 FROM pg_locks a \
    WHERE NOT a.granted AND pg_backend_pid() = ANY(pg_blocking_pids(a.pid))";
/// A session waits for another one that waits for a lock of this session.
const SOMEBODY_WAITS_FOR_THEM: &str = "SELECT count(*) > 0 FROM pg_locks a \
    CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) AS b \
    WHERE NOT a.granted AND pg_backend_pid() = ANY(pg_blocking_pids(b))";

async fn open(schema: &TestSchema, lease: Span) -> Arc<PostgresStore> {
    let options = PostgresOptions { lease, ..PostgresOptions::default() };
    Arc::new(PostgresStore::open(&schema.address(), options).await.unwrap())
}

/// Holds the deliveries of message 1 until it is dropped.
async fn hold(schema: &TestSchema) -> Client {
    let holder = schema.connect().await;
    holder.batch_execute("BEGIN; SELECT 1 FROM delivery FOR UPDATE").await.unwrap();
    holder
}

/// Accepts message `n` for endpoint 1, for its leader.
async fn accept(store: &PostgresStore, n: u64) {
    DeliveryStore::accept(store, vec![message(n, 1, &[1])]).await.unwrap();
}

async fn state(store: &PostgresStore) -> stagger_scheduler::model::DeliveryState {
    store.delivery(msg(1), ep(1)).await.unwrap().unwrap().state
}

#[tokio::test]
async fn an_eviction_waits_for_what_is_being_settled() {
    let Some(schema) = TestSchema::new().await else { return };
    let (ann, bob) =
        (open(&schema, Span::from_secs(100)).await, open(&schema, Span::from_secs(100)).await);
    furnish(&*ann).await;
    let fence = ann.join(&"ann".into()).await.unwrap().fence;
    accept(&ann, 1).await;
    let holder = hold(&schema).await;
    let settling = tokio::spawn({
        let ann = Arc::clone(&ann);
        async move { ann.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await }
    });
    until(&holder, SOMEBODY_WAITS).await;
    let evicting = tokio::spawn({
        let bob = Arc::clone(&bob);
        async move {
            let evicted = bob.evict(fence, 0).await;
            (evicted, state(&bob).await)
        }
    });
    until(&holder, SOMEBODY_WAITS_FOR_THEM).await;
    assert!(!settling.is_finished() && !evicting.is_finished());
    holder.batch_execute("ROLLBACK").await.unwrap();
    let (evicted, seen) = timeout(TIMEOUT, evicting).await.unwrap().unwrap();
    // Its running settlement has ended when the eviction answers.
    assert_eq!((evicted.unwrap(), seen), (true, Delivered));
    settling.await.unwrap().unwrap();
    let late = ann.settle(fence, vec![settled(1, 1, 1, Pending, 6)]).await;
    assert!(late.unwrap_err().is_conflict());
}

#[tokio::test]
async fn an_eviction_does_not_wait_for_long() {
    let Some(schema) = TestSchema::new().await else { return };
    let (ann, bob) =
        (open(&schema, Span::from_secs(60)).await, open(&schema, Span::from_secs(1)).await);
    furnish(&*ann).await;
    let fence = ann.join(&"ann".into()).await.unwrap().fence;
    accept(&ann, 1).await;
    let holder = hold(&schema).await;
    let settling = tokio::spawn({
        let ann = Arc::clone(&ann);
        async move { ann.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await }
    });
    until(&holder, SOMEBODY_WAITS).await;
    // A tenth of a second, where a session of others waits for ten.
    let refused = bob.evict(fence, 0).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
    assert!(!settling.is_finished());
    holder.batch_execute("ROLLBACK").await.unwrap();
    settling.await.unwrap().unwrap();
    assert!(bob.evict(fence, 0).await.unwrap());
    assert_eq!(state(&bob).await, Delivered);
}

#[tokio::test]
async fn heartbeats_do_not_wait_for_settlements() {
    let Some(schema) = TestSchema::new().await else { return };
    let ann = open(&schema, Span::from_secs(10)).await;
    furnish(&*ann).await;
    let fence = ann.join(&"ann".into()).await.unwrap().fence;
    accept(&ann, 1).await;
    let holder = hold(&schema).await;
    let settling = tokio::spawn({
        let ann = Arc::clone(&ann);
        async move { ann.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await }
    });
    until(&holder, SOMEBODY_WAITS).await;
    for heartbeat in 1..=3 {
        assert_eq!(ann.heartbeat(fence, false).await.unwrap().members[0].heartbeat, heartbeat);
    }
    assert!(!settling.is_finished());
    holder.batch_execute("ROLLBACK").await.unwrap();
    settling.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_member_cut_off_in_mid_transaction_is_evicted_within_the_lease() {
    let Some(schema) = TestSchema::new().await else { return };
    let lease = Span::from_secs(8);
    let options = PostgresOptions { lease, ..PostgresOptions::default() };
    let (proxy, address) = schema.through_proxy().await;
    let ann = Arc::new(PostgresStore::open(&address, options).await.unwrap());
    let bob = open(&schema, lease).await;
    furnish(&*bob).await;
    let fence = ann.join(&"ann".into()).await.unwrap().fence;
    ann.acquire(fence, Shards::COUNT).await.unwrap();
    accept(&bob, 1).await;
    proxy.arm(CommitFault::Silence);
    let settling = tokio::spawn({
        let ann = Arc::clone(&ann);
        async move { ann.settle(fence, vec![settled(1, 1, 1, Delivered, 5)]).await }
    });
    let cut = async {
        while !proxy.is_through() {
            TokioTime.sleep(Span::from_millis(5)).await;
        }
    };
    timeout(TIMEOUT, cut).await.expect("it is committed");
    let evict = async {
        loop {
            match bob.evict(fence, 0).await {
                Ok(evicted) => return evicted,
                Err(error) => assert!(error.is_unavailable(), "{error}"),
            }
        }
    };
    assert!(timeout(lease.into(), evict).await.expect("it takes a quarter of the lease"));
    assert_eq!(state(&bob).await, Pending);
    let carl = bob.join(&"carl".into()).await.unwrap().fence;
    assert_eq!(bob.acquire(carl, Shards::COUNT).await.unwrap(), Shards::ALL);
    settling.abort();
    check_postgres(&schema.address()).await.unwrap();
}

#[tokio::test]
async fn two_nodes_that_take_at_once_share_no_shard() {
    let Some(schema) = TestSchema::new().await else { return };
    let (ann, bob) =
        (open(&schema, Span::from_secs(10)).await, open(&schema, Span::from_secs(10)).await);
    let (of_ann, of_bob) = ("ann".into(), "bob".into());
    let (a, b) = tokio::join!(ann.join(&of_ann), bob.join(&of_bob));
    let (a, b) = (a.unwrap().fence, b.unwrap().fence);
    for most in [3, 60, 128, 256] {
        let (of_ann, of_bob) = tokio::join!(ann.acquire(a, most), bob.acquire(b, most));
        let (of_ann, of_bob) = (of_ann.unwrap(), of_bob.unwrap());
        assert!(of_ann.common(of_bob).is_empty());
        // Each skips rows that the other is acquiring: it may have got fewer than were free.
        assert!(of_ann.len() <= most && of_bob.len() <= most);
        let free = ann.heartbeat(a, false).await.unwrap().free;
        assert_eq!(of_ann.union(of_bob), Shards::ALL.without(free));
        ann.release(a, of_ann).await.unwrap();
        bob.release(b, of_bob).await.unwrap();
    }
}

/// A paused node that resumes does not know of its eviction: its reads and completions must not
/// remove arrivals that its shards' new leader has to find.
#[tokio::test]
async fn an_evicted_member_takes_no_arrival_from_the_new_leader() {
    let Some(schema) = TestSchema::new().await else { return };
    let (ann, bob) =
        (open(&schema, Span::from_secs(10)).await, open(&schema, Span::from_secs(10)).await);
    furnish(&*ann).await;
    let (a, b) = (
        ann.join(&"ann".into()).await.unwrap().fence,
        bob.join(&"bob".into()).await.unwrap().fence,
    );
    ann.acquire(a, Shards::COUNT).await.unwrap();
    accept(&ann, 1).await;
    let known = ann.arrivals(Shards::ALL, &[], 9).await.unwrap();
    assert_eq!(known.len(), 1);
    assert!(bob.evict(a, 0).await.unwrap());
    bob.acquire(b, Shards::COUNT).await.unwrap();
    accept(&bob, 2).await;
    let done = [known[0].number];
    assert_eq!(ann.arrivals(Shards::ALL, &done, 9).await.unwrap(), []);
    assert_eq!(bob.arrivals(Shards::ALL, &[], 9).await.unwrap().len(), 2);
    assert_eq!(bob.arrivals(Shards::ALL, &done, 9).await.unwrap().len(), 1);
}

/// Calls that share a transaction, and the answer of each.
async fn entries(
    store: &PostgresStore,
    calls: &[AcceptCall<'_>],
    again: bool,
) -> Vec<ClusterAccept> {
    let done = store.writer.try_write(SELDOM, &Accept(calls), again).await.unwrap();
    done.into_iter().map(Result::unwrap).collect()
}

fn stored(n: u64) -> ClusterAccept {
    ClusterAccept::Stored(vec![Accepted { id: msg(n), repeated: false }])
}

#[tokio::test]
async fn calls_that_share_a_transaction_are_judged_one_by_one() {
    let Some(schema) = TestSchema::new().await else { return };
    let store = open(&schema, Span::from_secs(10)).await;
    furnish(&*store).await;
    let fence = store.join(&"ann".into()).await.unwrap().fence;
    let shards = store.acquire(fence, Shards::COUNT).await.unwrap();
    let settings_version = store.changes_since(0).await.unwrap().to;
    let (own, strange) = (Lead { fence, shards }, Lead { fence: Fence(99), shards });
    let few = Lead { fence, shards: [ShardId::of(ep(1))].into_iter().collect() };
    let choices = [
        Some(Choice { lead: own, settings_version }),
        Some(Choice { lead: own, settings_version: settings_version - 1 }),
        Some(Choice { lead: strange, settings_version }),
        None,
        Some(Choice { lead: few, settings_version: settings_version + 1 }),
        Some(Choice { lead: Lead::default(), settings_version }),
    ];
    let messages: Vec<_> = (1..=6).map(|n| [message(n, 1, &[1, 2])]).collect();
    let calls: Vec<_> = choices
        .into_iter()
        .zip(&messages)
        .map(|(choice, messages)| AcceptCall { messages, choice })
        .collect();
    let expected = [
        stored(1),
        ClusterAccept::Outdated,
        ClusterAccept::NotLeading,
        stored(4),
        stored(5),
        stored(6),
    ];
    assert_eq!(entries(&store, &calls, false).await, expected);
    let arrived = store.arrivals(Shards::ALL, &[], 99).await.unwrap();
    let arrived: Vec<_> = arrived.iter().filter_map(|it| it.delivery).collect();
    let arrived: Vec<_> = arrived.iter().map(|it| (it.message, it.endpoint)).collect();
    let expected = [(4, 1), (4, 2), (5, 2), (6, 1), (6, 2)].map(|(n, to)| (msg(n), ep(to)));
    assert_eq!(arrived, expected);
    for n in [2, 3] {
        assert_eq!(store.message(msg(n)).await.unwrap(), None);
    }
}

/// The commit was in doubt and holds; meanwhile settings have changed and the membership has ended.
#[tokio::test]
async fn a_doubtful_write_that_was_stored_is_not_refused_later() {
    let Some(schema) = TestSchema::new().await else { return };
    let store = open(&schema, Span::from_secs(10)).await;
    furnish(&*store).await;
    let fence = store.join(&"ann".into()).await.unwrap().fence;
    let shards = store.acquire(fence, Shards::COUNT).await.unwrap();
    let settings_version = store.changes_since(0).await.unwrap().to;
    let choice = Some(Choice { lead: Lead { fence, shards }, settings_version });
    let (held, lost) = ([message(1, 1, &[1])], [message(2, 1, &[1])]);
    let call = |messages| AcceptCall { messages, choice };
    assert_eq!(entries(&store, &[call(&held)], false).await, [stored(1)]);
    store.put_endpoint(crate::testing::fixture::endpoint(2, 1)).await.unwrap();
    let again = entries(&store, &[call(&held), call(&lost)], true).await;
    assert_eq!(again, [stored(1), ClusterAccept::Outdated]);
    store.leave(fence).await.unwrap();
    let again = entries(&store, &[call(&lost), call(&held)], true).await;
    assert_eq!(again, [ClusterAccept::NotLeading, stored(1)]);
    assert_eq!(store.message(msg(2)).await.unwrap(), None);
    assert_eq!(store.arrivals(Shards::ALL, &[], 9).await.unwrap(), []);
    check_postgres(&schema.address()).await.unwrap();
}

#[tokio::test]
async fn each_member_counts_for_itself_in_the_slot_of_one_that_has_left() {
    let Some(schema) = TestSchema::new().await else { return };
    let (ann, bob) =
        (open(&schema, Span::from_secs(10)).await, open(&schema, Span::from_secs(10)).await);
    furnish(&*ann).await;
    for round in 0..5_u64 {
        let (a, b) = (
            ann.join(&"ann".into()).await.unwrap().fence,
            bob.join(&"bob".into()).await.unwrap().fence,
        );
        for (n, store) in [(1, &ann), (2, &bob)] {
            let n = 10 * round + n;
            accept(store, n).await;
            let fence = if n % 10 == 1 { a } else { b };
            store.settle(fence, vec![settled(n, 1, 1, Delivered, 5)]).await.unwrap();
        }
        ann.leave(a).await.unwrap();
        bob.leave(b).await.unwrap();
    }
    assert_eq!(bob.counts(None).await.unwrap().of(Delivered), 10);
    let client = schema.connect().await;
    // Two endpoints' rows (all, and one), two members, a worker of three and the settling.
    let bounded = "SELECT count(*) <= 2 * 2 * 4 FROM tally";
    assert!(client.query_one(bounded, &[]).await.unwrap().get::<_, bool>(0));
}

/// As after a restore to an earlier moment, or where a standby that lagged is promoted.
#[tokio::test]
async fn a_database_that_lost_a_join_gave_its_fence_to_the_next_member() {
    let Some(schema) = TestSchema::new().await else { return };
    let (store, client) = (schema.open().await, schema.connect().await);
    let earlier = "SELECT value FROM mark WHERE name = 'run'";
    let earlier = client.query_one(earlier, &[]).await.unwrap().get::<_, i64>(0);
    let lost = store.join(&"ann".into()).await.unwrap().fence;
    client.batch_execute("DELETE FROM node").await.unwrap();
    let back = format!("UPDATE mark SET value = {earlier} WHERE name = 'run'");
    client.batch_execute(&back).await.unwrap();
    let bob = store.join(&"bob".into()).await.unwrap().fence;
    assert_ne!(bob, lost);
    assert!(store.heartbeat(lost, false).await.unwrap_err().is_conflict());
    assert!(store.acquire(lost, 1).await.unwrap_err().is_conflict());
    assert!(store.settle(lost, Vec::new()).await.unwrap_err().is_conflict());
    assert_eq!(store.heartbeat(bob, false).await.unwrap().members.len(), 1);
}
