//! Checkpoints: pages of the write-ahead log are copied into the file by a thread of their own, beside the writer.
//!
//! A checkpoint of a loaded store takes as long as several writes, which would all wait for it. The log can begin anew
//! only when all of it is in the file, and the writer adds to it all the time; so the writer copies the last pages
//! itself, once few are left.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use stagger::Span;

use super::file;
use crate::Error;

/// Pages that are worth a flush of the file when nothing else is to do: 4 MiB.
const WHEN_IDLE: i64 = 1_000;
/// Pages that are copied under load too: 16 MiB.
const UNDER_LOAD: i64 = 4_000;
/// Pages of a log that begins anew as soon as it can: 40 MiB. At SQLite's own 1,000 the slowest writes of a loaded
/// store take three times as long.
const LONG: i64 = 10_000;
/// Pages that the writer copies itself: about those of its largest transaction.
const FEW: i64 = 1_500;
/// Pages of a log that grows faster than it is copied: the writer waits. 160 MiB.
const TOO_LONG: i64 = 40_000;

/// The handle of the thread, which ends with it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    turn: Arc<CheckpointTurn>,
    thread: Option<JoinHandle<()>>,
}

/// The work of the thread, done or asked for.
#[derive(Debug, Default)]
struct CheckpointTurn {
    state: Mutex<CopyPhase>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CopyPhase {
    /// The thread waits.
    #[default]
    Idle,
    /// The thread makes a checkpoint, or is about to.
    Copying,
    Closed,
}

impl Checkpointer {
    /// Starts the thread, with a connection of its own to the database at `path`.
    pub(super) fn start(path: &Path, lock_wait: Span) -> Result<Self, Error> {
        let db = file::open_to_checkpoint(path, lock_wait)?;
        let turn = Arc::<CheckpointTurn>::default();
        let its_turn = Arc::clone(&turn);
        let work = move || its_turn.work(&db);
        let thread = std::thread::Builder::new().name("stagger-checkpoint".into()).spawn(work);
        Ok(Self { turn, thread: Some(thread.map_err(|e| Error::store(e.to_string()))?) })
    }

    /// Keeps the log short, after a transaction of the writer, whose connection is `db`; `idle` if nothing is queued.
    pub(super) fn after_batch(&self, db: &Connection, idle: bool) {
        // A failure loses nothing: the log stays, and the next call tries again.
        let Ok((log, done)) = file::checkpoint(db, "NOOP") else { return };
        let waiting = log - done;
        if self.turn.is_copying() {
            if log < TOO_LONG {
                return;
            }
            self.turn.wait_while_copying();
        }
        let long = log >= LONG;
        if log >= TOO_LONG || (long && waiting <= FEW) {
            file::checkpoint(db, "PASSIVE").ok();
        } else if long || waiting >= if idle { WHEN_IDLE } else { UNDER_LOAD } {
            self.turn.begin();
        }
    }
}

impl Drop for Checkpointer {
    /// Waits for the end of a checkpoint.
    fn drop(&mut self) {
        *self.turn.state() = CopyPhase::Closed;
        self.turn.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The error is the thread's panic, which was reported already.
            thread.join().ok();
        }
    }
}

impl CheckpointTurn {
    /// Makes a checkpoint for each turn, until it is closed.
    fn work(&self, db: &Connection) {
        while self.wait_for_turn() {
            file::checkpoint(db, "PASSIVE").ok();
            let mut state = self.state();
            if *state == CopyPhase::Copying {
                *state = CopyPhase::Idle;
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn begin(&self) {
        *self.state() = CopyPhase::Copying;
        self.changed.notify_all();
    }

    fn is_copying(&self) -> bool {
        *self.state() == CopyPhase::Copying
    }

    fn wait_while_copying(&self) {
        let copying = |state: &mut CopyPhase| *state == CopyPhase::Copying;
        drop(self.changed.wait_while(self.state(), copying));
    }

    /// False when there will be no more turns.
    fn wait_for_turn(&self) -> bool {
        let idle = |state: &mut CopyPhase| *state == CopyPhase::Idle;
        let state = self.changed.wait_while(self.state(), idle);
        *state.unwrap_or_else(PoisonError::into_inner) == CopyPhase::Copying
    }

    fn state(&self) -> MutexGuard<'_, CopyPhase> {
        // It is one value.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_folder::TestFolder;
    use super::*;

    /// A database with a table, and its checkpoints.
    fn database(folder: &TestFolder) -> (Connection, Checkpointer) {
        file::make_folder(folder).unwrap();
        let path = file::path_in(folder);
        let db = file::open(&path, Span::from_secs(1)).unwrap();
        db.execute_batch("CREATE TABLE filler (bytes BLOB)").unwrap();
        (db, Checkpointer::start(&path, Span::from_secs(1)).unwrap())
    }

    /// Adds about so many pages.
    fn fill(db: &Connection, pages: usize) {
        db.execute("INSERT INTO filler VALUES (?1)", [vec![7_u8; pages * 4096]]).unwrap();
    }

    fn frames(db: &Connection) -> (i64, i64) {
        file::checkpoint(db, "NOOP").unwrap()
    }

    #[test]
    fn a_writer_that_never_rests_never_got_its_log_copied() {
        let folder = TestFolder::new();
        let (db, checkpointer) = database(&folder);
        let mut longest = 0;
        // Its own thread copies it before that, unless the machine is very busy.
        let most = TOO_LONG + 600;
        loop {
            fill(&db, 500);
            checkpointer.after_batch(&db, false);
            let (log, _) = frames(&db);
            assert!(log <= most, "{log} pages");
            if log < longest {
                break;
            }
            longest = log;
        }
        assert!(longest >= LONG, "it began anew after {longest} pages");
    }

    #[test]
    fn a_log_too_long_is_copied_by_the_writer() {
        let folder = TestFolder::new();
        let (db, checkpointer) = database(&folder);
        fill(&db, usize::try_from(TOO_LONG).unwrap());
        checkpointer.after_batch(&db, false);
        let (log, done) = frames(&db);
        assert_eq!(log, done, "nobody else writes");
    }

    #[test]
    fn a_short_log_is_copied_once_nothing_is_queued() {
        let folder = TestFolder::new();
        let (db, checkpointer) = database(&folder);
        fill(&db, 1_100);
        checkpointer.after_batch(&db, false);
        assert_eq!(frames(&db).1, 0, "it is worth no flush yet");
        checkpointer.after_batch(&db, true);
        checkpointer.turn.wait_while_copying();
        let (log, done) = frames(&db);
        assert_eq!(log, done);
    }
}
