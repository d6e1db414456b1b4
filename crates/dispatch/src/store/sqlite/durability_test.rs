//! Durability: after a crash everything acknowledged is there, and nothing half-written.

use std::fs::{self, OpenOptions};
use std::path::Path;

use super::test_folder::TestFolder;
use super::{check, file};
use crate::store::DeliveryStore;
use crate::store::testing::fixture::{furnish, message, msg};

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

async fn fill(store: &super::SqliteStore) {
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
