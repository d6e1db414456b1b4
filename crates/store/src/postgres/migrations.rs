//! The tables: made, migrated and checked.

use std::fmt::Write;

use deadpool_postgres::Transaction;
use sha2::{Digest, Sha256};
use stagger::{Sleep, Span, TokioTime};
use tokio_postgres::error::SqlState;

use super::address::{PostgresAddress, PostgresOptions};
use super::pool::{PooledClient, PostgresPool};
use super::row::get;
use super::statement::DbError;
use super::{lookups, statement};
use crate::{Error, Health};

/// The migrations, each from version n - 1 to version n. Only ever added to.
const MIGRATIONS: [&str; VERSION as usize] = [
    include_str!("migrations/1.sql"),
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
    include_str!("migrations/5.sql"),
    include_str!("migrations/6.sql"),
    include_str!("migrations/7.sql"),
    include_str!("migrations/8.sql"),
];
/// The version that this release writes.
pub(super) const VERSION: u32 = 8;
/// The table that records the migrations.
const RECORD: &str = "CREATE TABLE migration (version integer PRIMARY KEY, checksum text NOT NULL, \
                      applied_at timestamptz NOT NULL DEFAULT now())";
/// The longest wait for a table's lock: others that want it wait behind, so a migration that does
/// not get it gives up, and changes nothing.
const LOCK_WAIT: &str = "3s";
/// The same, for the tables that nodes write all the time, and the part of it for which a lock is waited for at a time.
const LOCK_TIME: Span = Span::from_secs(3);
const LOCK_MOMENT: Span = Span::from_millis(100);
/// The longest wait for another process that migrates.
const TURN_WAIT: &str = "60s";

/// Brings a database to this release's version; makes the tables if there are none. The version that it
/// had.
///
/// # Errors
/// It cannot be reached or written, a lock was not free in time, or it is of a later release or
/// damaged. Nothing has changed then.
pub async fn migrate_postgres(address: &PostgresAddress) -> Result<u32, Error> {
    let pool = PostgresPool::new(address, &PostgresOptions::default())?;
    let mut loan = pool.lend().await?;
    let done = migrate(&mut loan).await;
    Ok(loan.end(Some(done))?)
}

/// Checks that the database has this release's version. An empty one gets its tables; one of an
/// earlier release is migrated if `wanted`.
pub(super) async fn prepare(loan: &mut PooledClient, wanted: bool) -> Result<(), DbError> {
    let version = applied(&**loan).await?;
    if version == 0 || (wanted && version < VERSION) {
        migrate(loan).await?;
    }
    recognise(loan).await.map(drop)
}

/// The version of the database, if it is this release's.
pub(super) async fn recognise(loan: &PooledClient) -> Result<u32, DbError> {
    match applied(&**loan).await? {
        0 => Err(Error::store("the database contains no store of stagger").into()),
        VERSION => Ok(VERSION),
        version => Err(Error::store(format!(
            "the database has version {version}, but this release needs {VERSION}: \
             run stagger store migrate, or stagger serve --migrate"
        ))
        .into()),
    }
}

async fn migrate(loan: &mut PooledClient) -> Result<u32, DbError> {
    let whole = loan.transaction().await?;
    match steps(&whole).await {
        Ok(from) => {
            whole.commit().await?;
            Ok(from)
        }
        Err(db_error) => {
            // Others wait for the locks.
            whole.rollback().await.ok();
            Err(db_error)
        }
    }
}

async fn steps(whole: &Transaction<'_>) -> Result<u32, DbError> {
    whole
        .batch_execute(&format!(
            "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '{TURN_WAIT}'; \
             SELECT pg_advisory_xact_lock(hashtext('stagger.' || current_schema())); \
             SET LOCAL lock_timeout = '{LOCK_WAIT}'"
        ))
        .await?;
    let from = applied(whole).await?;
    match from {
        0 => whole.batch_execute(RECORD).await?,
        VERSION => return Ok(from),
        // Version 1 has no arrivals.
        1 => lock_tables(whole, "delivery, message").await?,
        _ => lock_tables(whole, "delivery, arrival, message, node").await?,
    }
    for (version, step) in (1..).zip(MIGRATIONS).filter(|(version, _)| *version > from) {
        whole.batch_execute(step).await?;
        let sql = "INSERT INTO migration (version, checksum) VALUES ($1, $2)";
        whole.execute(sql, &[&version.cast_signed(), &checksum(step)]).await?;
    }
    Ok(from)
}

/// Locks the tables that migrations change, before any of them.
///
/// Nodes that work meanwhile lock them in orders of their own: one that accepts has the deliveries and wants the
/// arrivals, one that takes arrivals has those and wants the deliveries. So this waits for a table only for a moment while it
/// has another one, then lets go of both and begins again: PostgreSQL looks for a deadlock after a second, and would
/// end one of the two.
async fn lock_tables(whole: &Transaction<'_>, tables: &str) -> Result<(), DbError> {
    let sql = format!(
        "SET LOCAL lock_timeout = '{}ms'; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE; \
         SET LOCAL lock_timeout = '{LOCK_WAIT}'",
        LOCK_MOMENT.as_nanos() / Span::from_millis(1).as_nanos()
    );
    let mut waited = Span::ZERO;
    loop {
        whole.batch_execute("SAVEPOINT tables").await?;
        match whole.batch_execute(&sql).await {
            Ok(()) => return Ok(()),
            Err(error) => {
                let is_late = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
                if !is_late || waited >= LOCK_TIME {
                    return Err(error.into());
                }
                whole.batch_execute("ROLLBACK TO SAVEPOINT tables").await?;
                // The others go on where they have waited for this.
                TokioTime.sleep(LOCK_MOMENT).await;
                waited = waited + LOCK_MOMENT + LOCK_MOMENT;
            }
        }
    }
}

/// The version of the database: 0 if it has no tables of ours. Refuses a later version, and one
/// that was made by other migrations.
async fn applied(db: &impl deadpool_postgres::GenericClient) -> Result<u32, DbError> {
    // Queries the catalogue's tables: name resolution caches that a table does not exist, and the
    // cache is stale after waiting for another migration.
    let there = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = current_schema() AND c.relname = 'migration'";
    if statement::row(db, there, &[]).await?.is_none() {
        return Ok(0);
    }
    let sql = "SELECT version, checksum FROM migration ORDER BY version";
    let rows = statement::rows(db, sql, &[]).await?;
    for (at, row) in (1..).zip(&rows) {
        let (version, recorded) = (get::<i32>(row, 0)?, get::<&str>(row, 1)?);
        if version > VERSION.cast_signed() {
            let newest = rows.len();
            return Err(Error::store(format!(
                "the database has version {newest}, but this release supports at most {VERSION}: use a newer release"
            ))
            .into());
        }
        let step = usize::try_from(version - 1).ok().and_then(|at| MIGRATIONS.get(at));
        if version != at || step.is_none_or(|step| checksum(step) != recorded) {
            let why =
                format!("version {version} of the database was made by other steps than ours");
            return Err(Error::store(why).into());
        }
    }
    Ok(u32::try_from(rows.len()).unwrap_or(u32::MAX))
}

fn checksum(step: &str) -> String {
    Sha256::digest(step.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The statements that make a database of an earlier version.
#[cfg(test)]
pub(super) fn steps_until(version: usize) -> String {
    let mut all = format!("{RECORD};");
    for (version, step) in (1..=version).zip(MIGRATIONS) {
        let checksum = checksum(step);
        all += &format!("{step}; INSERT INTO migration VALUES ({version}, '{checksum}');");
    }
    all
}

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
    let version = recognise(loan).await?;
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
    let (kept, counted) =
        (lookups::read_counts(&moment, None).await?, lookups::recount(&moment).await?);
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
const DAMAGES: [(&str, &str); 7] = [
    (
        "SELECT m.id::text FROM message m WHERE NOT EXISTS (SELECT 1 FROM payload p WHERE p.message = m.id) \
         AND (m.document IS NULL OR NOT m.document::jsonb ? 'payload_deleted') LIMIT 1",
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

#[cfg(test)]
mod tests {
    use super::super::test_schema::TestSchema;
    use super::*;
    use crate::PostgresStore;
    use crate::place::StorePlace;

    async fn refusal(schema: &TestSchema) -> String {
        let opened = PostgresStore::open(&schema.address(), PostgresOptions::default()).await;
        opened.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn several_nodes_may_meet_at_an_empty_database() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(tokio::join!(schema.open(), schema.open(), schema.open()));
        assert_eq!(migrate_postgres(&schema.address()).await.unwrap(), VERSION);
    }

    #[tokio::test]
    async fn a_database_of_a_later_release_is_refused() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        schema.run("INSERT INTO migration VALUES (9, 'of a later release')").await;
        let refused = refusal(&schema).await;
        assert!(refused.contains("version 9, but this release supports at most 8"), "{refused}");
        assert!(migrate_postgres(&schema.address()).await.is_err());
    }

    #[tokio::test]
    async fn a_database_that_other_steps_have_made_is_refused() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        schema.run("UPDATE migration SET checksum = 'another'").await;
        assert!(refusal(&schema).await.contains("made by other steps"));
    }

    #[tokio::test]
    async fn half_a_copy_is_not_opened() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        schema.run("UPDATE mark SET value = 1 WHERE name = 'copy'").await;
        assert!(refusal(&schema).await.contains("interrupted"));
    }

    #[tokio::test]
    async fn a_check_makes_no_tables() {
        let Some(schema) = TestSchema::new().await else { return };
        let place = StorePlace::Database(Box::new(schema.address()));
        let refused = place.check().await.unwrap_err().to_string();
        assert!(refused.contains("contains no store"), "{refused}");
        schema.run("DO $$ BEGIN ASSERT to_regclass('migration') IS NULL; END $$").await;
    }
}
