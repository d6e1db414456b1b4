//! Attempts by the day of their message: partitions are made ahead, and dropped as a whole.
//!
//! Neither waits for long, nor makes others wait: a lock that is not free is tried again at the
//! next pruning. Until then attempts of a day without a partition go into the default one.

use stagger::Span;
use stagger_scheduler::model::MessageId;

use super::pool::PooledClient;
use super::row::get;
use super::statement;
use super::statement::{DbError, words};
use crate::walk::{first_of, millis_of};

/// The partition for days that have none.
pub(super) const OTHER: &str = "attempt_other";
/// Days that partitions are made for, today's included: a node that prunes once an hour has time to try
/// again often.
const AHEAD: i32 = 4;
/// The longest wait for a table's lock; others that want it wait behind.
const LOCK_WAIT: &str = "200ms";

const DAY: u64 = Span::from_secs(24 * 60 * 60).as_nanos() / Span::from_millis(1).as_nanos();

/// The day of a message's id, in days since 1970.
pub(super) fn day_of(message: MessageId) -> i32 {
    i32::try_from(millis_of(message) / DAY).unwrap_or(i32::MAX)
}

/// Makes the partitions of the coming days.
pub(super) async fn make_ahead(loan: &mut PooledClient) -> Result<(), DbError> {
    let today = today(loan).await?;
    make(loan, today..today + AHEAD).await
}

/// Makes the partitions of these days.
pub(super) async fn make(
    loan: &mut PooledClient,
    days: impl IntoIterator<Item = i32> + Send,
) -> Result<(), DbError> {
    let there = there(loan).await?;
    let missing: Vec<_> = days.into_iter().filter(|day| !there.contains(day)).collect();
    for day in missing {
        let sql = format!(
            "SET LOCAL lock_timeout = '{LOCK_WAIT}'; \
             CREATE TABLE attempt_{day} (LIKE attempt INCLUDING ALL); \
             ALTER TABLE attempt ATTACH PARTITION attempt_{day} \
             FOR VALUES FROM ({day}) TO ({})",
            day + 1
        );
        try_once(loan, &sql, day).await?;
    }
    Ok(())
}

/// Drops the partitions of days before that of `oldest` of which no message is left.
pub(super) async fn drop_finished(
    loan: &mut PooledClient,
    oldest: MessageId,
) -> Result<(), DbError> {
    let sql = "SELECT 1 FROM message WHERE id >= $1 AND id < $2 LIMIT 1";
    for day in there(loan).await?.into_iter().filter(|day| *day < day_of(oldest)) {
        let Ok(of_day) = u64::try_from(day) else { continue };
        let (first, next) = (first_of(of_day * DAY), first_of((of_day + 1) * DAY));
        if statement::row(&**loan, sql, &[first.as_uuid(), next.as_uuid()]).await?.is_none() {
            let sql = format!("SET LOCAL lock_timeout = '{LOCK_WAIT}'; DROP TABLE attempt_{day}");
            try_once(loan, &sql, day).await?;
        }
    }
    Ok(())
}

/// The days that have a partition.
async fn there(loan: &PooledClient) -> Result<Vec<i32>, DbError> {
    let sql = "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
               WHERE i.inhparent = 'attempt'::regclass";
    let mut days = Vec::new();
    for row in statement::rows(&**loan, sql, &[]).await? {
        let name: &str = get(&row, 0)?;
        days.extend(name.strip_prefix("attempt_").and_then(|day| day.parse::<i32>().ok()));
    }
    Ok(days)
}

/// By the clock of the database, which all nodes have in common.
async fn today(loan: &PooledClient) -> Result<i32, DbError> {
    let sql = "SELECT floor(extract(epoch FROM now()) / 86400)::integer";
    let row = statement::row(&**loan, sql, &[]).await?;
    Ok(row.map(|row| get(&row, 0)).transpose()?.unwrap_or_default())
}

/// Runs statements in a transaction; that another node was faster, or a lock was not free, is no failure.
async fn try_once(loan: &mut PooledClient, sql: &str, day: i32) -> Result<(), DbError> {
    let transaction = loan.transaction().await?;
    match transaction.batch_execute(sql).await {
        Ok(()) => transaction.commit().await.map_err(DbError::from),
        Err(error) if error.code().is_some() => {
            let why = words(&error);
            tracing::info!(day, %why, "attempts of a day not pruned yet");
            Ok(transaction.rollback().await?)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight() {
        assert_eq!(day_of(first_of(DAY - 1)), 0);
        assert_eq!(day_of(first_of(DAY)), 1);
        assert_eq!(day_of(first_of(u64::MAX)), 3_257_812);
    }
}
