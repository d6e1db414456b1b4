//! The one thread that writes, and the changes within its transactions.
//!
//! It puts queued writes into one transaction, so that they share one flush of the disk; each is answered
//! only after that.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::{Connection, ErrorCode, params};
use stagger::Instant;
use stagger_scheduler::model::{Message, MessageId};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::checkpointer::Checkpointer;
use super::file::{FolderLock, SqliteOptions};
use super::lookups;
use super::row::{DbError, failed};
use crate::Error;
use crate::encoding::CountChanges;
use crate::fair_jobs::{FairJobs, JobOwner, JobRoom};
use crate::walk::{IdRange, slack_of};

/// Writes in one transaction at most, and the bytes in it, beyond which no further write is added: more would make
/// all of them wait for longer than they gain by sharing. 512 deliveries are as much, and where each has an endpoint of
/// its own they touch a thousand pages.
const BATCH: JobRoom = JobRoom { count: 512, weight: 256 << 10 };

/// The handle of the writing thread, which ends with it.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    queue: Arc<WriteQueue>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteWriter {
    /// Starts the thread. It holds `lock` for as long as it lives.
    pub(super) fn start(
        db: Connection,
        checkpointer: Checkpointer,
        lock: FolderLock,
        options: &SqliteOptions,
    ) -> Result<Self, Error> {
        let memory = Memory::load(&db).map_err(|e| failed(&e))?;
        let room = JobRoom { count: options.queue.get(), weight: options.queue_bytes };
        let queue = Arc::new(WriteQueue::new(room));
        let mut writer_thread = WriterThread { checkpointer, db, memory };
        let jobs = EndOfQueue(Arc::clone(&queue));
        let work = move || {
            writer_thread.work(&jobs.0);
            drop((writer_thread, lock, jobs));
        };
        let thread = std::thread::Builder::new().name("stagger-store".into()).spawn(work);
        let thread = thread.map_err(|e| Error::store(e.to_string()))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Writes in the turn of `owner`: ready once it is durable. `bytes` is about how much it holds in memory.
    ///
    /// `change` may run twice, the first time in vain, when it shared a transaction with one that
    /// failed.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        owner: JobOwner,
        bytes: usize,
        change: impl Fn(&mut Changes<'_>) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.queue.push(owner, bytes, Box::new(Write { change, outcome: None, reply }))?;
        answer.await.unwrap_or_else(|_| Err(Error::store("the writer has ended")))
    }
}

impl Drop for SqliteWriter {
    /// Waits until the queue is written and the file is closed.
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // The error is the thread's panic, which was reported already.
            thread.join().ok();
        }
    }
}

/// The writes that wait for the thread.
#[derive(Debug)]
struct WriteQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState {
    jobs: FairJobs<Box<dyn WriteJob>>,
    /// The reason for which nothing more is added.
    closed: Option<&'static str>,
}

impl WriteQueue {
    fn new(room: JobRoom) -> Self {
        let state = QueueState { jobs: FairJobs::new(room), closed: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn push(&self, owner: JobOwner, bytes: usize, job: Box<dyn WriteJob>) -> Result<(), Error> {
        let mut state = self.state();
        if let Some(why) = state.closed {
            return Err(Error::store(why));
        }
        let full = |_| Error::busy("the store's queue of writes is full");
        state.jobs.push(owner, bytes, job).map_err(full)?;
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// The next batch; none when nothing waits now.
    fn try_take(&self) -> Option<Vec<Box<dyn WriteJob>>> {
        Some(self.state().jobs.take(BATCH)).filter(|batch| !batch.is_empty())
    }

    /// Waits for the next batch; none when there will be no more.
    fn take(&self) -> Option<Vec<Box<dyn WriteJob>>> {
        let waits = |state: &mut QueueState| state.jobs.is_empty() && state.closed.is_none();
        let state = self.changed.wait_while(self.state(), waits);
        let batch = state.unwrap_or_else(PoisonError::into_inner).jobs.take(BATCH);
        Some(batch).filter(|batch| !batch.is_empty())
    }

    fn close(&self) {
        self.state().closed.get_or_insert("closed");
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        // It is whole between any two of its calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops what waits when the thread ends, by a panic too, so that each caller hears of it.
struct EndOfQueue(Arc<WriteQueue>);

impl Drop for EndOfQueue {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = Some("the writer has ended");
        state.jobs.clear();
    }
}

/// A write in the queue.
trait WriteJob: fmt::Debug + Send {
    /// Makes its change, and keeps the result.
    fn run(&mut self, changes: &mut Changes<'_>) -> rusqlite::Result<()>;
    /// Answers with the result of its change, or with the failure of its transaction.
    fn answer(self: Box<Self>, failure: Option<Error>);
}

struct Write<T, F> {
    change: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, F> fmt::Debug for Write<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Write(..)")
    }
}

impl<T, F> WriteJob for Write<T, F>
where
    T: Send,
    F: Fn(&mut Changes<'_>) -> Result<T, DbError> + Send,
{
    fn run(&mut self, changes: &mut Changes<'_>) -> rusqlite::Result<()> {
        self.outcome = Some(match (self.change)(changes) {
            Ok(done) => Ok(done),
            Err(DbError::Refused(error)) => Err(error),
            Err(DbError::Broken(error)) => return Err(error),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<Error>) {
        let outcome = self.outcome.unwrap_or_else(|| Err(Error::store("not written")));
        // The caller may have stopped waiting; the change holds all the same.
        self.reply.send(failure.map_or(outcome, Err)).ok();
    }
}

/// The connection of the writer's thread.
struct WriterThread {
    // Dropped before the connection, the last one of which removes the log.
    checkpointer: Checkpointer,
    db: Connection,
    memory: Memory,
}

impl WriterThread {
    fn work(&mut self, queue: &WriteQueue) {
        while let Some(first) = queue.take() {
            let mut next = Some(first);
            while let Some(batch) = next {
                self.write(batch);
                next = queue.try_take();
                self.checkpointer.after_batch(&self.db, next.is_none());
            }
        }
    }

    /// Writes a batch. If that fails and one of its writes may be the cause, each is tried on its
    /// own.
    fn write(&mut self, mut batch: Vec<Box<dyn WriteJob>>) {
        match self.transact(&mut batch) {
            Ok(()) => batch.into_iter().for_each(|job| job.answer(None)),
            Err(error) if batch.len() == 1 || is_locked(&error) => {
                batch.into_iter().for_each(|job| job.answer(Some(failed(&error))));
            }
            Err(_) => batch.into_iter().for_each(|job| self.write(vec![job])),
        }
    }

    fn transact(&mut self, batch: &mut [Box<dyn WriteJob>]) -> rusqlite::Result<()> {
        let done = self.try_transact(batch);
        if done.is_err() {
            self.memory.rolled_back();
            if !self.db.is_autocommit() {
                // If even this fails, the next BEGIN does, and reports it.
                self.db.execute_batch("ROLLBACK").ok();
            }
        }
        done
    }

    fn try_transact(&mut self, batch: &mut [Box<dyn WriteJob>]) -> rusqlite::Result<()> {
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let tally = CountChanges::default();
        let mut changes = Changes { db: &self.db, memory: &mut self.memory, tally };
        batch.iter_mut().try_for_each(|job| job.run(&mut changes))?;
        lookups::write_counts(&self.db, &mut changes.tally)?;
        self.db.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

/// Whether another process holds the file: each write of a batch would wait for it in vain.
fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The facts that the writer keeps from one transaction to the next.
#[derive(Debug)]
pub(super) struct Memory {
    /// Every message before this one has an open delivery: pruning begins here.
    pub(super) floor: MessageId,
    /// Whether something was deleted since the store was opened, so that messages may still come
    /// for it.
    pub(super) deleted: bool,
    /// By how many milliseconds ids and times of acceptance have differed at most.
    slack: u64,
}

/// The running transaction.
#[derive(Debug)]
pub(super) struct Changes<'c> {
    pub(super) db: &'c Connection,
    pub(super) memory: &'c mut Memory,
    pub(super) tally: CountChanges,
}

const FIRST: MessageId = MessageId::from_uuid(Uuid::nil());

impl Memory {
    /// The facts at the beginning.
    pub(super) fn load(db: &Connection) -> rusqlite::Result<Self> {
        Ok(Self { floor: FIRST, deleted: false, slack: read_slack(db)? })
    }

    /// Discards the facts of a transaction that was rolled back.
    pub(super) const fn rolled_back(&mut self) {
        self.floor = FIRST;
        // The next message with any difference writes it again.
        self.slack = 0;
    }
}

impl Changes<'_> {
    /// Pruning has to look at `message` again.
    pub(super) fn lower_floor(&mut self, message: MessageId) {
        self.memory.floor = self.memory.floor.min(message);
    }

    /// Keeps the slack true for `message`.
    pub(super) fn widen_slack(&mut self, message: &Message) -> rusqlite::Result<()> {
        let slack = slack_of(message);
        if slack > self.memory.slack {
            widen_slack(self.db, slack)?;
            self.memory.slack = slack;
        }
        Ok(())
    }
}

/// The ids of messages accepted from `since` on and before `until`.
pub(super) fn ids_between(
    db: &Connection,
    since: Option<Instant>,
    until: Option<Instant>,
) -> rusqlite::Result<IdRange> {
    let slack = if since.or(until).is_some() { read_slack(db)? } else { 0 };
    Ok(IdRange::of(slack, since, until))
}

/// The slack that is written down, in milliseconds.
pub(super) fn read_slack(db: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT value FROM mark WHERE name = 'slack'";
    let value: i64 = db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(value.cast_unsigned())
}

/// Writes the slack down unless it is that wide already.
pub(super) fn widen_slack(db: &Connection, slack: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE mark SET value = max(value, ?1) WHERE name = 'slack'";
    db.prepare_cached(sql)?.execute(params![slack.cast_signed()])?;
    Ok(())
}
