//! The slack between the times in ids and those of acceptance, as the file stores it.

use rusqlite::{Connection, params};
use stagger::Instant;

use crate::store::id_range::IdRange;

/// The ids of messages accepted from `since` on and before `until`.
pub(super) fn ids(
    db: &Connection,
    since: Option<Instant>,
    until: Option<Instant>,
) -> rusqlite::Result<IdRange> {
    let slack = if since.or(until).is_some() { read(db)? } else { 0 };
    Ok(IdRange::of(slack, since, until))
}

/// The slack that is written down, in milliseconds.
pub(super) fn read(db: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT value FROM mark WHERE name = 'slack'";
    let value: i64 = db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(value.cast_unsigned())
}

/// Writes the slack down unless it is that wide already.
pub(super) fn widen(db: &Connection, slack: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE mark SET value = max(value, ?1) WHERE name = 'slack'";
    db.prepare_cached(sql)?.execute(params![slack.cast_signed()])?;
    Ok(())
}
