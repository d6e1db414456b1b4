//! The encoding of values in columns.

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use super::db_error::DbError;
use crate::Error;
use crate::model::{ApplicationId, EndpointId, MessageId};
pub(super) use crate::store::encoding::{from_instant, from_size, from_span, instant, span};
use crate::store::{Fence, ShardId, Shards};

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
