//! Members and the shards that they lead.

use deadpool_postgres::GenericClient;
use stagger_scheduler::model::Delivery;
use tokio_postgres::{IsolationLevel, Row};
use uuid::Uuid;

use super::super::pool::{PooledClient, PostgresPool};
use super::super::row::{fence, from_size, get, run, shard, shard_numbers, shards, text};
use super::super::statement::DbError;
use super::super::writer::{Change, Changes, CounterSlot, next_run};
use super::super::{row, statement};
use super::arrivals::ArrivalNumber;
use crate::calls::run_ended;
use crate::encoding::{ALL, from_instant, instant};
use crate::{ClusterMember, ClusterView, Error, Fence, NodeIdentity, Shards};

/// The most members: each has its own counters, whose numbers have 16 bits.
const SLOTS: i32 = 4000;

/// A node becomes a member.
pub(in super::super) struct Join<'n>(pub(in super::super) &'n NodeIdentity);

impl Change for Join<'_> {
    type Done = (Fence, CounterSlot);

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Self::Done, DbError> {
        // Others that join wait here, so no two find the same slot free.
        let fence = next_run(changes).await?;
        statement::run(&changes.db, "DELETE FROM node WHERE slot < 0", &[]).await?;
        let sql = "INSERT INTO node (run, name, version, started_at, slot, beat, leaving) \
                   SELECT $1, $2, $3, $4, s::smallint, 0, false FROM generate_series(0, $5) AS s \
                   WHERE NOT EXISTS (SELECT 1 FROM node WHERE slot = s) ORDER BY s LIMIT 1 \
                   RETURNING slot";
        let NodeIdentity { address, version, started_at } = self.0;
        let (version, started_at) = (version.as_deref().map(text), started_at.map(from_instant));
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&run(fence), &text(address), &version, &started_at, &(SLOTS - 1)];
        let row = statement::row(&changes.db, sql, &bound).await?;
        let row = row.ok_or_else(|| Error::busy("the store already has its most members"))?;
        Ok((fence, CounterSlot(Some(get(&row, 0)?))))
    }
}

/// All memberships end, and a run begins that has the store alone.
pub(in super::super) struct BeginRun;

impl Change for BeginRun {
    type Done = Fence;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Fence, DbError> {
        let fence = next_run(changes).await?;
        // Their running settlements end first.
        statement::run(&changes.db, "DELETE FROM node", &[]).await?;
        let free = "UPDATE lease SET run = NULL WHERE run IS NOT NULL";
        statement::run(&changes.db, free, &[]).await?;
        let sql = "INSERT INTO node (run, name, slot, beat, leaving) \
                   VALUES ($1, 'alone', -1, 0, false)";
        statement::run(&changes.db, sql, &[&run(fence)]).await?;
        Ok(fence)
    }
}

/// Ends a membership, but not one that has sent a heartbeat since `heartbeat`. Returns whether it
/// has ended now.
pub(in super::super) struct EndMembership {
    pub(in super::super) fence: Fence,
    pub(in super::super) heartbeat: Option<u64>,
}

impl Change for EndMembership {
    type Done = bool;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<bool, DbError> {
        let run = run(self.fence);
        // This waits for the member's running writes.
        let sql = "DELETE FROM node WHERE run = $1 AND beat = coalesce($2, beat)";
        let heartbeat = self.heartbeat.map(u64::cast_signed);
        if statement::run(&changes.db, sql, &[&run, &heartbeat]).await? == 0 {
            return Ok(false);
        }
        let sql = "UPDATE lease SET run = NULL WHERE run = $1";
        statement::run(&changes.db, sql, &[&run]).await?;
        Ok(true)
    }
}

impl Changes<'_> {
    /// The members among these fences. They stay until the transaction ends.
    pub(in super::super) async fn members(&self, fences: &[Fence]) -> Result<Vec<Fence>, DbError> {
        if fences.is_empty() {
            return Ok(Vec::new());
        }
        let runs: Vec<_> = fences.iter().copied().map(run).collect();
        let sql = "SELECT run FROM node WHERE run = ANY($1) ORDER BY run FOR KEY SHARE";
        let found = statement::rows(&self.db, sql, &[&runs]).await?;
        found.iter().map(|row| fence(row, 0)).collect()
    }

    /// Refuses a fence without a membership. The membership stays until the transaction ends.
    pub(in super::super) async fn member(&self, fence: Fence) -> Result<(), DbError> {
        if self.members(&[fence]).await?.is_empty() {
            return Err(run_ended(fence).into());
        }
        Ok(())
    }
}

/// Counts a heartbeat, and reads the state of all members: one statement, so as of one moment and
/// in one round trip.
pub(in super::super) async fn heartbeat(
    db: &impl GenericClient,
    fence: Fence,
    leaving: bool,
) -> Result<ClusterView, DbError> {
    let sql = "WITH mine AS (UPDATE node SET beat = beat + 1, leaving = $2 \
               WHERE run = $1 RETURNING run, beat, leaving) \
               SELECT n.run, n.name, coalesce(mine.beat, n.beat), coalesce(mine.leaving, n.leaving), \
               (SELECT array_agg(l.shard) FROM lease l WHERE l.run = n.run), mine.run IS NOT NULL, \
               (SELECT array_agg(shard) FROM lease WHERE run IS NULL), \
               (SELECT value FROM mark WHERE name = 'news'), \
               (SELECT (sum(pending) + sum(waiting))::bigint FROM tally WHERE endpoint = $3), \
               n.version, n.started_at \
               FROM node n LEFT JOIN mine ON mine.run = n.run WHERE n.slot >= 0 ORDER BY n.run";
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&run(fence), &leaving, ALL.as_uuid()];
    let rows = statement::rows(db, sql, &bound).await?;
    let mut cluster_view = ClusterView::default();
    let mut is_member = false;
    for row in &rows {
        is_member |= get::<bool>(row, 5)?;
        cluster_view.members.push(member(row)?);
        cluster_view.free = shards(row, 6)?;
        cluster_view.settings_version = get::<i64>(row, 7)?.cast_unsigned();
        let open = get::<Option<i64>>(row, 8)?.unwrap_or_default();
        cluster_view.open = u64::try_from(open).unwrap_or(0);
    }
    if is_member { Ok(cluster_view) } else { Err(run_ended(fence).into()) }
}

fn member(row: &Row) -> Result<ClusterMember, DbError> {
    Ok(ClusterMember {
        fence: fence(row, 0)?,
        node: NodeIdentity {
            address: get(row, 1)?,
            version: get(row, 9)?,
            started_at: get::<Option<i64>>(row, 10)?.map(instant),
        },
        heartbeat: get::<i64>(row, 2)?.cast_unsigned(),
        leaving: get(row, 3)?,
        shards: shards(row, 4)?,
    })
}

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
                after = (*last.endpoint.as_uuid(), *last.message.as_uuid());
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
    let arrivals = "SELECT number, shard FROM arrival WHERE shard = ANY($1)";
    let occupied = "SELECT s FROM unnest($1::smallint[]) AS s WHERE EXISTS \
                    (SELECT 1 FROM delivery WHERE shard = s AND ended = 0) ORDER BY s";
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&numbers];
    let (arrivals, occupied) = tokio::try_join!(
        biased;
        statement::rows(&moment, arrivals, &bound),
        statement::rows(&moment, occupied, &bound),
    )?;
    let number = |row: &Row| Ok(ArrivalNumber::read(row, 0)?.whole());
    let arrivals = arrivals.iter().map(number).collect::<Result<_, DbError>>()?;
    let occupied = occupied.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    Ok((moment, FirstRead { arrivals, occupied }))
}

async fn next_page(
    moment: &deadpool_postgres::Transaction<'_>,
    shard: i16,
    (endpoint, message): (Uuid, Uuid),
) -> Result<Vec<Delivery>, DbError> {
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&shard, &endpoint, &message, &from_size(PAGE)];
    let found = statement::rows(moment, &page_sql(), &bound).await?;
    found.iter().map(row::delivery).collect()
}

/// The open deliveries of a shard, those of each endpoint in the order of their messages: an ordered endpoint must not get
/// a later page's message first.
fn page_sql() -> String {
    format!(
        "SELECT {} FROM delivery d WHERE d.shard = $1 AND d.ended = 0 \
         AND (d.endpoint, d.message) > ($2, $3) ORDER BY d.endpoint, d.message LIMIT $4",
        row::DELIVERY
    )
}
