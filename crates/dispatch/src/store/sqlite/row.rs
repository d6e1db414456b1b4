//! Parses rows.

use bytes::Bytes;
use rusqlite::Row;

use super::column::{
    application_id, broken, endpoint_id, instant, message_id, size, span, unknown,
};
use crate::model::{AttemptFailure, Delivery, DeliveryAttempt, DeliveryEnding, Message};
use crate::store::encoding::state;
use crate::store::encoding::verdict;
pub(super) use crate::store::encoding::{ATTEMPT, DELIVERY, MESSAGE};
use crate::store::saved;

/// The message of a row.
pub(super) fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let key = row.get_ref(3)?.as_str_or_null()?.map(str::parse).transpose().map_err(broken)?;
    Ok(Message {
        id: message_id(row, 0)?,
        application: application_id(row, 1)?,
        event_type: row.get_ref(2)?.as_str()?.parse().map_err(broken)?,
        key,
        content_type: row.get(4)?,
        size: size(row.get(5)?)?,
        created_at: instant(row.get(6)?),
    })
}

/// The delivery of a row.
pub(super) fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let read_call = |bytes| saved::decode(bytes).ok_or_else(|| broken("not a saved call"));
    let read_ending = |name| DeliveryEnding::by_name(name).ok_or_else(|| unknown("ending", name));
    Ok(Delivery {
        message: message_id(row, 0)?,
        endpoint: endpoint_id(row, 1)?,
        application: application_id(row, 2)?,
        state: state(row.get(3)?)?,
        due: instant(row.get(4)?),
        attempts: row.get(5)?,
        replays: row.get(6)?,
        call: row.get_ref(7)?.as_blob_or_null()?.map(read_call).transpose()?,
        ending: row.get_ref(8)?.as_str_or_null()?.map(read_ending).transpose()?,
        updated_at: instant(row.get(9)?),
    })
}

/// The attempt of a row.
pub(super) fn attempt(row: &Row<'_>) -> rusqlite::Result<DeliveryAttempt> {
    let read_failure = |name| AttemptFailure::by_name(name).ok_or_else(|| unknown("failure", name));
    Ok(DeliveryAttempt {
        message: message_id(row, 0)?,
        endpoint: endpoint_id(row, 1)?,
        number: row.get(2)?,
        started_at: instant(row.get(3)?),
        latency: span(row.get(4)?),
        status: row.get(5)?,
        failure: row.get_ref(6)?.as_str_or_null()?.map(read_failure).transpose()?,
        detail: row.get(7)?,
        reply: Bytes::copy_from_slice(row.get_ref(8)?.as_blob_or_null()?.unwrap_or_default()),
        verdict: verdict(row.get_ref(9)?.as_str()?)?,
        hint: row.get::<_, Option<i64>>(10)?.map(span),
        next: row.get::<_, Option<i64>>(11)?.map(instant),
    })
}
