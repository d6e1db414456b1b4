//! The store on a disk that fails, after a crash, and beside the store in memory.

use std::fs;
use std::fs::OpenOptions;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};

use proptest::prelude::*;
use rusqlite::Connection;
use stagger::Span;
use stagger_scheduler::model::DeliveryState;
use tokio::runtime::Builder;

use super::row::DbError;
use super::test_folder::{ScratchFolder, TestFolder};
use super::writer::Changes;
use super::{SqliteOptions, SqliteStore, check, file};
use crate::testing::differential::{compare, steps};
use crate::testing::fixture::{at, furnish, message, msg, settled};
use crate::{DeliveryStore, Fence};

#[tokio::test]
async fn a_full_disk_loses_nothing_and_ends_when_there_is_room() {
    let folder = TestFolder::new();
    let store = folder.open();
    let fence = furnish(&store).await;
    limit_pages(&store, 100).await;
    let mut n = 1;
    let error = loop {
        match store.accept(vec![message(n, 1, &[1, 2]); 1]).await {
            Ok(_) => n += 1,
            Err(error) => break error,
        }
    };
    assert!(error.is_unavailable(), "{error}");
    assert!(n > 100, "{n} messages fit");
    assert_eq!(store.message(msg(n)).await.unwrap(), None);
    assert_eq!(store.deliveries_of(msg(n)).await.unwrap(), []);
    assert_eq!(store.counts(None).await.unwrap().of(DeliveryState::Pending), (n - 1) * 2);
    store.check().await.expect("a small write needs no room");
    let error = store.check_room().await.unwrap_err();
    assert!(error.is_store_failure() && error.to_string().contains("full"), "{error}");
    limit_pages(&store, 1_000_000).await;
    store.check_room().await.unwrap();
    store.accept(vec![message(n, 1, &[1, 2])]).await.unwrap();
    store.settle(fence, vec![settled(n, 1, 1, DeliveryState::Delivered, n)]).await.unwrap();
    assert_eq!(check(&folder).unwrap().messages, n);
}

#[tokio::test]
async fn a_lock_of_another_process_is_an_error_until_it_is_gone() {
    let folder = TestFolder::new();
    let options = SqliteOptions { lock_wait: Span::from_millis(1), ..SqliteOptions::default() };
    let store = SqliteStore::open(&*folder, options).unwrap();
    furnish(&store).await;
    let shell = Connection::open(store.file()).unwrap();
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..2 {
        let error = store.accept(vec![message(1, 1, &[1])]).await.unwrap_err();
        assert!(error.is_unavailable(), "{error}");
    }
    assert!(store.check().await.is_err());
    assert_eq!(store.open_deliveries(None, 9).await.unwrap(), []);
    shell.execute_batch("ROLLBACK").unwrap();
    store.check().await.unwrap();
    assert!(!store.accept(vec![message(1, 1, &[1])]).await.unwrap()[0].repeated);
}

#[tokio::test]
async fn one_bad_write_does_not_spoil_those_beside_it() {
    let folder = TestFolder::new();
    let store = folder.open();
    furnish(&store).await;
    let gate = HeldWrite::default();
    let bad = |changes: &mut Changes<'_>| -> Result<(), DbError> {
        changes.accept(&[message(8, 1, &[1])])?;
        Ok(changes.db.execute_batch("INSERT INTO mark VALUES ('run', 0)")?)
    };
    let held = async {
        gate.wait_until_held();
        let (first, bad, stale, last, ()) = tokio::join!(
            store.accept(vec![message(1, 1, &[1])]),
            store.change(bad),
            store.settle(Fence(77), Vec::new()),
            store.accept(vec![message(2, 1, &[1])]),
            async { gate.open() },
        );
        assert!(bad.is_err_and(|e| e.is_unavailable()) && stale.is_err_and(|e| e.is_conflict()));
        assert!(!first.unwrap()[0].repeated && !last.unwrap()[0].repeated);
    };
    let (_, ()) = tokio::join!(store.change(gate.hold()), held);
    assert_eq!(store.open_deliveries(None, 9).await.unwrap().len(), 2);
    assert_eq!(store.message(msg(8)).await.unwrap(), None);
    assert_eq!(store.counts(None).await.unwrap().of(DeliveryState::Pending), 2);
    check(&folder).unwrap();
}

#[tokio::test]
async fn a_full_queue_answers_at_once() {
    let folder = TestFolder::new();
    let queue = NonZeroUsize::new(1).unwrap();
    let options = SqliteOptions { queue, ..SqliteOptions::default() };
    let store = SqliteStore::open(&*folder, options).unwrap();
    furnish(&store).await;
    let gate = HeldWrite::default();
    let held = async {
        gate.wait_until_held();
        let (queued, refused, ()) = tokio::join!(
            store.accept(vec![message(1, 1, &[1])]),
            store.accept(vec![message(2, 1, &[1])]),
            async { gate.open() },
        );
        assert!(refused.unwrap_err().is_unavailable());
        queued.unwrap();
    };
    let (_, ()) = tokio::join!(store.change(gate.hold()), held);
    store.accept(vec![message(2, 1, &[1])]).await.unwrap();
}

#[tokio::test]
async fn too_many_bytes_in_the_queue_are_refused_too() {
    let folder = TestFolder::new();
    let options = SqliteOptions { queue_bytes: 1000, ..SqliteOptions::default() };
    let store = SqliteStore::open(&*folder, options).unwrap();
    furnish(&store).await;
    let gate = HeldWrite::default();
    let many = |from: u64| store.accept((from..from + 9).map(|n| message(n, 1, &[])).collect());
    let held = async {
        gate.wait_until_held();
        let (queued, refused, ()) = tokio::join!(many(1), many(21), async { gate.open() });
        assert!(refused.unwrap_err().is_unavailable());
        queued.unwrap();
    };
    let (_, ()) = tokio::join!(store.change(gate.hold()), held);
    many(21).await.unwrap();
}

#[tokio::test]
async fn space_of_pruned_messages_is_given_back() {
    let folder = TestFolder::new();
    let store = folder.open();
    let fence = furnish(&store).await;
    for n in 1..=20 {
        let mut new = message(n, 1, &[1]);
        new.payload = vec![7; 200_000].into();
        store.accept(vec![new]).await.unwrap();
    }
    let ends = (1..=20).map(|n| settled(n, 1, 1, DeliveryState::Delivered, 30));
    store.settle(fence, ends.collect()).await.unwrap();
    for _ in 0..20 {
        store.prune(None, at(99), 1).await.unwrap();
    }
    store
        .change(|changes| Ok(changes.db.execute_batch("UPDATE mark SET value = 1")?))
        .await
        .unwrap();
    drop(store);
    let left = folder.join("stagger.db").metadata().unwrap().len();
    assert!(left < 1_500_000, "{left} bytes");
}

async fn limit_pages(store: &SqliteStore, pages: u32) {
    let limit = move |changes: &mut Changes<'_>| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        Ok(changes.db.query_row(&sql, [], |row| row.get::<_, i64>(0))?)
    };
    store.change(limit).await.unwrap();
}

/// A write that holds up the writer until it is let go.
struct HeldWrite {
    held: (mpsc::Sender<()>, mpsc::Receiver<()>),
    opened: mpsc::Sender<()>,
    waiting: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Default for HeldWrite {
    fn default() -> Self {
        let (opened, waiting) = mpsc::channel();
        Self { held: mpsc::channel(), opened, waiting: Arc::new(Mutex::new(waiting)) }
    }
}

impl HeldWrite {
    fn hold(&self) -> impl Fn(&mut Changes<'_>) -> Result<(), DbError> + Send + 'static {
        let (held, waiting) = (self.held.0.clone(), Arc::clone(&self.waiting));
        move |_| {
            held.send(()).unwrap();
            waiting.lock().unwrap().recv().unwrap();
            Ok(())
        }
    }

    fn wait_until_held(&self) {
        self.held.1.recv().unwrap();
    }

    fn open(&self) {
        self.opened.send(()).unwrap();
    }
}

const MESSAGES: u64 = 60;

#[tokio::test]
async fn acknowledged_messages_are_there_after_a_crash() {
    let folder = TestFolder::new();
    let store = folder.open();
    fill(&store).await;
    let crashed = crash(&folder);
    drop(store);
    assert_eq!(check(&crashed).unwrap().messages, MESSAGES);
    let store = crashed.open();
    assert_eq!(store.open_deliveries(None, 999).await.unwrap().len(), 2 * 60);
}

#[tokio::test]
async fn a_torn_log_loses_only_its_end() {
    let folder = TestFolder::new();
    let store = folder.open();
    fill(&store).await;
    let log = folder.join("stagger.db-wal").metadata().unwrap().len();
    // Odd steps, so that frames are torn at every offset within them.
    let mut last = None;
    for cut in (0..=log).rev().step_by(usize::try_from(log / 40).unwrap() | 1) {
        let crashed = crash(&folder);
        let torn = OpenOptions::new().write(true).open(crashed.join("stagger.db-wal")).unwrap();
        torn.set_len(cut).unwrap();
        let there = whole_messages(&crashed).await;
        assert!(last.is_none_or(|last| there <= last), "less log, more messages");
        assert!(cut < log || there == MESSAGES);
        last = Some(there);
    }
    assert!(last.unwrap() < MESSAGES / 4, "the cuts reached the beginning");
}

#[tokio::test]
async fn a_log_with_a_damaged_frame_loses_only_what_follows() {
    let folder = TestFolder::new();
    let store = folder.open();
    fill(&store).await;
    let log = fs::read(folder.join("stagger.db-wal")).unwrap();
    for share in [1, 3, 5, 7] {
        let crashed = crash(&folder);
        let mut damaged = log.clone();
        let at = damaged.len() * share / 8;
        damaged[at..at + 16].iter_mut().for_each(|byte| *byte ^= 0x55);
        fs::write(crashed.join("stagger.db-wal"), damaged).unwrap();
        assert!(whole_messages(&crashed).await < MESSAGES);
    }
}

async fn fill(store: &SqliteStore) {
    furnish(store).await;
    for n in 1..=MESSAGES {
        store.accept(vec![message(n, 1, &[1, 2])]).await.unwrap();
    }
}

/// The number of whole messages: the first ones, each with both deliveries and its payload.
async fn whole_messages(folder: &TestFolder) -> u64 {
    let store = folder.open();
    let mut there = 0;
    for n in 1..=MESSAGES {
        if store.message(msg(n)).await.unwrap().is_some() {
            assert_eq!(there, n - 1, "one before it is missing");
            assert_eq!(store.deliveries_of(msg(n)).await.unwrap().len(), 2);
            assert!(store.payload(msg(n)).await.unwrap().is_some());
            there = n;
        }
    }
    store.check().await.unwrap();
    drop(store);
    assert_eq!(check(folder).unwrap().messages, there);
    there
}

/// A copy of the files as the death of the process would leave them.
fn crash(folder: &Path) -> TestFolder {
    let copy = TestFolder::new();
    file::make_folder(&copy).unwrap();
    for name in ["stagger.db", "stagger.db-wal"] {
        fs::copy(folder.join(name), copy.join(name)).unwrap();
    }
    copy
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn both_stores_answer_the_same(steps in steps()) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = ScratchFolder::new();
            compare(&*store, &steps).await;
            check(store.file()).unwrap();
        });
    }
}
