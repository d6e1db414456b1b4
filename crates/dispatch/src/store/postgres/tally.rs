//! The counts, as the database keeps them.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::column::get;
use super::db_error::DbError;
use super::statement;
use crate::model::{DeliveryState, EndpointId};
use crate::store::DeliveryCounts;
use crate::store::encoding::state;
use crate::store::tally::{ALL, CountChanges};

/// Writes the counts: one row for each endpoint that was touched, in the same order always, so that no
/// two transactions wait for each other.
pub(super) async fn write(
    db: &impl GenericClient,
    tally: &mut CountChanges,
    counter: i16,
) -> Result<(), DbError> {
    let changes = tally.take();
    if changes.is_empty() {
        return Ok(());
    }
    let endpoints: Vec<_> = changes.iter().map(|(endpoint, _)| *endpoint.as_uuid()).collect();
    let [pending, waiting, delivered, dead, cancelled] = DeliveryState::ALL
        .map(|of| changes.iter().map(|(_, by)| by[of as usize]).collect::<Vec<_>>());
    let sql = "INSERT INTO tally (endpoint, counter, pending, waiting, delivered, dead, cancelled) \
               SELECT n.endpoint, $7, n.pending, n.waiting, n.delivered, n.dead, n.cancelled \
               FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
               $6::bigint[]) AS n (endpoint, pending, waiting, delivered, dead, cancelled) \
               ON CONFLICT (endpoint, counter) DO UPDATE SET \
               pending = tally.pending + excluded.pending, \
               waiting = tally.waiting + excluded.waiting, \
               delivered = tally.delivered + excluded.delivered, \
               dead = tally.dead + excluded.dead, \
               cancelled = tally.cancelled + excluded.cancelled";
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&endpoints, &pending, &waiting, &delivered, &dead, &cancelled, &counter];
    statement::run(db, sql, &bound).await?;
    Ok(())
}

/// The counts of `endpoint`, or of all.
pub(super) async fn read(
    db: &impl GenericClient,
    endpoint: Option<EndpointId>,
) -> Result<DeliveryCounts, DbError> {
    let sql = "SELECT sum(pending)::bigint, sum(waiting)::bigint, sum(delivered)::bigint, \
               sum(dead)::bigint, sum(cancelled)::bigint FROM tally WHERE endpoint = $1";
    let row = statement::row(db, sql, &[endpoint.unwrap_or(ALL).as_uuid()]).await?;
    let mut counts = DeliveryCounts::default();
    for state in DeliveryState::ALL {
        let count = |row: &Row| get::<Option<i64>>(row, state as usize);
        let count = row.as_ref().map(count).transpose()?.flatten().unwrap_or_default();
        counts.set(state, u64::try_from(count).unwrap_or(0));
    }
    Ok(counts)
}

/// The counts, counted row by row: [`read`] must agree with them.
pub(super) async fn recount(db: &impl GenericClient) -> Result<DeliveryCounts, DbError> {
    let mut counts = DeliveryCounts::default();
    let sql = "SELECT state, count(*) FROM delivery GROUP BY state";
    for row in statement::rows(db, sql, &[]).await? {
        let state = state(get::<i16>(&row, 0)?.into())?;
        counts.set(state, get::<i64>(&row, 1)?.cast_unsigned());
    }
    Ok(counts)
}
