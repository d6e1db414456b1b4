//! The encoding of values in columns.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, Type, ValueRef};
use uuid::Uuid;

use crate::model::{ApplicationId, EndpointId, MessageId};
pub(super) use crate::store::encoding::{from_instant, from_size, from_span, instant, span};
use crate::store::unreadable::Unreadable;

macro_rules! id_column {
    ($($id:ident),*) => {$(
        impl ToSql for $id {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.as_uuid().as_bytes())))
            }
        }

        impl FromSql for $id {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let bytes = <[u8; 16]>::column_result(value)?;
                Ok(Self::from_uuid(Uuid::from_bytes(bytes)))
            }
        }
    )*};
}

id_column!(ApplicationId, EndpointId, MessageId);

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
