//! The audit log.

use deadpool_postgres::GenericClient;

use super::row::{from_instant, from_size, get, instant, text};
use super::statement;
use super::statement::DbError;
use super::writer::{Change, Changes};
use crate::{AuditEntry, MOST_AUDITED};

/// Adds an entry, and deletes those that are too old.
pub(super) struct RecordAudit<'e>(pub(super) &'e AuditEntry);

impl Change for RecordAudit<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let AuditEntry { at, actor, action, detail, .. } = self.0;
        let sql = "WITH added AS (INSERT INTO audit (at, actor, action, detail) \
                   VALUES ($1, $2, $3, $4) RETURNING number) \
                   DELETE FROM audit WHERE number <= (SELECT number FROM added) - $5";
        let most = MOST_AUDITED.cast_signed();
        let (actor, action, detail) = (text(actor), text(action), text(detail));
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&from_instant(*at), &actor, &action, &detail, &most];
        statement::run(&changes.db, sql, &bound).await?;
        Ok(())
    }
}

/// The entries numbered below `before`, newest first.
pub(super) async fn entries(
    db: &impl GenericClient,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<AuditEntry>, DbError> {
    let sql = "SELECT number, at, actor, action, detail FROM audit WHERE number < $1 \
               ORDER BY number DESC LIMIT $2";
    let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let rows = statement::rows(db, sql, &[&before, &from_size(limit)]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(AuditEntry {
            number: get::<i64>(row, 0)?.cast_unsigned(),
            at: instant(get(row, 1)?),
            actor: get(row, 2)?,
            action: get(row, 3)?,
            detail: get(row, 4)?,
        })
    };
    rows.iter().map(read).collect()
}
