//! Whether a database is in order.

use super::address::PostgresAddress;
use super::column::get;
use super::db_error::DbError;
use super::options::PostgresOptions;
use super::pool::{PooledClient, PostgresPool};
use super::{migrations, statement, tally};
use crate::Error;
use crate::store::Health;

/// Checks a database: its version, its counts against its rows, and that no row is without its
/// parent. Runs beside dispatchers, and only reads.
///
/// # Errors
/// The database cannot be reached, holds no store, a store of another release, or a damaged one;
/// the error names the first damage.
pub async fn check_postgres(address: &PostgresAddress) -> Result<Health, Error> {
    let pool = PostgresPool::new(address, &PostgresOptions::default())?;
    let mut loan = pool.lend().await?;
    let found = look(&mut loan).await;
    Ok(loan.end(Some(found))?)
}

async fn look(loan: &mut PooledClient) -> Result<Health, DbError> {
    // It looks through whole tables, and is in no hurry.
    let settings = "SET statement_timeout = 0; SET enable_seqscan = on; SET jit = on";
    loan.batch_execute(settings).await?;
    let version = migrations::recognise(loan).await?;
    // All that is counted is of one moment.
    let moment = loan
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    for (sql, damage) in DAMAGES {
        if let Some(row) = statement::row(&moment, sql, &[]).await? {
            let id: &str = get(&row, 0)?;
            return Err(Error::store(format!("{damage}: {id}")).into());
        }
    }
    let (kept, counted) = (tally::read(&moment, None).await?, tally::recount(&moment).await?);
    if kept != counted {
        let wrong = format!("deliveries are counted as {kept:?}, but are {counted:?}");
        return Err(Error::store(wrong).into());
    }
    let row = statement::row(&moment, "SELECT count(*) FROM message", &[]).await?;
    let messages = row.map(|row| get::<i64>(&row, 0)).transpose()?.unwrap_or_default();
    moment.commit().await?;
    Ok(Health { version, messages: messages.cast_unsigned(), deliveries: kept })
}

/// Queries that must find no row, and the damage that a row means.
const DAMAGES: [(&str, &str); 8] = [
    (
        "SELECT m.id::text FROM message m WHERE NOT EXISTS (SELECT 1 FROM payload p WHERE p.message = m.id) \
         LIMIT 1",
        "a message has no payload",
    ),
    (
        "SELECT d.message::text FROM delivery d WHERE NOT EXISTS \
         (SELECT 1 FROM message m WHERE m.id = d.message) LIMIT 1",
        "a delivery without its message",
    ),
    (
        "SELECT p.message::text FROM payload p WHERE NOT EXISTS \
         (SELECT 1 FROM message m WHERE m.id = p.message) LIMIT 1",
        "a payload without its message",
    ),
    (
        "SELECT d.message::text FROM delivery d WHERE d.ended <> CASE WHEN d.state < 2 THEN 0 \
         ELSE d.state END LIMIT 1",
        "a delivery that is both open and ended",
    ),
    (
        "SELECT a.message::text FROM arrival a WHERE NOT EXISTS (SELECT 1 FROM delivery d \
         WHERE d.message = a.message AND d.endpoint = a.endpoint AND d.shard = a.shard) LIMIT 1",
        "an arrival without its delivery",
    ),
    (
        "SELECT o.endpoint::text FROM orders o WHERE NOT EXISTS \
         (SELECT 1 FROM endpoint e WHERE e.id = o.endpoint) LIMIT 1",
        "an order without its endpoint",
    ),
    (
        "SELECT l.shard::text FROM lease l WHERE l.run IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM node n WHERE n.run = l.run) LIMIT 1",
        "a shard that is led by no member",
    ),
    ("SELECT count(*)::text FROM lease HAVING count(*) <> 256", "shards that can be led, of 256"),
];
