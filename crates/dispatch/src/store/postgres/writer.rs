//! Runs a change as a transaction, and repeats it when it fails.

use std::sync::{Arc, Mutex, PoisonError};

use super::changes::{Changes, Memory};
use super::db_error::DbError;
use super::pool::{PooledClient, PostgresPool};
use super::tally;
use crate::Error;
use crate::store::tally::CountChanges;
use crate::store_backoff::StoreBackoff;

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

    /// Makes it.
    fn make(
        &self,
        changes: &mut Changes<'_>,
    ) -> impl Future<Output = Result<Self::Done, DbError>> + Send;
}

/// Makes changes.
#[derive(Clone, Debug)]
pub(super) struct PostgresWriter {
    pool: Arc<PostgresPool>,
    memory: Arc<Memory>,
    slot: Arc<Mutex<CounterSlot>>,
}

impl PostgresWriter {
    pub(super) fn new(pool: Arc<PostgresPool>) -> Self {
        Self { pool, memory: Arc::default(), slot: Arc::new(Mutex::new(CounterSlot(None))) }
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
        let mut backoff = StoreBackoff::new();
        let mut answer = self.try_write(counter, change, false).await;
        let Err(DbError::Doubtful(why)) = &answer else { return answer };
        tracing::warn!(%why, "connection lost during a commit, checking its result");
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
        let mut tries = 1;
        loop {
            let number = self.slot.lock().unwrap_or_else(PoisonError::into_inner).number(counter);
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

async fn transact<C: Change>(
    loan: &mut PooledClient,
    memory: &Memory,
    counter: i16,
    change: &C,
    again: bool,
) -> Result<C::Done, DbError> {
    let db = loan.transaction().await?;
    let (tally, slack) = (CountChanges::default(), memory.slack());
    let mut changes = Changes { db, memory, tally, again, slack };
    let made = match change.make(&mut changes).await {
        Ok(done) => tally::write(&changes.db, &mut changes.tally, counter).await.map(|()| done),
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
    changes.db.commit().await.map_err(DbError::of_commit)?;
    memory.widened(changes.slack);
    Ok(done)
}
