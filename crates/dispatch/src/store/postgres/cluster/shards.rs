//! Shards: taken, given up, and loaded.

use tokio_postgres::{IsolationLevel, Row};
use uuid::Uuid;

use super::super::changes::Changes;
use super::super::column::{from_size, get, run, shard, shard_numbers};
use super::super::db_error::DbError;
use super::super::pool::{PooledClient, PostgresPool};
use super::super::writer::Change;
use super::super::{row, statement};
use crate::model::Delivery;
use crate::store::{Fence, Shards};

/// Deliveries in one read: some megabytes, and some ten milliseconds.
const PAGE: usize = 10_000;

/// Acquires up to `most` shards without a leader for a member, and returns them.
pub(in super::super) struct Acquire {
    pub(in super::super) fence: Fence,
    pub(in super::super) most: usize,
}

impl Change for Acquire {
    type Done = Shards;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Shards, DbError> {
        changes.member(self.fence).await?;
        // Rows that another session is acquiring are left to it.
        let sql = "UPDATE lease SET run = $1 WHERE shard IN (SELECT shard FROM lease \
                   WHERE run IS NULL ORDER BY shard LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING shard";
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&run(self.fence), &from_size(self.most)];
        let taken = statement::rows(&changes.db, sql, &bound).await?;
        taken.iter().map(|row| shard(get(row, 0)?)).collect()
    }
}

/// A member leads shards no longer.
pub(in super::super) struct Release {
    pub(in super::super) fence: Fence,
    pub(in super::super) shards: Shards,
}

impl Change for Release {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let sql = "UPDATE lease SET run = NULL WHERE run = $1 AND shard = ANY($2)";
        statement::run(&changes.db, sql, &[&run(self.fence), &shard_numbers(self.shards)]).await?;
        Ok(())
    }
}

/// Loads the open deliveries of shards, and the numbers of their arrivals, as of one moment. The
/// time grows with their number: each page has its own time limit, and the session none.
pub(in super::super) async fn load(
    pool: &PostgresPool,
    of: Shards,
    page: &mut (dyn FnMut(Vec<Delivery>) + Send),
) -> Result<Vec<u64>, DbError> {
    let mut loan = pool.lend().await?;
    match read(pool, &mut loan, of, page).await {
        Some(loaded) => loan.end(Some(loaded)),
        None => loan.end(None),
    }
}

/// Reads all; none if the server does not answer.
async fn read(
    pool: &PostgresPool,
    loan: &mut PooledClient,
    of: Shards,
    page: &mut (dyn FnMut(Vec<Delivery>) + Send),
) -> Option<Result<Vec<u64>, DbError>> {
    let (moment, begun) = match pool.bounded(begin(loan, of)).await? {
        Ok((moment, begun)) => (moment, begun),
        Err(db_error) => return Some(Err(db_error)),
    };
    for shard in begun.occupied {
        let mut after = (Uuid::nil(), Uuid::nil());
        loop {
            let found = match pool.bounded(next_page(&moment, shard, after)).await? {
                Ok(found) => found,
                Err(db_error) => return Some(Err(db_error)),
            };
            let is_last = found.len() < PAGE;
            if let Some(last) = found.last() {
                after = (*last.message.as_uuid(), *last.endpoint.as_uuid());
                page(found);
            }
            if is_last {
                break;
            }
        }
    }
    let ended = pool.bounded(async { Ok(moment.commit().await?) }).await?;
    Some(ended.map(|()| begun.arrivals))
}

/// The result of the first query of shards.
struct FirstRead {
    arrivals: Vec<u64>,
    /// The shards with open deliveries.
    occupied: Vec<i16>,
}

async fn begin(
    loan: &mut PooledClient,
    of: Shards,
) -> Result<(deadpool_postgres::Transaction<'_>, FirstRead), DbError> {
    let moment = loan
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    // The caller may take its time with each page.
    moment.batch_execute("SET LOCAL idle_in_transaction_session_timeout = 0").await?;
    let numbers = shard_numbers(of);
    let arrivals = "SELECT number FROM arrival WHERE shard = ANY($1)";
    let occupied = "SELECT s FROM unnest($1::smallint[]) AS s WHERE EXISTS \
                    (SELECT 1 FROM delivery WHERE shard = s AND ended = 0) ORDER BY s";
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&numbers];
    let (arrivals, occupied) = tokio::try_join!(
        biased;
        statement::rows(&moment, arrivals, &bound),
        statement::rows(&moment, occupied, &bound),
    )?;
    let number = |row: &Row| get::<i64>(row, 0).map(i64::cast_unsigned);
    let arrivals = arrivals.iter().map(number).collect::<Result<_, _>>()?;
    let occupied = occupied.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    Ok((moment, FirstRead { arrivals, occupied }))
}

async fn next_page(
    moment: &deadpool_postgres::Transaction<'_>,
    shard: i16,
    (message, endpoint): (Uuid, Uuid),
) -> Result<Vec<Delivery>, DbError> {
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&shard, &message, &endpoint, &from_size(PAGE)];
    let found = statement::rows(moment, &page_sql(), &bound).await?;
    found.iter().map(row::delivery).collect()
}

fn page_sql() -> String {
    format!(
        "SELECT {} FROM delivery d WHERE d.shard = $1 AND d.ended = 0 \
         AND (d.message, d.endpoint) > ($2, $3) ORDER BY d.message, d.endpoint LIMIT $4",
        row::DELIVERY
    )
}
