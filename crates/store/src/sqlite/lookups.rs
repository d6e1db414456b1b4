//! Lookups by key, and the counts of deliveries, which are kept.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params};
use stagger_scheduler::model::{
    Delivery, DeliveryAttempt, DeliveryState, EndpointId, Message, MessageId,
};
use uuid::Uuid;

use super::row;
use super::row::from_size;
use crate::encoding::{ALL, CountChanges, STATES, state_number};
use crate::{Cursor, DeliveryCounts};

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

/// Writes the counts: one row for each endpoint that was touched.
pub(super) fn write_counts(db: &Connection, tally: &mut CountChanges) -> rusqlite::Result<()> {
    for (endpoint, by) in tally.take() {
        write_one(db, endpoint, by)?;
    }
    Ok(())
}

/// The counts of `endpoint`, or of all.
pub(super) fn read_counts(
    db: &Connection,
    endpoint: Option<EndpointId>,
) -> rusqlite::Result<DeliveryCounts> {
    let mut find = db.prepare_cached(
        "SELECT pending, waiting, delivered, dead, cancelled FROM tally WHERE endpoint = ?1",
    )?;
    let counts = find.query_row([endpoint.unwrap_or(ALL).as_bytes()], |row| {
        let mut counts = DeliveryCounts::default();
        for state in DeliveryState::ALL {
            let count: i64 = row.get(state as usize)?;
            counts.set(state, u64::try_from(count).unwrap_or(0));
        }
        Ok(counts)
    });
    Ok(counts.optional()?.unwrap_or_default())
}

/// The counts of `endpoint`, or of all, counted row by row: [`read`] must agree with them.
pub(super) fn recount(
    db: &Connection,
    endpoint: Option<EndpointId>,
) -> rusqlite::Result<DeliveryCounts> {
    let mut counts = DeliveryCounts::default();
    for state in DeliveryState::ALL {
        let count: i64 = db.query_row(
            "SELECT count(*) FROM delivery WHERE state = ?1 AND (?2 IS NULL OR endpoint = ?2)",
            params![state_number(state), endpoint.as_ref().map(EndpointId::as_bytes)],
            |row| row.get(0),
        )?;
        counts.set(state, count.cast_unsigned());
    }
    Ok(counts)
}

fn write_one(db: &Connection, endpoint: EndpointId, by: [i64; STATES]) -> rusqlite::Result<()> {
    let mut upsert = db.prepare_cached(
        "INSERT INTO tally VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
         pending = pending + ?2, waiting = waiting + ?3, delivered = delivered + ?4, \
         dead = dead + ?5, cancelled = cancelled + ?6",
    )?;
    upsert.execute(params![endpoint.as_bytes(), by[0], by[1], by[2], by[3], by[4]])?;
    Ok(())
}
