//! Facts about the store as a whole.

use super::changes::Changes;
use super::column::get;
use super::db_error::DbError;
use super::statement;
use super::writer::Change;
use crate::store::Fence;

/// The number of a run that begins. Others that begin wait until the transaction ends.
pub(super) async fn next_run(changes: &Changes<'_>) -> Result<Fence, DbError> {
    let sql = "UPDATE mark SET value = value + 1 WHERE name = 'run' RETURNING value";
    let row = statement::row(&changes.db, sql, &[]).await?;
    let run = row.map(|row| get::<i64>(&row, 0)).transpose()?.unwrap_or_default();
    Ok(Fence(run.cast_unsigned()))
}

/// Writes something that changes nothing, to see whether writing works.
pub(super) struct Touch;

impl Change for Touch {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let sql = "UPDATE mark SET value = value WHERE name = 'touch'";
        statement::run(&changes.db, sql, &[]).await?;
        Ok(())
    }
}

/// Writes down whether a copy is being written into the store.
pub(super) struct MarkCopy(pub(super) bool);

impl Change for MarkCopy {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let sql = "UPDATE mark SET value = $1 WHERE name = 'copy'";
        statement::run(&changes.db, sql, &[&i64::from(self.0)]).await?;
        // No shard has a leader yet, and the node that acquires a shard loads its open deliveries.
        changes.db.batch_execute("TRUNCATE arrival").await?;
        Ok(())
    }
}
