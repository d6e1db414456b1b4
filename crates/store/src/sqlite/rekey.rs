//! Secrets that are encrypted with another key than the one that writes, or not at all, are written anew.

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::row::{failed, from_size, uuid_at};
use crate::document::SecretTable;
use crate::encoding::Unreadable;
use crate::{EncryptionKeys, Error};

/// Rows in one transaction: some milliseconds of work.
const STEP: usize = 256;

/// Checks that every secret can be decrypted, and encrypts those anew that are not encrypted with the key that writes.
///
/// # Errors
/// A conflict: a key is missing, or a secret is damaged. Nothing has changed then.
pub(super) fn rekey(db: &Connection, keys: &EncryptionKeys) -> Result<(), Error> {
    let mut outdated = 0;
    walk(db, |step| {
        for row in step {
            outdated += usize::from(row.rewritten(keys).map_err(unreadable)?.is_some());
        }
        Ok(())
    })?;
    if outdated == 0 {
        return Ok(());
    }
    // Without it the old texts would stay in free parts of the file.
    db.execute_batch("PRAGMA secure_delete = ON").map_err(|error| failed(&error))?;
    walk(db, |step| {
        let whole = db.unchecked_transaction().map_err(|error| failed(&error))?;
        for row in step {
            let Some(document) = row.rewritten(keys).map_err(unreadable)? else { continue };
            let sql = format!("UPDATE {} SET document = ?2 WHERE id = ?1", row.table.names().0);
            let written = db
                .prepare_cached(&sql)
                .and_then(|mut update| update.execute(params![row.id.as_bytes(), document]));
            written.map_err(|error| failed(&error))?;
        }
        whole.commit().map_err(|error| failed(&error))
    })?;
    // The log has the old texts too.
    let emptied = super::file::checkpoint(db, "TRUNCATE");
    emptied.map_err(|error| failed(&error))?;
    db.execute_batch("PRAGMA secure_delete = OFF").map_err(|error| failed(&error))?;
    tracing::info!(documents = outdated, key = keys.ids().next(), "secrets encrypted anew");
    Ok(())
}

fn unreadable(error: Unreadable) -> Error {
    Error::conflict(error.to_string())
}

/// An application or an endpoint as it is stored.
struct StoredDocument {
    table: SecretTable,
    id: Uuid,
    application: Uuid,
    document: String,
}

impl StoredDocument {
    /// The document with its secrets encrypted anew; `None` if they are as they should be.
    fn rewritten(&self, keys: &EncryptionKeys) -> Result<Option<String>, Unreadable> {
        self.table.rewritten(self.id, self.application, &self.document, keys)
    }
}

/// Reads all documents, some at a time.
fn walk(
    db: &Connection,
    mut visit: impl FnMut(&[StoredDocument]) -> Result<(), Error>,
) -> Result<(), Error> {
    SecretTable::ALL.into_iter().try_for_each(|table| walk_table(db, table, &mut visit))
}

fn walk_table(
    db: &Connection,
    table: SecretTable,
    visit: &mut impl FnMut(&[StoredDocument]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (name, application) = table.names();
    let sql = format!(
        "SELECT id, {application}, document FROM {name} WHERE id > ?1 ORDER BY id LIMIT ?2"
    );
    let mut after = Uuid::nil();
    loop {
        let read = || {
            let mut find = db.prepare_cached(&sql)?;
            let rows = find.query_map(params![after.as_bytes(), from_size(STEP)], |row| {
                let (id, application) = (uuid_at(row, 0)?, uuid_at(row, 1)?);
                Ok(StoredDocument { table, id, application, document: row.get(2)? })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let step = read().map_err(|error| failed(&error))?;
        visit(&step)?;
        match step.last() {
            Some(last) if step.len() == STEP => after = last.id,
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::super::test_folder::TestFolder;
    use super::super::{SqliteOptions, SqliteStore};
    use super::*;
    use crate::DeliveryStore;
    use crate::testing::fixture::{application, endpoint};

    fn keys(numbers: &[u8]) -> EncryptionKeys {
        let lines: Vec<_> = numbers.iter().map(|n| STANDARD.encode([*n; 32])).collect();
        EncryptionKeys::parse(&lines.join("\n")).unwrap()
    }

    fn open(folder: &TestFolder, keys: EncryptionKeys) -> Result<SqliteStore, Error> {
        SqliteStore::open_with_keys(&**folder, SqliteOptions::default(), keys)
    }

    /// All bytes of the folder.
    fn bytes(folder: &TestFolder) -> Vec<u8> {
        let files = std::fs::read_dir(&**folder).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files.iter().flat_map(|file| std::fs::read(file).unwrap()).collect()
    }

    /// The same but for the counter of changes in the header, which every opening raises (SQLite file format, 1.3).
    fn content(folder: &TestFolder) -> Vec<u8> {
        let mut bytes = bytes(folder);
        bytes[24..28].fill(0);
        bytes[92..96].fill(0);
        bytes
    }

    fn holds(folder: &TestFolder, text: &str) -> bool {
        bytes(folder).windows(text.len()).any(|window| window == text.as_bytes())
    }

    #[tokio::test]
    async fn a_store_that_gets_a_key_kept_its_secrets_readable() {
        let folder = TestFolder::new();
        let (secret, count) = ("hunter2-hunter2-hunter2", 600);
        let endpoint = |n| {
            let mut made = endpoint(n, 1);
            made.headers[0].value = secret.into();
            made
        };
        {
            let store = folder.open();
            store.put_application(application(1)).await.unwrap();
            for n in 1..=count {
                store.put_endpoint(endpoint(n)).await.unwrap();
            }
        }
        assert!(holds(&folder, secret));
        let expected: Vec<_> = (1..=count).map(endpoint).collect();
        for numbers in [&[1][..], &[1], &[2, 1], &[2]] {
            let store = open(&folder, keys(numbers)).unwrap();
            assert!(!holds(&folder, secret), "with {numbers:?}");
            let found = store.endpoints().await.unwrap();
            let found: Vec<_> = found.into_iter().map(|(endpoint, _)| endpoint).collect();
            assert_eq!(found, expected);
            store.put_endpoint(endpoint(1)).await.unwrap();
            assert!(!holds(&folder, secret), "a change is not encrypted");
        }
        let before = content(&folder);
        for wrong in [keys(&[1]), EncryptionKeys::default()] {
            let refused = open(&folder, wrong).unwrap_err();
            let told = refused.to_string();
            assert!(
                refused.is_conflict() && told.contains(keys(&[2]).ids().next().unwrap()),
                "{told}"
            );
        }
        assert!(content(&folder) == before, "a refused opening has changed something");
        let plain = EncryptionKeys::parse(&format!("plain\n{}", STANDARD.encode([2; 32]))).unwrap();
        drop(open(&folder, plain).unwrap());
        assert!(holds(&folder, secret));
        drop(folder.open());
    }
}
