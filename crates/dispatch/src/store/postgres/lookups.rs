//! Queries by primary key, and of all settings.

use bytes::Bytes;
use deadpool_postgres::GenericClient;
use uuid::Uuid;

use super::column::{application_id, endpoint_id, from_size, get};
use super::days::day_of;
use super::db_error::DbError;
use super::{row, statement};
use crate::model::{
    Application, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState, Message, MessageId,
};
use crate::store::{Cursor, document};

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
) -> Result<Vec<Application>, DbError> {
    let sql = "SELECT id, document FROM application WHERE NOT gone \
               AND ($1::uuid[] IS NULL OR id = ANY($1)) ORDER BY id";
    let read = |row: &tokio_postgres::Row| -> Result<Application, DbError> {
        Ok(document::application(application_id(row, 0)?, get(row, 1)?)?)
    };
    statement::rows(db, sql, &[&ids]).await?.iter().map(read).collect()
}

/// All endpoints with their learned state, or those of these ids that exist; oldest first.
pub(super) async fn endpoints(
    db: &impl GenericClient,
    ids: Option<&[Uuid]>,
) -> Result<Vec<(Endpoint, EndpointState)>, DbError> {
    let sql = "SELECT id, application, document, standing FROM endpoint \
               WHERE gone_at IS NULL AND ($1::uuid[] IS NULL OR id = ANY($1)) ORDER BY id";
    let read = |row: &tokio_postgres::Row| -> Result<(Endpoint, EndpointState), DbError> {
        let (id, of) = (endpoint_id(row, 0)?, application_id(row, 1)?);
        let endpoint = document::endpoint(id, of, get(row, 2)?)?;
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
