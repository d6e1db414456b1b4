//! Checkpoints: move pages from the log to the file, so that the log stays small. Always passively:
//! only the writer waits for it, and pages that a reader still needs stay for the next time.

use rusqlite::Connection;

/// Pages in the log at which an idle moment is used: 4 MiB. Fewer are not worth a flush of the file.
const WHEN_IDLE: i64 = 1_000;
/// Pages in the log at which it is done under load too: 40 MiB. At SQLite's own 1 000 the slowest
/// writes of a loaded store take three times as long.
const UNDER_LOAD: i64 = 10_000;

/// A batch was written, and there may be more.
pub(super) fn after_batch(db: &Connection) {
    run_from(db, UNDER_LOAD);
}

/// Nothing is queued.
pub(super) fn when_idle(db: &Connection) {
    run_from(db, WHEN_IDLE);
}

/// A checkpoint that fails loses nothing: the log stays, and the next one tries again.
fn run_from(db: &Connection, pages: i64) {
    if waiting(db).is_ok_and(|waiting| waiting >= pages) {
        checkpoint(db, "PASSIVE").ok();
    }
}

/// Pages of the log that are not in the file yet.
fn waiting(db: &Connection) -> rusqlite::Result<i64> {
    checkpoint(db, "NOOP").map(|(log, done)| log - done)
}

/// Pages in the log, and the number of them that are in the file.
pub(super) fn checkpoint(db: &Connection, mode: &str) -> rusqlite::Result<(i64, i64)> {
    let mut pragma = db.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    pragma.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use super::super::test_folder::TestFolder;
    use crate::store::DeliveryStore;
    use crate::store::testing::fixture::{furnish, message};

    #[tokio::test]
    async fn the_log_stays_small() {
        let folder = TestFolder::new();
        let store = folder.open();
        furnish(&store).await;
        let payload = bytes::Bytes::from(vec![7; 1 << 20]);
        for n in 1..=100 {
            let mut new = message(n, 1, &[1]);
            new.payload = payload.clone();
            store.accept(vec![new]).await.unwrap();
        }
        let log = folder.join("stagger.db-wal").metadata().unwrap().len();
        assert!(log < 50 << 20, "{log} bytes of log for 100 MiB of payloads");
    }
}
