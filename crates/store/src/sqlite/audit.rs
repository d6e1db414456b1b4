//! The audit log.

use rusqlite::{Connection, params};

use super::row::{DbError, from_instant, instant};
use super::writer::Changes;
use crate::{AuditEntry, MOST_AUDITED};

impl Changes<'_> {
    /// Adds an entry, and deletes those that are too old.
    pub(super) fn record_audit(&mut self, entry: &AuditEntry) -> Result<(), DbError> {
        let sql = "INSERT INTO audit (at, actor, action, detail) VALUES (?1, ?2, ?3, ?4)";
        let number = self.db.prepare_cached(sql)?.insert(params![
            from_instant(entry.at),
            entry.actor,
            entry.action,
            entry.detail
        ])?;
        let oldest = number.saturating_sub_unsigned(MOST_AUDITED);
        self.db.prepare_cached("DELETE FROM audit WHERE number <= ?1")?.execute([oldest])?;
        Ok(())
    }
}

/// The entries numbered below `before`, newest first.
pub(super) fn entries(
    db: &Connection,
    before: Option<u64>,
    limit: usize,
) -> rusqlite::Result<Vec<AuditEntry>> {
    let sql = "SELECT number, at, actor, action, detail FROM audit WHERE number < ?1 \
               ORDER BY number DESC LIMIT ?2";
    let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut find = db.prepare_cached(sql)?;
    let rows = find.query_map([before, limit], |row| {
        Ok(AuditEntry {
            number: row.get::<_, i64>(0)?.cast_unsigned(),
            at: instant(row.get(1)?),
            actor: row.get(2)?,
            action: row.get(3)?,
            detail: row.get(4)?,
        })
    })?;
    rows.collect()
}
