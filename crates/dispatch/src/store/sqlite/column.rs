//! The encoding of values in columns.

use rusqlite::Row;
use rusqlite::types::Type;
use uuid::Uuid;

use crate::model::{ApplicationId, EndpointId, MessageId};
pub(super) use crate::store::encoding::{from_instant, from_size, from_span, instant, span};
use crate::store::unreadable::Unreadable;

/// The name of an application, of an endpoint, of a message.
pub(super) fn application_id(row: &Row<'_>, at: usize) -> rusqlite::Result<ApplicationId> {
    uuid(row, at).map(ApplicationId::from_uuid)
}

/// See [`application_id`].
pub(super) fn endpoint_id(row: &Row<'_>, at: usize) -> rusqlite::Result<EndpointId> {
    uuid(row, at).map(EndpointId::from_uuid)
}

/// See [`application_id`].
pub(super) fn message_id(row: &Row<'_>, at: usize) -> rusqlite::Result<MessageId> {
    uuid(row, at).map(MessageId::from_uuid)
}

fn uuid(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
    row.get(at).map(Uuid::from_bytes)
}

impl From<Unreadable> for rusqlite::Error {
    fn from(error: Unreadable) -> Self {
        broken(error)
    }
}

/// The number of bytes that a column says.
pub(super) fn size(number: i64) -> rusqlite::Result<usize> {
    usize::try_from(number).map_err(broken)
}

/// The error for a value that a column cannot hold.
pub(super) fn unknown(what: &'static str, value: impl std::fmt::Display) -> rusqlite::Error {
    broken(format!("unknown {what} {value}"))
}

/// A column's value that cannot be read, and why.
pub(super) fn broken(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Null, why.into())
}
