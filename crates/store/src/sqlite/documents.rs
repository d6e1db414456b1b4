//! Documents of the installation.

use rusqlite::{Connection, params};

use super::row::DbError;
use super::writer::Changes;
use crate::setting_document::DocumentKind;
use crate::{DocumentKey, SettingDocument};

impl Changes<'_> {
    /// Writes a document, new or changed; its last use stays.
    pub(super) fn put_document(&mut self, document: &SettingDocument) -> Result<(), DbError> {
        let SettingDocument { key, text, .. } = document;
        let sql = "INSERT INTO document (kind, id, document) VALUES (?1, ?2, ?3) \
                   ON CONFLICT DO UPDATE SET document = ?3";
        self.db.prepare_cached(sql)?.execute(params![key.kind.name(), key.id, text])?;
        Ok(())
    }

    /// Deletes a document, if it is there.
    pub(super) fn delete_document(&mut self, key: &DocumentKey) -> Result<(), DbError> {
        let sql = "DELETE FROM document WHERE kind = ?1 AND id = ?2";
        self.db.prepare_cached(sql)?.execute(params![key.kind.name(), key.id])?;
        Ok(())
    }

    /// Notes the day of a use, unless a later one is known or the document is gone.
    pub(super) fn note_use(&mut self, key: &DocumentKey, day: u32) -> Result<(), DbError> {
        let sql = "UPDATE document SET used_on = ?3 WHERE kind = ?1 AND id = ?2 \
                   AND (used_on IS NULL OR used_on < ?3)";
        self.db.prepare_cached(sql)?.execute(params![key.kind.name(), key.id, day])?;
        Ok(())
    }
}

/// All documents of known kinds, by kind and id.
pub(super) fn documents(db: &Connection) -> rusqlite::Result<Vec<SettingDocument>> {
    let sql = "SELECT kind, id, document, used_on FROM document ORDER BY kind, id";
    let mut find = db.prepare_cached(sql)?;
    let rows = find.query_map([], |row| {
        let Some(kind) = DocumentKind::named(row.get_ref(0)?.as_str()?) else { return Ok(None) };
        let key = DocumentKey::new(kind, row.get::<_, String>(1)?);
        Ok(Some(SettingDocument { key, text: row.get(2)?, used_on: row.get(3)? }))
    })?;
    rows.filter_map(Result::transpose).collect()
}
