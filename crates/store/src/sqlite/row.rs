//! Rows, their columns, and the errors of the database.

use std::path::Path;

use bytes::Bytes;
use rusqlite::Row;
use rusqlite::types::Type;
use stagger_scheduler::model::{
    ApplicationId, AttemptFailure, Delivery, DeliveryAttempt, DeliveryEnding, EndpointId, Message,
    MessageId,
};
use uuid::Uuid;

use crate::document::MessageParts;
pub(super) use crate::encoding::{
    ATTEMPT, DELIVERY, MESSAGE, from_instant, from_size, from_span, instant, span,
};
use crate::encoding::{Unreadable, state, verdict};
use crate::{Error, document, encoding};

/// The message of a row.
pub(super) fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let key = row.get_ref(3)?.as_str_or_null()?.map(str::parse).transpose().map_err(broken)?;
    let MessageParts { trace, channels, attributes } =
        document::of_document(row.get_ref(7)?.as_str_or_null()?)?;
    Ok(Message {
        id: message_id(row, 0)?,
        application: application_id(row, 1)?,
        event_type: row.get_ref(2)?.as_str()?.parse().map_err(broken)?,
        key,
        content_type: row.get(4)?,
        size: size(row.get(5)?)?,
        created_at: instant(row.get(6)?),
        channels,
        trace,
        attributes,
    })
}

/// The delivery of a row.
pub(super) fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let read_call = |bytes| encoding::decode_call(bytes).ok_or_else(|| broken("not a saved call"));
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

/// The name of an application, of an endpoint, of a message.
pub(super) fn application_id(row: &Row<'_>, at: usize) -> rusqlite::Result<ApplicationId> {
    uuid_at(row, at).map(ApplicationId::from_uuid)
}

/// See [`application_id`].
pub(super) fn endpoint_id(row: &Row<'_>, at: usize) -> rusqlite::Result<EndpointId> {
    uuid_at(row, at).map(EndpointId::from_uuid)
}

/// See [`application_id`].
pub(super) fn message_id(row: &Row<'_>, at: usize) -> rusqlite::Result<MessageId> {
    uuid_at(row, at).map(MessageId::from_uuid)
}

/// See [`application_id`].
pub(super) fn uuid_at(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
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

/// A failed change.
#[derive(Debug)]
pub(super) enum DbError {
    /// A conflict with the existing state. It has changed nothing, and its transaction continues.
    Refused(Error),
    /// The database failed; nothing of its transaction holds.
    Broken(rusqlite::Error),
}

impl From<Error> for DbError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Unreadable> for DbError {
    fn from(error: Unreadable) -> Self {
        Self::Broken(error.into())
    }
}

/// Converts a failure of the database to an error.
pub(super) fn failed(error: &rusqlite::Error) -> Error {
    Error::store(error.to_string())
}

/// A failure that has to do with a file.
pub(super) fn failed_at(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::store(format!("{}: {error}", path.display()))
}
