//! Whether a store's file is in order.

use std::path::Path;

use rusqlite::Connection;
use stagger::Span;

use super::db_error::failed_at;
use super::{file, tally};
use crate::Error;
use crate::store::DeliveryCounts;

/// The contents of a file without damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The version of its tables.
    pub version: u32,
    /// Messages in it.
    pub messages: u64,
    /// Deliveries in it, by state.
    pub deliveries: DeliveryCounts,
}

/// Looks through a store's file, or the one in a data folder: all its pages, its indexes, and its
/// counts. Works beside a running dispatcher, and only reads.
///
/// # Errors
/// The file cannot be read, is not one of ours, is of a later release, or is damaged; the error
/// names it and the first damage.
pub fn check(path: &Path) -> Result<Health, Error> {
    let path = if path.is_dir() { file::path_in(path) } else { path.to_owned() };
    let db = file::open_read_only(&path, LOCK_WAIT)?;
    let version = file::recognise(&db, &path)?;
    let damage = damage(&db).map_err(|e| failed_at(&path, e))?;
    if let Some(damage) = damage {
        return Err(failed_at(&path, damage));
    }
    let counted = || {
        let messages: i64 = db.query_row("SELECT count(*) FROM message", [], |row| row.get(0))?;
        Ok::<_, rusqlite::Error>((messages.cast_unsigned(), tally::read(&db, None)?))
    };
    let (messages, deliveries) = counted().map_err(|e| failed_at(&path, e))?;
    Ok(Health { version, messages, deliveries })
}

/// The longest wait for a lock.
pub(super) const LOCK_WAIT: Span = Span::from_secs(5);

fn damage(db: &Connection) -> rusqlite::Result<Option<String>> {
    let moment = db.unchecked_transaction()?;
    let found: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(Some(found));
    }
    let (kept, counted) = (tally::read(db, None)?, tally::recount(db, None)?);
    let wrong = format!("deliveries are counted as {kept:?}, but are {counted:?}");
    moment.commit()?;
    Ok((kept != counted).then_some(wrong))
}
