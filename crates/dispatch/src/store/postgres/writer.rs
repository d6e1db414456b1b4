//! How a change becomes a transaction, and what is done when that fails.

use std::sync::Arc;

use super::changes::{Changes, Memory};
use super::pool::{Loan, Pool};
use super::tally;
use super::trouble::Trouble;
use crate::Error;
use crate::patience::Patience;
use crate::store::tally::Tally;

/// How often a transaction is made that others get in the way of: deadlocks, and what databases whose
/// transactions are serializable ask to be made again.
const TRIES: u32 = 4;

/// Who counts: each has a row of its own for every count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter(pub(super) i16);

/// Settlements count here.
pub(super) const SETTLING: Counter = Counter(100);
/// Everything that is seldom done counts here.
pub(super) const SELDOM: Counter = Counter(101);

/// A change, made in one transaction. It can be made again.
pub(super) trait Change: Sync {
    /// What comes of it.
    type Done: Send;

    /// Makes it.
    fn make(
        &self,
        changes: &mut Changes<'_>,
    ) -> impl Future<Output = Result<Self::Done, Trouble>> + Send;
}

/// Makes changes.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pool: Arc<Pool>,
    memory: Arc<Memory>,
}

impl Writer {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self { pool, memory: Arc::default() }
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
    ) -> Result<C::Done, Trouble> {
        let mut patience = Patience::new();
        let mut answer = self.try_write(counter, change, false).await;
        let Err(Trouble::Doubtful(why)) = &answer else { return answer };
        tracing::warn!(%why, "the connection to the store broke in a commit, finding out what holds");
        loop {
            patience.wait().await;
            answer = self.try_write(counter, change, true).await;
            match &answer {
                Ok(_) => return answer,
                Err(Trouble::Doubtful(_)) => {}
                Err(Trouble::Refused(error)) if error.is_unavailable() => {}
                Err(trouble) if !trouble.may_be_the_data() && !trouble.is_refusal() => {}
                Err(_) => return answer,
            }
        }
    }

    async fn try_write<C: Change>(
        &self,
        counter: Counter,
        change: &C,
        again: bool,
    ) -> Result<C::Done, Trouble> {
        let mut tries = 1;
        loop {
            let mut loan = self.pool.lend().await?;
            let work = transact(&mut loan, &self.memory, counter, change, again);
            let answer = self.pool.bounded(work).await;
            let answer = loan.end(answer);
            match answer {
                Err(trouble) if trouble.is_worth_repeating() && tries < TRIES => tries += 1,
                answer => return answer,
            }
        }
    }
}

async fn transact<C: Change>(
    loan: &mut Loan,
    memory: &Memory,
    counter: Counter,
    change: &C,
    again: bool,
) -> Result<C::Done, Trouble> {
    let db = loan.transaction().await?;
    let (tally, slack) = (Tally::default(), memory.slack());
    let mut changes = Changes { db, memory, tally, again, slack };
    let made = match change.make(&mut changes).await {
        Ok(done) => tally::write(&changes.db, &mut changes.tally, counter).await.map(|()| done),
        Err(trouble) => Err(trouble),
    };
    let done = match made {
        Ok(done) => done,
        Err(trouble) => {
            // What it has locked is free by the time that anybody hears of the failure. Where this
            // fails too, the connection is gone, and its locks with it.
            changes.db.rollback().await.ok();
            return Err(trouble);
        }
    };
    changes.db.commit().await.map_err(Trouble::of_commit)?;
    memory.widened(changes.slack);
    Ok(done)
}
