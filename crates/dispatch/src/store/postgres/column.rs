//! The encoding of values in columns.

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::model::{ApplicationId, EndpointId, MessageId};
pub(super) use crate::store::bits::{from_instant, from_size, from_span, instant, span};

use super::db_error::DbError;

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
