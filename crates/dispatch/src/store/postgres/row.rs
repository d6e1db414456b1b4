//! Parses rows.

use bytes::Bytes;
use tokio_postgres::Row;

use super::column::{application_id, endpoint_id, get, instant, message_id, span};
use super::db_error::DbError;
use crate::model::{
    AttemptFailure, Delivery, DeliveryAttempt, DeliveryEnding, EventType, IdempotencyKey, Message,
};
use crate::store::encoding::state;
use crate::store::encoding::verdict;
pub(super) use crate::store::encoding::{ATTEMPT, DELIVERY, MESSAGE};
use crate::store::saved;
use crate::store::unreadable::Unreadable;

/// The message of a row.
pub(super) fn message(row: &Row) -> Result<Message, DbError> {
    message_at(row, 0)
}

/// The message whose columns begin at `at`.
pub(super) fn message_at(row: &Row, at: usize) -> Result<Message, DbError> {
    let key = get::<Option<&str>>(row, at + 3)?.map(str::parse::<IdempotencyKey>).transpose()?;
    Ok(Message {
        id: message_id(row, at)?,
        application: application_id(row, at + 1)?,
        event_type: get::<&str>(row, at + 2)?.parse::<EventType>()?,
        key,
        content_type: get(row, at + 4)?,
        size: usize::try_from(get::<i64>(row, at + 5)?).map_err(Unreadable::new)?,
        created_at: instant(get(row, at + 6)?),
    })
}

/// The delivery of a row.
pub(super) fn delivery(row: &Row) -> Result<Delivery, DbError> {
    let read_call = |bytes| saved::decode(bytes).ok_or_else(|| Unreadable::new("not a saved call"));
    let read_ending =
        |name| DeliveryEnding::by_name(name).ok_or_else(|| Unreadable::unknown("ending", name));
    Ok(Delivery {
        message: message_id(row, 0)?,
        endpoint: endpoint_id(row, 1)?,
        application: application_id(row, 2)?,
        state: state(get::<i16>(row, 3)?.into())?,
        due: instant(get(row, 4)?),
        attempts: number(row, 5)?,
        replays: number(row, 6)?,
        call: get::<Option<&[u8]>>(row, 7)?.map(read_call).transpose()?,
        ending: get::<Option<&str>>(row, 8)?.map(read_ending).transpose()?,
        updated_at: instant(get(row, 9)?),
    })
}

/// The attempt of a row.
pub(super) fn attempt(row: &Row) -> Result<DeliveryAttempt, DbError> {
    let read_failure =
        |name| AttemptFailure::by_name(name).ok_or_else(|| Unreadable::unknown("failure", name));
    let status = get::<Option<i32>>(row, 5)?.map(u16::try_from).transpose();
    Ok(DeliveryAttempt {
        message: message_id(row, 0)?,
        endpoint: endpoint_id(row, 1)?,
        number: number(row, 2)?,
        started_at: instant(get(row, 3)?),
        latency: span(get(row, 4)?),
        status: status.map_err(Unreadable::new)?,
        failure: get::<Option<&str>>(row, 6)?.map(read_failure).transpose()?,
        detail: get(row, 7)?,
        reply: Bytes::copy_from_slice(get::<Option<&[u8]>>(row, 8)?.unwrap_or_default()),
        verdict: verdict(get(row, 9)?)?,
        hint: get::<Option<i64>>(row, 10)?.map(span),
        next: get::<Option<i64>>(row, 11)?.map(instant),
    })
}

fn number(row: &Row, at: usize) -> Result<u32, DbError> {
    Ok(u32::try_from(get::<i64>(row, at)?).map_err(Unreadable::new)?)
}
