//! ChangeLog: which settings have changed, so that nodes need not read them all again.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use stagger_scheduler::model::{ApplicationId, EndpointId};
use uuid::Uuid;

use super::super::pool::PooledClient;
use super::super::row::get;
use super::super::statement::DbError;
use super::super::writer::Changes;
use super::super::{documents, lookups, statement};
use crate::setting_document::DocumentKind;
use crate::{ChangeLog, DocumentKey, EncryptionKeys, Error, SettingChange};

/// Changes that are kept: a node that has missed more reads all settings anew, which is hardly
/// slower then.
const KEPT: i64 = 4096;

/// A changed setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Changed {
    Application(ApplicationId),
    Endpoint(EndpointId),
}

impl Changes<'_> {
    /// Records a change at the end of its transaction. A later change waits here until this one is
    /// committed, so that numbers become visible in their order.
    pub(in super::super) async fn tell(&self, changed: Changed) -> Result<(), DbError> {
        let number = self.next_version().await?;
        let (kind, id) = match &changed {
            Changed::Application(id) => (0_i16, id.as_uuid()),
            Changed::Endpoint(id) => (1, id.as_uuid()),
        };
        let sql = "INSERT INTO news (number, kind, id) VALUES ($1, $2, $3)";
        statement::run(&self.db, sql, &[&number, &kind, id]).await?;
        self.forget_changes(number).await
    }

    /// Records a change of a document, likewise.
    pub(in super::super) async fn tell_document(&self, key: &DocumentKey) -> Result<(), DbError> {
        let number = self.next_version().await?;
        let sql = "INSERT INTO document_news (number, kind, id) VALUES ($1, $2, $3)";
        statement::run(&self.db, sql, &[&number, &key.kind.name(), &key.id]).await?;
        self.forget_changes(number).await
    }

    async fn next_version(&self) -> Result<i64, DbError> {
        let sql = "UPDATE mark SET value = value + 1 WHERE name = 'news' RETURNING value";
        let row = statement::row(&self.db, sql, &[]).await?;
        Ok(row.map(|row| get::<i64>(&row, 0)).transpose()?.unwrap_or_default())
    }

    async fn forget_changes(&self, last: i64) -> Result<(), DbError> {
        for sql in
            ["DELETE FROM news WHERE number <= $1", "DELETE FROM document_news WHERE number <= $1"]
        {
            statement::run(&self.db, sql, &[&(last - KEPT)]).await?;
        }
        Ok(())
    }

    /// The number of the last change.
    pub(in super::super) async fn last_settings_version(&self) -> Result<u64, DbError> {
        last(&self.db).await
    }
}

/// The settings that changed after `after`, as they are now.
pub(in super::super) async fn since(
    loan: &mut PooledClient,
    after: u64,
    keys: &EncryptionKeys,
) -> Result<ChangeLog, DbError> {
    let moment = loan
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let to = last(&moment).await?;
    let changes = match numbers(&moment, after, to).await? {
        Some((changed, documents)) => {
            let mut changes = resolve(&moment, &changed, keys).await?;
            changes.extend(resolve_documents(&moment, documents).await?);
            Some(changes)
        }
        None => None,
    };
    moment.commit().await?;
    Ok(ChangeLog { to, changes })
}

async fn last(db: &impl deadpool_postgres::GenericClient) -> Result<u64, DbError> {
    let row = statement::row(db, "SELECT value FROM mark WHERE name = 'news'", &[]).await?;
    let value = row.map(|row| get::<i64>(&row, 0)).transpose()?;
    Ok(value.unwrap_or_default().cast_unsigned())
}

/// The changes after `after` and up to `to`, each once, in the order of their first change; `None`
/// if not all of them are kept.
async fn numbers(
    moment: &Transaction<'_>,
    after: u64,
    to: u64,
) -> Result<Option<(Vec<Changed>, BTreeSet<DocumentKey>)>, DbError> {
    let Some(missing) = to.checked_sub(after) else { return Ok(None) };
    let sql = "SELECT kind, id FROM news WHERE number > $1 ORDER BY number";
    let rows = statement::rows(moment, sql, &[&after.cast_signed()]).await?;
    let sql = "SELECT kind, id FROM document_news WHERE number > $1";
    let of_documents = statement::rows(moment, sql, &[&after.cast_signed()]).await?;
    if (rows.len() + of_documents.len()) as u64 != missing {
        return Ok(None);
    }
    let mut changed = Vec::new();
    let mut seen = BTreeSet::new();
    for row in &rows {
        let (kind, id) = (get::<i16>(row, 0)?, get::<Uuid>(row, 1)?);
        if seen.insert((kind, id)) {
            changed.push(match kind {
                0 => Changed::Application(ApplicationId::from_uuid(id)),
                1 => Changed::Endpoint(EndpointId::from_uuid(id)),
                _ => {
                    return Err(
                        Error::store(format!("unknown kind of setting change {kind}")).into()
                    );
                }
            });
        }
    }
    let mut documents = BTreeSet::new();
    for row in &of_documents {
        // A later release has kinds that this one leaves alone.
        if let Some(kind) = DocumentKind::named(get(row, 0)?) {
            documents.insert(DocumentKey::new(kind, get::<String>(row, 1)?));
        }
    }
    Ok(Some((changed, documents)))
}

async fn resolve_documents(
    moment: &Transaction<'_>,
    changed: BTreeSet<DocumentKey>,
) -> Result<Vec<SettingChange>, DbError> {
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let changed: Vec<_> = changed.into_iter().collect();
    let there = documents::documents(moment, Some(&changed)).await?;
    let mut there: BTreeMap<_, _> = there.into_iter().map(|it| (it.key, it.text)).collect();
    let now = changed.into_iter().map(|key| {
        let text = there.remove(&key);
        SettingChange::Document(key, text)
    });
    Ok(now.collect())
}

async fn resolve(
    moment: &Transaction<'_>,
    changed: &[Changed],
    keys: &EncryptionKeys,
) -> Result<Vec<SettingChange>, DbError> {
    let (mut applications, mut endpoints) = (Vec::new(), Vec::new());
    for change in changed {
        match change {
            Changed::Application(id) => applications.push(*id.as_uuid()),
            Changed::Endpoint(id) => endpoints.push(*id.as_uuid()),
        }
    }
    let (applications, endpoints) = tokio::try_join!(
        biased;
        lookups::applications(moment, Some(&applications), keys),
        lookups::endpoints(moment, Some(&endpoints), keys),
    )?;
    let mut applications: BTreeMap<_, _> = applications.into_iter().map(|it| (it.id, it)).collect();
    let mut endpoints: BTreeMap<_, _> = endpoints.into_iter().map(|it| (it.0.id, it)).collect();
    let resolved = changed.iter().map(|change| match *change {
        Changed::Application(id) => SettingChange::Application(id, applications.remove(&id)),
        Changed::Endpoint(id) => SettingChange::Endpoint(id, endpoints.remove(&id)),
    });
    Ok(resolved.collect())
}
