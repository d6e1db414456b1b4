//! Queries by primary key.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::column::from_size;
use super::row;
use crate::model::{Delivery, DeliveryAttempt, EndpointId, Message, MessageId};
use crate::store::Cursor;

/// One message.
pub(super) fn message(db: &Connection, id: MessageId) -> rusqlite::Result<Option<Message>> {
    let sql = format!("SELECT {} FROM message m WHERE m.id = ?1", row::MESSAGE);
    db.prepare_cached(&sql)?.query_row([id.as_bytes()], row::message).optional()
}

/// A message's bytes.
pub(super) fn payload(db: &Connection, id: MessageId) -> rusqlite::Result<Option<Bytes>> {
    let sql = "SELECT p.bytes FROM message m JOIN payload p ON p.number = m.payload \
               WHERE m.id = ?1";
    let read = |row: &Row<'_>| row.get::<_, Vec<u8>>(0).map(Bytes::from);
    db.prepare_cached(sql)?.query_row([id.as_bytes()], read).optional()
}

/// One delivery.
pub(super) fn delivery(
    db: &Connection,
    message: MessageId,
    endpoint: EndpointId,
) -> rusqlite::Result<Option<Delivery>> {
    let sql = format!(
        "SELECT {} FROM delivery d WHERE d.message = ?1 AND d.endpoint = ?2",
        row::DELIVERY
    );
    let mut find = db.prepare_cached(&sql)?;
    find.query_row(params![message.as_bytes(), endpoint.as_bytes()], row::delivery).optional()
}

/// A message's deliveries, in the order of their endpoints.
pub(super) fn deliveries_of(db: &Connection, id: MessageId) -> rusqlite::Result<Vec<Delivery>> {
    let sql = format!(
        "SELECT {} FROM delivery d WHERE d.message = ?1 ORDER BY d.endpoint",
        row::DELIVERY
    );
    db.prepare_cached(&sql)?.query_map([id.as_bytes()], row::delivery)?.collect()
}

/// The open deliveries after `after`, in order.
pub(super) fn open_deliveries(
    db: &Connection,
    after: Option<Cursor>,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    let Cursor { message, endpoint } =
        after.unwrap_or(Cursor { message: Uuid::nil(), endpoint: Uuid::nil() });
    let mut find = db.prepare_cached(&open_deliveries_sql())?;
    let bound = params![message.as_bytes(), endpoint.as_bytes(), from_size(limit)];
    find.query_map(bound, row::delivery)?.collect()
}

/// A delivery's attempts, in order.
pub(super) fn attempts(
    db: &Connection,
    message: MessageId,
    endpoint: EndpointId,
) -> rusqlite::Result<Vec<DeliveryAttempt>> {
    let sql = format!(
        "SELECT {} FROM attempt WHERE message = ?1 AND endpoint = ?2 ORDER BY number",
        row::ATTEMPT
    );
    let mut find = db.prepare_cached(&sql)?;
    find.query_map(params![message.as_bytes(), endpoint.as_bytes()], row::attempt)?.collect()
}

pub(super) fn open_deliveries_sql() -> String {
    format!(
        "SELECT {} FROM delivery d INDEXED BY delivery_open WHERE d.state < 2 AND (d.message, d.endpoint) > (?1, ?2) \
         ORDER BY d.message, d.endpoint LIMIT ?3",
        row::DELIVERY
    )
}
