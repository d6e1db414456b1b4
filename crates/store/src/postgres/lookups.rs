//! Lookups by key, and the counts of deliveries, which are kept.

use bytes::Bytes;
use deadpool_postgres::GenericClient;
use stagger_scheduler::model::{
    Application, Delivery, DeliveryAttempt, DeliveryState, Endpoint, EndpointId, EndpointState,
    Message, MessageId,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::days::day_of;
use super::row::{application_id, endpoint_id, from_size, get};
use super::statement::DbError;
use super::{row, statement};
use crate::encoding::{ALL, STATES, state};
use crate::{Cursor, DeliveryCounts, EncryptionKeys, document};

/// One message.
pub(super) async fn message(
    db: &impl GenericClient,
    id: MessageId,
) -> Result<Option<Message>, DbError> {
    let sql = format!("SELECT {} FROM message m WHERE m.id = $1", row::MESSAGE);
    statement::row(db, &sql, &[id.as_uuid()]).await?.as_ref().map(row::message).transpose()
}

/// A message's bytes.
pub(super) async fn payload(
    db: &impl GenericClient,
    id: MessageId,
) -> Result<Option<Bytes>, DbError> {
    let sql = "SELECT bytes FROM payload WHERE message = $1";
    let row = statement::row(db, sql, &[id.as_uuid()]).await?;
    row.map(|row| get::<Vec<u8>>(&row, 0).map(Bytes::from)).transpose()
}

/// One delivery.
pub(super) async fn delivery(
    db: &impl GenericClient,
    message: MessageId,
    endpoint: EndpointId,
) -> Result<Option<Delivery>, DbError> {
    let sql = format!(
        "SELECT {} FROM delivery d WHERE d.message = $1 AND d.endpoint = $2",
        row::DELIVERY
    );
    let row = statement::row(db, &sql, &[message.as_uuid(), endpoint.as_uuid()]).await?;
    row.as_ref().map(row::delivery).transpose()
}

/// A message's deliveries, in the order of their endpoints.
pub(super) async fn deliveries_of(
    db: &impl GenericClient,
    id: MessageId,
) -> Result<Vec<Delivery>, DbError> {
    let sql = format!(
        "SELECT {} FROM delivery d WHERE d.message = $1 ORDER BY d.endpoint",
        row::DELIVERY
    );
    statement::rows(db, &sql, &[id.as_uuid()]).await?.iter().map(row::delivery).collect()
}

/// The open deliveries after `after`, in order.
pub(super) async fn open_deliveries(
    db: &impl GenericClient,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Vec<Delivery>, DbError> {
    let Cursor { message, endpoint } =
        after.unwrap_or(Cursor { message: Uuid::nil(), endpoint: Uuid::nil() });
    let sql = format!(
        "SELECT {} FROM delivery d WHERE d.ended = 0 AND (d.message, d.endpoint) > ($1, $2) \
         ORDER BY d.message, d.endpoint LIMIT $3",
        row::DELIVERY
    );
    let found = statement::rows(db, &sql, &[&message, &endpoint, &from_size(limit)]).await?;
    found.iter().map(row::delivery).collect()
}

/// A delivery's attempts, in order; none once the delivery is gone, though they go later.
pub(super) async fn attempts(
    db: &impl GenericClient,
    message: MessageId,
    endpoint: EndpointId,
) -> Result<Vec<DeliveryAttempt>, DbError> {
    let sql = format!(
        "SELECT {} FROM attempt WHERE day = $1 AND message = $2 AND endpoint = $3 \
         AND EXISTS (SELECT 1 FROM delivery WHERE message = $2 AND endpoint = $3) ORDER BY number",
        row::ATTEMPT
    );
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&day_of(message), message.as_uuid(), endpoint.as_uuid()];
    statement::rows(db, &sql, &bound).await?.iter().map(row::attempt).collect()
}

/// All applications, or those of these ids that exist; oldest first.
pub(super) async fn applications(
    db: &impl GenericClient,
    ids: Option<&[Uuid]>,
    keys: &EncryptionKeys,
) -> Result<Vec<Application>, DbError> {
    let sql = "SELECT id, document FROM application WHERE NOT gone \
               AND ($1::uuid[] IS NULL OR id = ANY($1)) ORDER BY id";
    let read = |row: &Row| -> Result<Application, DbError> {
        Ok(document::application(application_id(row, 0)?, get(row, 1)?, keys)?)
    };
    statement::rows(db, sql, &[&ids]).await?.iter().map(read).collect()
}

/// All endpoints with their learned state, or those of these ids that exist; oldest first.
pub(super) async fn endpoints(
    db: &impl GenericClient,
    ids: Option<&[Uuid]>,
    keys: &EncryptionKeys,
) -> Result<Vec<(Endpoint, EndpointState)>, DbError> {
    let sql = "SELECT id, application, document, standing FROM endpoint \
               WHERE gone_at IS NULL AND ($1::uuid[] IS NULL OR id = ANY($1)) ORDER BY id";
    let read = |row: &Row| -> Result<(Endpoint, EndpointState), DbError> {
        let (id, of) = (endpoint_id(row, 0)?, application_id(row, 1)?);
        let endpoint = document::endpoint(id, of, get(row, 2)?, keys)?;
        Ok((endpoint, document::endpoint_state(get(row, 3)?)?))
    };
    statement::rows(db, sql, &[&ids]).await?.iter().map(read).collect()
}

/// The learned state of an endpoint that exists.
pub(super) async fn endpoint_state(
    db: &impl GenericClient,
    id: EndpointId,
) -> Result<Option<EndpointState>, DbError> {
    let sql = "SELECT standing FROM endpoint WHERE id = $1 AND gone_at IS NULL";
    let row = statement::row(db, sql, &[id.as_uuid()]).await?;
    row.map(|row| Ok(document::endpoint_state(get(&row, 0)?)?)).transpose()
}

/// Writes the counts: one row for each endpoint that was touched, in the same order always, so that no
/// two transactions wait for each other.
pub(super) async fn write_counts(
    db: &impl GenericClient,
    changes: &[(EndpointId, [i64; STATES])],
    counter: i16,
) -> Result<(), DbError> {
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
pub(super) async fn read_counts(
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
