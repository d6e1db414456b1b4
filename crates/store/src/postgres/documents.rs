//! Documents of the installation.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use super::row::get;
use super::statement;
use super::statement::DbError;
use super::writer::{Change, Changes};
use crate::setting_document::DocumentKind;
use crate::{DocumentKey, SettingDocument};

/// Writes a document, new or changed; its last use stays.
pub(super) struct PutDocument<'d>(pub(super) &'d SettingDocument);

impl Change for PutDocument<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let SettingDocument { key, text, .. } = self.0;
        let sql = "INSERT INTO document (kind, id, document) VALUES ($1, $2, $3) \
                   ON CONFLICT (kind, id) DO UPDATE SET document = excluded.document";
        statement::run(&changes.db, sql, &[&key.kind.name(), &key.id, text]).await?;
        changes.tell_document(key).await
    }
}

/// Deletes a document, if it is there.
pub(super) struct DeleteDocument<'d>(pub(super) &'d DocumentKey);

impl Change for DeleteDocument<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let DocumentKey { kind, id } = self.0;
        let sql = "DELETE FROM document WHERE kind = $1 AND id = $2";
        if statement::run(&changes.db, sql, &[&kind.name(), id]).await? == 0 {
            return Ok(());
        }
        changes.tell_document(self.0).await
    }
}

/// Notes the day of a use, unless a later one is known or the document is gone.
pub(super) struct NoteUse<'d>(pub(super) &'d DocumentKey, pub(super) u32);

impl Change for NoteUse<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let DocumentKey { kind, id } = self.0;
        let sql = "UPDATE document SET used_on = $3 WHERE kind = $1 AND id = $2 \
                   AND (used_on IS NULL OR used_on < $3)";
        statement::run(&changes.db, sql, &[&kind.name(), id, &self.1.cast_signed()]).await?;
        Ok(())
    }
}

/// All documents of known kinds, or those of these names that exist, by kind and id.
pub(super) async fn documents(
    db: &impl GenericClient,
    keys: Option<&[DocumentKey]>,
) -> Result<Vec<SettingDocument>, DbError> {
    let kinds = keys.map(|keys| keys.iter().map(|key| key.kind.name()).collect::<Vec<_>>());
    let ids = keys.map(|keys| keys.iter().map(|key| &*key.id).collect::<Vec<_>>());
    let sql = "SELECT kind, id, document, used_on FROM document WHERE $1::text[] IS NULL \
               OR (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[])) \
               ORDER BY kind COLLATE \"C\", id COLLATE \"C\"";
    let bound: [&(dyn ToSql + Sync); 2] = [&kinds, &ids];
    let rows = statement::rows(db, sql, &bound).await?;
    let read = |row: &tokio_postgres::Row| {
        let Some(kind) = DocumentKind::named(get(row, 0)?) else { return Ok(None) };
        let key = DocumentKey::new(kind, get::<String>(row, 1)?);
        let used_on = get::<Option<i32>>(row, 3)?.map(i32::cast_unsigned);
        Ok(Some(SettingDocument { key, text: get(row, 2)?, used_on }))
    };
    rows.iter().filter_map(|row| read(row).transpose()).collect()
}
