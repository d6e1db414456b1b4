//! Outages: of the server, of the network, and in the middle of a commit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stagger::Verdict;
use stagger_scheduler::model::DeliveryState::{Dead, Delivered, Waiting};

use super::test_schema::{ScratchSchema, TestSchema};
use super::test_server::{CommitFault, OwnServer, Proxy};
use super::{PostgresAddress, PostgresOptions, PostgresStore, check_postgres};
use crate::error::StoreBackoff;
use crate::testing::fixture::{app, at, attempt, ep, furnish, keyed, message, msg, settled};
use crate::{Accepted, DeliveryFilter, DeliveryStore, Fence, ReplayRequest, Settlement};

/// Messages that are accepted through a restart, and the number of concurrent senders.
const MESSAGES: u64 = 1200;
const SENDERS: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_in_mid_flight_loses_nothing_and_stores_nothing_twice() {
    let Some(server) = OwnServer::start("restart") else { return };
    let schema = TestSchema::of(server.url.clone()).await;
    let store = Arc::new(schema.open().await);
    furnish(&*store).await;
    let book = Arc::new(Book::default());
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| tokio::spawn(send(Arc::clone(&store), Arc::clone(&book), sender)))
        .collect();
    while book.answered() < MESSAGES / 3 {
        tokio::task::yield_now().await;
    }
    tokio::task::block_in_place(|| {
        server.stop();
        book.stopped.store(true, Ordering::Release);
        while book.failures.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        server.go_on();
    });
    for sender in senders {
        sender.await.unwrap();
    }
    assert!(book.failures.load(Ordering::Relaxed) > 0, "the restart was not noticed");
    let answers = book.answers.lock().unwrap().clone();
    assert_eq!(answers.len() as u64, MESSAGES);
    for (key, answers) in &answers {
        let id = answers[0].id;
        // The caller that is told that it is new schedules it: exactly one.
        let new = answers.iter().filter(|answer| !answer.repeated).count();
        assert_eq!(new, 1, "{key}: {answers:?}");
        assert!(answers.iter().all(|answer| answer.id == id), "{key}: {answers:?}");
        assert!(store.payload(id).await.unwrap().is_some(), "{key}");
        assert!(store.delivery(id, ep(1)).await.unwrap().is_some(), "{key}");
    }
    assert_eq!(check_postgres(&schema.address()).await.unwrap().messages, MESSAGES);
}

/// The answers, by the number of the key; asked again after every doubtful commit.
#[derive(Default)]
struct Book {
    answers: Mutex<BTreeMap<u64, Vec<Accepted>>>,
    failures: AtomicU64,
    /// Whether the server has stopped: some messages are left for that time.
    stopped: AtomicBool,
}

impl Book {
    fn answered(&self) -> u64 {
        self.answers.lock().unwrap().len() as u64
    }
}

/// Sends every twelfth message until it is answered, under a new id each time, as an API does.
async fn send(store: Arc<PostgresStore>, book: Arc<Book>, sender: usize) {
    let sender = sender as u64;
    let mut id = sender + 1;
    for key in (sender..MESSAGES).step_by(SENDERS) {
        let is_last = key + SENDERS as u64 >= MESSAGES;
        while is_last && !book.stopped.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
        let mut backoff = StoreBackoff::default();
        loop {
            id += SENDERS as u64;
            match store.accept(vec![keyed(id, 1, &[1, 2], &key.to_string())]).await {
                Ok(accepted) => {
                    book.answers.lock().unwrap().entry(key).or_default().push(accepted[0]);
                    break;
                }
                Err(error) => {
                    assert!(error.is_unavailable(), "{error}");
                    book.failures.fetch_add(1, Ordering::Relaxed);
                    backoff.wait().await;
                }
            }
        }
    }
}

#[tokio::test]
async fn without_a_server_everything_is_unavailable_until_it_is_back() {
    let Some(server) = OwnServer::start("away") else { return };
    let schema = TestSchema::of(server.url.clone()).await;
    let store = schema.open().await;
    let fence = furnish(&store).await;
    store.accept(vec![message(1, 1, &[1])]).await.unwrap();
    server.stop();
    let settlement = settled(1, 1, 1, Delivered, 5);
    let failures = [
        store.accept(vec![message(2, 1, &[1])]).await.unwrap_err(),
        store.settle(fence, vec![settlement.clone()]).await.unwrap_err(),
        store.check().await.unwrap_err(),
        store.open_deliveries(None, 9).await.unwrap_err(),
        PostgresStore::open(&schema.address(), PostgresOptions::default()).await.unwrap_err(),
    ];
    for failure in failures {
        assert!(failure.is_unavailable(), "{failure}");
    }
    server.go_on();
    store.check().await.unwrap();
    store.settle(fence, vec![settlement]).await.unwrap();
    assert_eq!(store.message(msg(2)).await.unwrap(), None);
    assert!(!store.accept(vec![message(2, 1, &[1])]).await.unwrap()[0].repeated);
}

#[tokio::test]
async fn a_database_that_only_reads_is_unavailable_and_says_so() {
    let Some(scratch) = ScratchSchema::new().await else { return };
    furnish(&*scratch).await;
    let only_reads = scratch.schema.address_with("-cdefault_transaction_read_only%3Don");
    let store = PostgresStore::open(&only_reads, PostgresOptions::default()).await.unwrap();
    let refused = store.accept(vec![message(1, 1, &[1])]).await.unwrap_err();
    assert!(refused.is_unavailable() && refused.to_string().contains("read-only"), "{refused}");
    assert!(store.check().await.unwrap_err().is_unavailable());
    assert_eq!(store.applications().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_server_without_a_free_connection_is_unavailable() {
    let Some(schema) = TestSchema::new().await else { return };
    let role = format!("few_{}", std::process::id());
    schema.run(&format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 0")).await;
    let url = schema.url_with("").replace("user=stagger", &format!("user={role}"));
    let opened = PostgresStore::open(&url.parse().unwrap(), PostgresOptions::default()).await;
    schema.run(&format!("DROP ROLE {role}")).await;
    let refused = opened.unwrap_err();
    assert!(refused.is_unavailable() && refused.to_string().contains("(53300)"), "{refused}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_password() {
    let url = "postgres://me:hunter2@127.0.0.1:1/shop";
    let address: PostgresAddress = url.parse().unwrap();
    let refused = PostgresStore::open(&address, PostgresOptions::default()).await.unwrap_err();
    assert!(refused.is_unavailable() && !refused.to_string().contains("hunter2"), "{refused}");
}

#[tokio::test]
async fn characters_that_postgres_cannot_store_are_replaced() {
    let Some(store) = ScratchSchema::new().await else { return };
    furnish(&*store).await;
    let mut odd = message(1, 1, &[1]);
    odd.message.content_type = "nul \0 within".into();
    store.accept(vec![odd]).await.unwrap();
    let stored = store.message(msg(1)).await.unwrap().unwrap();
    assert_eq!(stored.content_type, "nul \u{fffd} within");
}

#[tokio::test]
async fn attempts_of_a_day_go_with_it_once_no_message_is_left() {
    let Some(store) = ScratchSchema::new().await else { return };
    let fence = furnish(&*store).await;
    let day = 20_000;
    let first = day * 86_400_000;
    let make = format!(
        "CREATE TABLE attempt_{day} PARTITION OF attempt FOR VALUES FROM ({day}) TO ({})",
        day + 1
    );
    store.schema.run(&make).await;
    store.accept(vec![message(first, 1, &[1]), message(first + 1, 1, &[1])]).await.unwrap();
    let end = |n: u64, state| Settlement {
        attempt: Some(attempt(n, 1, 1, Verdict::Ok)),
        ..settled(n, 1, 1, state, n)
    };
    store.settle(fence, vec![end(first, Delivered), end(first + 1, Waiting)]).await.unwrap();
    let before = at(first + 2 * 86_400_000);
    assert_eq!(store.prune(None, before, 9).await.unwrap().messages, 1);
    assert_eq!(store.attempts(msg(first), ep(1)).await.unwrap(), []);
    assert_eq!(store.attempts(msg(first + 1), ep(1)).await.unwrap().len(), 1);
    let there = format!("DO $$ BEGIN ASSERT to_regclass('attempt_{day}') IS NOT NULL; END $$");
    store.schema.run(&there).await;
    store.settle(fence, vec![settled(first + 1, 1, 1, Delivered, first)]).await.unwrap();
    assert_eq!(store.prune(None, before, 9).await.unwrap().messages, 1);
    store.schema.run(&there.replace("NOT NULL", "NULL")).await;
}

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
