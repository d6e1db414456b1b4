//! Rows and their columns.

use bytes::Bytes;
use stagger_scheduler::model::{
    ApplicationId, AttemptFailure, Delivery, DeliveryAttempt, DeliveryEnding, EndpointId,
    EventType, IdempotencyKey, Message, MessageId,
};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use super::statement::DbError;
use crate::document::MessageParts;
pub(super) use crate::encoding::{
    ATTEMPT, DELIVERY, MESSAGE, from_instant, from_size, from_span, instant, span,
};
use crate::encoding::{Unreadable, state, verdict};
use crate::{Error, Fence, ShardId, Shards, document, encoding};

/// The message of a row.
pub(super) fn message(row: &Row) -> Result<Message, DbError> {
    message_at(row, 0)
}

/// The message whose columns begin at `at`.
pub(super) fn message_at(row: &Row, at: usize) -> Result<Message, DbError> {
    let key = get::<Option<&str>>(row, at + 3)?.map(str::parse::<IdempotencyKey>).transpose()?;
    let MessageParts { trace, channels, attributes } = document::of_document(get(row, at + 7)?)?;
    Ok(Message {
        id: message_id(row, at)?,
        application: application_id(row, at + 1)?,
        event_type: get::<&str>(row, at + 2)?.parse::<EventType>()?,
        key,
        content_type: get(row, at + 4)?,
        size: usize::try_from(get::<i64>(row, at + 5)?).map_err(Unreadable::new)?,
        created_at: instant(get(row, at + 6)?),
        channels,
        trace,
        attributes,
    })
}

/// The delivery of a row.
pub(super) fn delivery(row: &Row) -> Result<Delivery, DbError> {
    let read_call =
        |bytes| encoding::decode_call(bytes).ok_or_else(|| Unreadable::new("not a saved call"));
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

/// A column of a row.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, DbError> {
    Ok(row.try_get(at)?)
}

/// The name of an application, of an endpoint, of a message.
pub(super) fn application_id(row: &Row, at: usize) -> Result<ApplicationId, DbError> {
    get(row, at).map(ApplicationId::from_uuid)
}

/// See [`application_id`].
pub(super) fn endpoint_id(row: &Row, at: usize) -> Result<EndpointId, DbError> {
    get(row, at).map(EndpointId::from_uuid)
}

/// See [`application_id`].
pub(super) fn message_id(row: &Row, at: usize) -> Result<MessageId, DbError> {
    get(row, at).map(MessageId::from_uuid)
}

/// A delivery's name, in two columns.
pub(super) fn name(row: &Row, at: usize) -> Result<(MessageId, EndpointId), DbError> {
    Ok((message_id(row, at)?, endpoint_id(row, at + 1)?))
}

/// Names of deliveries as two arrays.
pub(super) fn columns_of<'n>(
    names: impl IntoIterator<Item = &'n (MessageId, EndpointId)>,
) -> (Vec<Uuid>, Vec<Uuid>) {
    names.into_iter().map(|(message, endpoint)| (*message.as_uuid(), *endpoint.as_uuid())).unzip()
}

/// A text without characters that PostgreSQL does not store.
pub(super) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A fence as it stands in columns.
pub(super) const fn run(fence: Fence) -> i64 {
    fence.0.cast_signed()
}

/// The fence in a column.
pub(super) fn fence(row: &Row, at: usize) -> Result<Fence, DbError> {
    get::<i64>(row, at).map(|run| Fence(run.cast_unsigned()))
}

/// Shards as they stand in columns.
pub(super) fn shard_numbers(shards: Shards) -> Vec<i16> {
    shards.iter().map(|shard| shard.0.into()).collect()
}

/// The shards in a column, which is an array, or null for none.
pub(super) fn shards(row: &Row, at: usize) -> Result<Shards, DbError> {
    get::<Option<Vec<i16>>>(row, at)?.unwrap_or_default().into_iter().map(shard).collect()
}

/// The shard with this number.
pub(super) fn shard(number: i16) -> Result<ShardId, DbError> {
    let read = u8::try_from(number).map(ShardId);
    read.map_err(|_| Error::store(format!("unknown shard {number}")).into())
}
