//! Runs a change as a transaction, and repeats it when it fails; the changes of facts about the store as a
//! whole.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deadpool_postgres::{Client, Transaction};
use stagger::Instant;
use stagger_scheduler::model::{ApplicationId, Message, MessageId};

use super::pool::{PooledClient, PostgresPool};
use super::row::get;
use super::statement::DbError;
use super::{lookups, statement};
use crate::encoding::CountChanges;
use crate::error::StoreBackoff;
use crate::walk::slack_of;
use crate::{EncryptionKeys, Error, Fence, rng};

/// The most tries of a transaction that conflicts with others: deadlocks, and serialization
/// failures.
const TRIES: u32 = 4;

/// The process that counts, within a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter(pub(super) i16);

/// Settlements count here.
pub(super) const SETTLING: Counter = Counter(100);

/// Everything that is seldom done counts here.
pub(super) const SELDOM: Counter = Counter(101);

/// The counter rows of a process: each process has its own row for every count, so that no member
/// waits for another. The next member takes the slot of one that has left, so the number of rows
/// stays bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterSlot(pub(super) Option<i16>);

impl CounterSlot {
    /// The number of a counter of this process: the counter's own number without a membership,
    /// higher ones for members.
    pub(super) fn number(self, Counter(counter): Counter) -> i16 {
        let own = match counter {
            100.. => counter - 100,
            worker => worker + 2,
        };
        // OK because there are some thousand slots at most, eight numbers each.
        self.0.map_or(counter, |slot| 128 + 8 * slot + own)
    }
}

/// A change, made in one transaction. It can be made again.
pub(super) trait Change: Sync {
    /// The result of the change.
    type Done: Send;
    /// Whether it can be made with one statement.
    const AT_ONCE: bool = false;

    /// Makes it with one statement, if everything is as usual. `None`: nothing has changed, and it is to be made step by
    /// step.
    fn make_at_once(
        &self,
        _db: &Client,
        _memory: &Memory,
        _counter: i16,
    ) -> impl Future<Output = Result<Option<Self::Done>, DbError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Makes it, step by step.
    fn make(
        &self,
        changes: &mut Changes<'_>,
    ) -> impl Future<Output = Result<Self::Done, DbError>> + Send;

    /// Called when all statements have been executed and only the commit is left.
    fn executed(&self) {}

    /// Called when the result of the commit is in doubt, and may be for long.
    fn in_doubt(&self) {}
}

/// Makes changes.
#[derive(Clone, Debug)]
pub(super) struct PostgresWriter {
    pool: Arc<PostgresPool>,
    memory: Arc<Memory>,
    slot: Arc<Mutex<CounterSlot>>,
}

impl PostgresWriter {
    pub(super) fn new(pool: Arc<PostgresPool>, keys: EncryptionKeys) -> Self {
        let memory = Memory { keys, ..Memory::default() };
        Self { pool, memory: Arc::new(memory), slot: Arc::new(Mutex::new(CounterSlot(None))) }
    }

    /// The keys of secrets.
    pub(super) fn keys(&self) -> &EncryptionKeys {
        &self.memory.keys
    }

    /// Counts in this slot from now on.
    pub(super) fn count_in(&self, slot: CounterSlot) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = slot;
    }

    /// Reads, without a transaction.
    pub(super) async fn read<T>(
        &self,
        read: impl AsyncFnOnce(&PooledClient) -> Result<T, DbError>,
    ) -> Result<T, Error> {
        let loan = self.pool.lend().await?;
        let found = self.pool.bounded(read(&loan)).await;
        Ok(loan.end(found)?)
    }

    /// Makes a change: ready once it is durable.
    pub(super) async fn write<C: Change>(
        &self,
        counter: Counter,
        change: &C,
    ) -> Result<C::Done, Error> {
        Ok(self.try_write(counter, change, false).await?)
    }

    /// Makes a change, and does not answer before it is known whether it holds.
    pub(super) async fn write_surely<C: Change>(
        &self,
        counter: Counter,
        change: &C,
    ) -> Result<C::Done, DbError> {
        let mut backoff = StoreBackoff::default();
        let mut answer = self.try_write(counter, change, false).await;
        let Err(DbError::Doubtful(why)) = &answer else { return answer };
        tracing::warn!(%why, "connection lost during a commit, checking its result");
        change.in_doubt();
        loop {
            backoff.wait().await;
            answer = self.try_write(counter, change, true).await;
            match &answer {
                Ok(_) => return answer,
                Err(DbError::Doubtful(_)) => {}
                Err(DbError::Refused(error)) if error.is_unavailable() => {}
                Err(db_error) if !db_error.may_be_the_data() && !db_error.is_refusal() => {}
                Err(_) => return answer,
            }
        }
    }

    pub(super) async fn try_write<C: Change>(
        &self,
        counter: Counter,
        change: &C,
        again: bool,
    ) -> Result<C::Done, DbError> {
        if C::AT_ONCE
            && !again
            && let Some(done) = self.try_at_once(counter, change).await?
        {
            return Ok(done);
        }
        let mut tries = 1;
        loop {
            let number = self.number(counter);
            let mut loan = self.pool.lend().await?;
            let work = transact(&mut loan, &self.memory, number, change, again);
            let answer = self.pool.bounded(work).await;
            let answer = loan.end(answer);
            match answer {
                Err(db_error) if db_error.is_worth_repeating() && tries < TRIES => tries += 1,
                answer => return answer,
            }
        }
    }
}

impl PostgresWriter {
    /// Makes a change with one statement. `None` also if that conflicts with others or with rows that are there: step by
    /// step it shows what to do about them.
    async fn try_at_once<C: Change>(
        &self,
        counter: Counter,
        change: &C,
    ) -> Result<Option<C::Done>, DbError> {
        let number = self.number(counter);
        let loan = self.pool.lend().await?;
        let made = self.pool.bounded(change.make_at_once(&loan, &self.memory, number)).await;
        match loan.end(made) {
            Err(db_error) if db_error.is_worth_repeating() || db_error.may_be_the_data() => {
                Ok(None)
            }
            made => made,
        }
    }

    fn number(&self, counter: Counter) -> i16 {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).number(counter)
    }
}

async fn transact<C: Change>(
    loan: &mut PooledClient,
    memory: &Memory,
    counter: i16,
    change: &C,
    again: bool,
) -> Result<C::Done, DbError> {
    let db = loan.transaction().await?;
    let (tally, slack) = (CountChanges::default(), memory.slack());
    let mut changes = Changes { db, memory, counter, tally, again, slack };
    let made = match change.make(&mut changes).await {
        Ok(done) => {
            let counts = changes.tally.take();
            lookups::write_counts(&changes.db, &counts, counter).await.map(|()| done)
        }
        Err(db_error) => Err(db_error),
    };
    let done = match made {
        Ok(done) => done,
        Err(db_error) => {
            // Frees its locks before the failure is reported. If this fails too, the connection is
            // gone, and its locks with it.
            changes.db.rollback().await.ok();
            return Err(db_error);
        }
    };
    change.executed();
    changes.db.commit().await.map_err(DbError::of_commit)?;
    memory.widened(changes.slack);
    Ok(done)
}

/// The fence of a run that begins. Others that begin wait until the transaction ends.
///
/// Its number alone would be issued twice by a database that was restored to an earlier moment, and
/// two nodes would each take the other's membership for its own. The random bits tell them apart.
pub(super) async fn next_run(changes: &Changes<'_>) -> Result<Fence, DbError> {
    let sql = "UPDATE mark SET value = value + 1 WHERE name = 'run' RETURNING value";
    let row = statement::row(&changes.db, sql, &[]).await?;
    let number = row.map(|row| get::<i64>(&row, 0)).transpose()?.unwrap_or_default();
    Ok(Fence(number.cast_unsigned() << rng::NONCE_BITS | rng::nonce()?))
}

/// Writes something that changes nothing, to see whether writing works.
pub(super) struct Touch;

impl Change for Touch {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let sql = "UPDATE mark SET value = value WHERE name = 'touch'";
        statement::run(&changes.db, sql, &[]).await?;
        Ok(())
    }
}

/// Writes down whether a copy is being written into the store.
pub(super) struct MarkCopy(pub(super) bool);

impl Change for MarkCopy {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let sql = "UPDATE mark SET value = $1 WHERE name = 'copy'";
        statement::run(&changes.db, sql, &[&i64::from(self.0)]).await?;
        // No shard has a leader yet, and the node that acquires a shard loads its open deliveries.
        changes.db.batch_execute("TRUNCATE arrival").await?;
        Ok(())
    }
}

/// The running transaction.
pub(super) struct Changes<'c> {
    pub(super) db: Transaction<'c>,
    pub(super) memory: &'c Memory,
    /// The counter of its writer.
    pub(super) counter: i16,
    /// The counts that are not written yet. They are written at the end, if not together with other rows before.
    pub(super) tally: CountChanges,
    /// Whether this was tried before and may hold already.
    pub(super) again: bool,
    /// The slack that this transaction writes down.
    pub(super) slack: u64,
}

/// Facts kept from one transaction to the next. They may be outdated: other nodes change the
/// database too.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By how many milliseconds ids and times of acceptance have differed at most, at least.
    slack: AtomicU64,
    pruned: Mutex<Option<Pruned>>,
    /// The keys of secrets.
    pub(super) keys: EncryptionKeys,
}

/// The progress of pruning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pruned {
    /// The application whose messages are pruned; `None` for those of all.
    pub(super) of: Option<ApplicationId>,
    pub(super) before: Instant,
    /// No message up to this one can be pruned.
    pub(super) to: MessageId,
}

impl Changes<'_> {
    /// Keeps the slack true for `messages`.
    pub(super) async fn widen_slack<'m>(
        &mut self,
        messages: impl Iterator<Item = &'m Message> + Send,
    ) -> Result<(), DbError> {
        let slack = messages.map(slack_of).max().unwrap_or_default();
        if slack > self.slack {
            let sql = "UPDATE mark SET value = $1 WHERE name = 'slack' AND value < $1";
            statement::run(&self.db, sql, &[&slack.cast_signed()]).await?;
            self.slack = slack;
        }
        Ok(())
    }
}

impl Memory {
    /// Pruning has to look at `message` again.
    pub(super) fn lower_floor(&self, message: MessageId) {
        let mut pruned = self.pruned();
        if pruned.is_some_and(|pruned| message <= pruned.to) {
            *pruned = None;
        }
    }

    pub(super) fn slack(&self) -> u64 {
        self.slack.load(Ordering::Relaxed)
    }

    pub(super) fn widened(&self, slack: u64) {
        self.slack.fetch_max(slack, Ordering::Relaxed);
    }

    pub(super) fn pruned(&self) -> MutexGuard<'_, Option<Pruned>> {
        // It is whole between any two of its assignments.
        self.pruned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
