//! Secrets that are encrypted with another key than the one that writes, or not at all, are written anew.

use uuid::Uuid;

use super::row::{from_size, get};
use super::statement;
use super::statement::DbError;
use super::writer::{Change, Changes, PostgresWriter, SELDOM};
use crate::Error;
use crate::document::SecretTable;

/// Rows in one transaction: some milliseconds of work.
const STEP: usize = 256;

/// Checks that every secret can be decrypted, and encrypts those anew that are not encrypted with the key that writes.
///
/// # Errors
/// A conflict: a key is missing, or a secret is damaged. Nothing has changed then.
pub(super) async fn rekey(writer: &PostgresWriter) -> Result<(), Error> {
    let mut outdated = 0;
    for table in SecretTable::ALL {
        outdated += walk(writer, table, false).await?;
    }
    if outdated > 0 {
        for table in SecretTable::ALL {
            walk(writer, table, true).await?;
        }
        let key = writer.keys().ids().next();
        tracing::info!(documents = outdated, key, "secrets encrypted anew");
    }
    Ok(())
}

/// The number of documents whose secrets are outdated, and were written anew if wanted.
async fn walk(writer: &PostgresWriter, table: SecretTable, writes: bool) -> Result<usize, Error> {
    let mut after = Uuid::nil();
    let mut outdated = 0;
    loop {
        let step = writer.write(SELDOM, &Rekey { table, after, writes }).await?;
        outdated += step.outdated;
        match step.next {
            Some(next) => after = next,
            None => return Ok(outdated),
        }
    }
}

/// Looks at some documents after one.
struct Rekey {
    table: SecretTable,
    after: Uuid,
    writes: bool,
}

struct RekeyStep {
    outdated: usize,
    next: Option<Uuid>,
}

impl Change for Rekey {
    type Done = RekeyStep;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<RekeyStep, DbError> {
        let (name, application) = self.table.names();
        let sql = format!(
            "SELECT id, {application}, document FROM {name} WHERE id > $1 ORDER BY id LIMIT $2"
        );
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&self.after, &from_size(STEP)];
        let rows = statement::rows(&changes.db, &sql, &bound).await?;
        let (mut outdated, mut last) = (0, None);
        for row in &rows {
            let (id, of) = (get::<Uuid>(row, 0)?, get::<Uuid>(row, 1)?);
            let (text, keys) = (get::<&str>(row, 2)?, &changes.memory.keys);
            let rewritten = self.table.rewritten(id, of, text, keys);
            let rewritten = rewritten.map_err(|error| Error::conflict(error.to_string()))?;
            last = Some(id);
            let Some(document) = rewritten else { continue };
            outdated += 1;
            if self.writes {
                // Another node may have changed it meanwhile, and has encrypted it then.
                let sql =
                    format!("UPDATE {name} SET document = $2 WHERE id = $1 AND document = $3");
                statement::run(&changes.db, &sql, &[&id, &document, &text]).await?;
            }
        }
        Ok(RekeyStep { outdated, next: last.filter(|_| rows.len() == STEP) })
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::super::test_schema::TestSchema;
    use super::super::{PostgresOptions, PostgresStore};
    use crate::testing::fixture::{application, endpoint};
    use crate::{Cluster, DeliveryStore, EncryptionKeys, Error};

    fn keys(numbers: &[u8]) -> EncryptionKeys {
        let lines: Vec<_> = numbers.iter().map(|n| STANDARD.encode([*n; 32])).collect();
        EncryptionKeys::parse(&lines.join("\n")).unwrap()
    }

    async fn open(schema: &TestSchema, keys: EncryptionKeys) -> Result<PostgresStore, Error> {
        PostgresStore::open_with_keys(&schema.address(), PostgresOptions::default(), keys).await
    }

    #[tokio::test]
    async fn a_database_that_gets_a_key_kept_its_secrets_readable() {
        let Some(schema) = TestSchema::new().await else { return };
        let count = 300;
        {
            let store = schema.open().await;
            store.put_application(application(1)).await.unwrap();
            for n in 1..=count {
                store.put_endpoint(endpoint(n, 1)).await.unwrap();
            }
        }
        let expected: Vec<_> = (1..=count).map(|n| endpoint(n, 1)).collect();
        for numbers in [&[1][..], &[1], &[2, 1], &[2]] {
            let store = open(&schema, keys(numbers)).await.unwrap();
            let found = store.endpoints().await.unwrap();
            let found: Vec<_> = found.into_iter().map(|(endpoint, _)| endpoint).collect();
            assert_eq!(found, expected);
            let sealed = format!(
                "DO $$ BEGIN ASSERT (SELECT count(*) FROM endpoint WHERE document LIKE \
                 '%{{\"sealed\":\"{}.%') = {count}; END $$",
                keys(&numbers[..1]).ids().next().unwrap()
            );
            schema.run(&sealed).await;
            let (version, changed) = (store.changes_since(0).await.unwrap().to, endpoint(1, 1));
            store.put_endpoint(changed).await.unwrap();
            assert!(store.changes_since(version).await.unwrap().changes.is_some());
        }
        for wrong in [keys(&[1]), EncryptionKeys::default()] {
            let refused = open(&schema, wrong).await.unwrap_err();
            let told = refused.to_string();
            assert!(
                refused.is_conflict() && told.contains(keys(&[2]).ids().next().unwrap()),
                "{told}"
            );
        }
    }
}
