//! The one thread that writes, and the changes within its transactions.
//!
//! It puts queued writes into one transaction, so that they share one flush of the disk; each is answered
//! only after that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, ErrorCode, params};
use stagger::Instant;
use stagger_scheduler::model::{Message, MessageId};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::file::{FolderLock, SqliteOptions};
use super::row::{DbError, failed};
use super::{file, lookups};
use crate::Error;
use crate::encoding::CountChanges;
use crate::walk::{IdRange, slack_of};

/// Writes in one transaction at most.
const BATCH: usize = 512;

/// Bytes in one transaction at most, beyond which no further write is added: more would make all of
/// them wait for longer than they gain by sharing. A thousand deliveries are as much, and where each has an endpoint
/// of its own they touch thousands of pages.
const BATCH_BYTES: usize = 1 << 20;

/// The handle of the writing thread, which ends with it.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    queue: Option<SyncSender<Box<dyn WriteJob>>>,
    queued_bytes: Arc<AtomicUsize>,
    max_bytes: usize,
    thread: Option<JoinHandle<()>>,
}

impl SqliteWriter {
    /// Starts the thread. It holds `lock` for as long as it lives.
    pub(super) fn start(
        db: Connection,
        lock: FolderLock,
        options: &SqliteOptions,
    ) -> Result<Self, Error> {
        let memory = Memory::load(&db).map_err(|e| failed(&e))?;
        let (queue, jobs) = sync_channel(options.queue.get());
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let mut writer_thread = WriterThread { db, memory };
        let counter = Arc::clone(&queued_bytes);
        let work = move || {
            writer_thread.work(&jobs, &counter);
            drop((writer_thread, lock));
        };
        let thread = std::thread::Builder::new().name("stagger-store".into()).spawn(work);
        let thread = thread.map_err(|e| Error::store(e.to_string()))?;
        let (queue, thread) = (Some(queue), Some(thread));
        Ok(Self { queue, queued_bytes, max_bytes: options.queue_bytes, thread })
    }

    /// Writes: ready once it is durable. `bytes` is about how much it holds in memory.
    ///
    /// `change` may run twice, the first time in vain, when it shared a transaction with one that
    /// failed.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        change: impl Fn(&mut Changes<'_>) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(Write { bytes, change, outcome: None, reply }))?;
        answer.await.unwrap_or_else(|_| Err(Error::store("the writer has ended")))
    }

    fn send(&self, job: Box<dyn WriteJob>) -> Result<(), Error> {
        let queue = self.queue.as_ref().ok_or_else(|| Error::store("closed"))?;
        let bytes = job.bytes();
        if self.queued_bytes.fetch_add(bytes, Ordering::Relaxed) > self.max_bytes {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(full());
        }
        queue.try_send(job).map_err(|refused| {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            match refused {
                TrySendError::Full(_) => full(),
                TrySendError::Disconnected(_) => Error::store("the writer has ended"),
            }
        })
    }
}

impl Drop for SqliteWriter {
    /// Waits until the queue is written and the file is closed.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The error is the thread's panic, which was reported already.
            thread.join().ok();
        }
    }
}

/// A write in the queue.
trait WriteJob: Send {
    /// About how much it holds in memory.
    fn bytes(&self) -> usize;
    /// Makes its change, and keeps the result.
    fn run(&mut self, changes: &mut Changes<'_>) -> rusqlite::Result<()>;
    /// Answers with the result of its change, or with the failure of its transaction.
    fn answer(self: Box<Self>, failure: Option<Error>);
}

struct Write<T, F> {
    bytes: usize,
    change: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, F> WriteJob for Write<T, F>
where
    T: Send,
    F: Fn(&mut Changes<'_>) -> Result<T, DbError> + Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

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
    db: Connection,
    memory: Memory,
}

impl WriterThread {
    fn work(&mut self, jobs: &Receiver<Box<dyn WriteJob>>, queued_bytes: &AtomicUsize) {
        while let Ok(first) = jobs.recv() {
            let mut next = Some(first);
            while let Some(job) = next {
                let batch = collect(job, jobs);
                queued_bytes.fetch_sub(bytes_of(&batch), Ordering::Relaxed);
                self.write(batch);
                file::checkpoint_after_batch(&self.db);
                next = jobs.try_recv().ok();
            }
            file::checkpoint_when_idle(&self.db);
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

fn collect(first: Box<dyn WriteJob>, jobs: &Receiver<Box<dyn WriteJob>>) -> Vec<Box<dyn WriteJob>> {
    let mut bytes = first.bytes();
    let mut batch = vec![first];
    while batch.len() < BATCH
        && bytes < BATCH_BYTES
        && let Ok(job) = jobs.try_recv()
    {
        bytes += job.bytes();
        batch.push(job);
    }
    batch
}

fn bytes_of(batch: &[Box<dyn WriteJob>]) -> usize {
    batch.iter().map(|job| job.bytes()).sum()
}

/// Whether another process holds the file: each write of a batch would wait for it in vain.
fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn full() -> Error {
    Error::busy("the store's queue of writes is full")
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
