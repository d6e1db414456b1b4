//! The contract, kept in one SQLite file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rusqlite::Connection;
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, DeliveryId, Endpoint, EndpointId,
    EndpointState, Message, MessageId, NewMessage,
};

use super::checkpointer::Checkpointer;
use super::file::{FolderLock, Readers, SqliteOptions};
use super::row::{DbError, failed};
use super::writer::{Changes, SqliteWriter};
use super::{audit, documents, file, lists, lookups, prune, rekey, settle, tenants};
use crate::calls::Redelivery;
use crate::encoding::cut_short;
use crate::{
    Accepted, AuditEntry, Cursor, DeliveryCounts, DeliveryFilter, DeliveryStore, DocumentKey,
    EncryptionKeys, Error, Fence, ListPage, MessageFilter, PageRequest, Pruned, ReplayRequest,
    SettingDocument, Settlement,
};

/// Keeps everything in one SQLite file, `stagger.db` in a data folder.
///
/// Deleting an application or an endpoint takes effect immediately; its rows are deleted in bounded
/// steps, between which others write, and the answer comes after the last. If the process ends in
/// between, the next opening does the rest.
///
/// ```
/// use stagger_store::{SqliteOptions, SqliteStore, DeliveryStore};
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
/// # runtime.block_on(async {
/// # let folder = std::env::temp_dir().join(format!("stagger-doc-{}", std::process::id()));
/// let store = SqliteStore::open(&folder, SqliteOptions::default())?;
/// assert!(SqliteStore::open(&folder, SqliteOptions::default()).is_err_and(|e| e.is_conflict()));
/// store.check().await?;
/// # drop(store);
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), stagger_store::Error>(())
/// # }).expect("it cannot fail");
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    // Dropped before the writer, whose connection then is the last one: only it can bring the log into the
    // file.
    readers: Arc<Readers>,
    writer: SqliteWriter,
    keys: EncryptionKeys,
}

impl SqliteStore {
    /// Opens the store in `folder`, and creates both if they are missing. Migrates one of an
    /// earlier release to this version.
    ///
    /// # Errors
    /// A conflict when another dispatcher uses the folder, or when secrets in it are encrypted. The file is not one
    /// of ours, is of a later release, or cannot be read or written.
    pub fn open(folder: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, Error> {
        Self::open_with_keys(folder, options, EncryptionKeys::default())
    }

    /// The same, with the keys of its secrets. Secrets that are not encrypted with the key that writes are written anew
    /// before this returns, some endpoints at a time.
    ///
    /// # Errors
    /// As of [`open`](Self::open); and a conflict when a secret is encrypted with a key that is not among these. Nothing
    /// has changed then.
    pub fn open_with_keys(
        folder: impl AsRef<Path>,
        options: SqliteOptions,
        keys: EncryptionKeys,
    ) -> Result<Self, Error> {
        let folder = folder.as_ref();
        file::make_folder(folder)?;
        let lock = FolderLock::take(folder)?;
        let file = file::path_in(folder);
        let db = file::open(&file, options.lock_wait)?;
        refuse_half_a_copy(&db)?;
        rekey::rekey(&db, &keys)?;
        prune::finish_sweeps(&db)?;
        let checkpointer = Checkpointer::start(&file, options.lock_wait)?;
        let writer = SqliteWriter::start(db, checkpointer, lock, &options, keys.clone())?;
        let readers = Readers::new(file.clone(), options.readers.get(), options.lock_wait);
        Ok(Self { file, writer, readers: Arc::new(readers), keys })
    }

    /// Brings the store in `folder` to this version. No key is needed.
    ///
    /// # Errors
    /// As of [`open`](Self::open), except for encrypted secrets.
    pub(crate) fn migrate(folder: &Path) -> Result<(), Error> {
        file::make_folder(folder)?;
        let _lock = FolderLock::take(folder)?;
        let db = file::open(&file::path_in(folder), SqliteOptions::default().lock_wait)?;
        refuse_half_a_copy(&db)
    }

    /// Its file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Records whether a copy is being written into it; until it is complete, it cannot be opened.
    pub(crate) async fn mark_copy(&self, under_way: bool) -> Result<(), Error> {
        let sql = "INSERT INTO mark VALUES ('copy', ?1) ON CONFLICT DO UPDATE SET value = ?1";
        self.write(move |changes| {
            changes.db.execute(sql, [i64::from(under_way)])?;
            Ok(())
        })
        .await
    }

    async fn write<T: Send + 'static>(
        &self,
        change: impl Fn(&mut Changes<'_>) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, Error> {
        self.writer.write(None, ROW, change).await
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.readers.read(read).await
    }

    /// Replays or retries many: a reader finds them, in as many rounds as it takes to find enough whose
    /// endpoint exists.
    async fn redeliver(
        &self,
        kind: Redelivery,
        (application, filter): (ApplicationId, DeliveryFilter),
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let (mut replayed, mut after) = (Vec::new(), None);
        while replayed.len() < limit {
            let wanted = limit - replayed.len();
            let filter = filter.clone();
            let find = move |db: &Connection| {
                settle::find_redeliverable(db, kind, application, &filter, now, after, wanted)
            };
            let found = self.read(find).await?;
            let Some(&(message, endpoint)) = found.last() else { break };
            after = Some(Cursor { message: *message.as_uuid(), endpoint: *endpoint.as_uuid() });
            let bytes = found.len() * ROW;
            let replay = move |changes: &mut Changes<'_>| changes.redeliver(kind, &found, now);
            replayed.extend(self.writer.write(Some(application), bytes, replay).await?);
        }
        Ok(replayed)
    }
}

fn refuse_half_a_copy(db: &Connection) -> Result<(), Error> {
    let sql = "SELECT 1 FROM mark WHERE name = 'copy' AND value <> 0";
    let half = db.prepare(sql).and_then(|mut find| find.exists([]));
    if half.map_err(|error| failed(&error))? { Err(cut_short()) } else { Ok(()) }
}

/// The approximate size of one row in the writer's queue, in bytes.
const ROW: usize = 512;

/// The approximate size of a settlement there: the delivery, and the attempt with its reply.
fn weight(settlement: &Settlement) -> usize {
    let attempt = settlement.attempt.as_ref().map_or(0, |attempt| ROW + attempt.reply.len());
    let message = |new: &NewMessage| new.payload.len() + ROW * (1 + new.endpoints.len());
    ROW + attempt + settlement.operational.iter().map(message).sum::<usize>()
}

#[async_trait]
impl DeliveryStore for SqliteStore {
    async fn begin_run(&self) -> Result<Fence, Error> {
        self.write(|changes| changes.begin_run()).await
    }

    async fn put_application(&self, application: Application) -> Result<(), Error> {
        self.write(move |changes| changes.put_application(&application)).await
    }

    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        self.write(move |changes| changes.mark_application(id)).await?;
        while !self.write(move |changes| changes.sweep_application(id)).await? {}
        Ok(())
    }

    async fn applications(&self) -> Result<Vec<Application>, Error> {
        let keys = self.keys.clone();
        self.read(move |db| tenants::applications(db, &keys)).await
    }

    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.write(move |changes| changes.put_endpoint(&endpoint)).await
    }

    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error> {
        self.write(move |changes| changes.mark_endpoint(id, now)).await?;
        let mut after = None;
        loop {
            let sweep = move |changes: &mut Changes<'_>| changes.sweep_endpoint(id, now, after);
            after = self.write(sweep).await?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error> {
        let keys = self.keys.clone();
        self.read(move |db| tenants::endpoints(db, &keys)).await
    }

    async fn put_document(&self, document: SettingDocument) -> Result<(), Error> {
        let bytes = ROW + document.text.len();
        self.writer.write(None, bytes, move |changes| changes.put_document(&document)).await
    }

    async fn delete_document(&self, key: DocumentKey) -> Result<(), Error> {
        self.write(move |changes| changes.delete_document(&key)).await
    }

    async fn note_document_use(&self, key: DocumentKey, day: u32) -> Result<(), Error> {
        self.write(move |changes| changes.note_use(&key, day)).await
    }

    async fn documents(&self) -> Result<Vec<SettingDocument>, Error> {
        self.read(documents::documents).await
    }

    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        let bytes =
            messages.iter().map(|new| new.payload.len() + ROW * (1 + new.endpoints.len())).sum();
        let owner = messages.first().map(|new| new.message.application);
        self.writer.write(owner, bytes, move |changes| changes.accept(&messages)).await
    }

    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error> {
        let bytes = settlements.iter().map(weight).sum();
        self.writer.write(None, bytes, move |changes| changes.settle(fence, &settlements)).await
    }

    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.read(move |db| lookups::open_deliveries(db, after, limit)).await
    }

    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        match request {
            ReplayRequest::One(message, endpoint) => {
                let name: DeliveryId = (message, endpoint);
                self.write(move |changes| Ok(vec![changes.replay_one(name, now)?])).await
            }
            ReplayRequest::Many(application, filter) => {
                self.redeliver(Redelivery::Replay, (application, filter), now, limit).await
            }
            ReplayRequest::Missing(endpoint, messages) => {
                self.write(move |changes| changes.deliver_missing(endpoint, &messages, now)).await
            }
            ReplayRequest::Waiting(application, filter) => {
                self.redeliver(Redelivery::Retry, (application, filter), now, limit).await
            }
        }
    }

    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error> {
        self.read(move |db| lookups::message(db, id)).await
    }

    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error> {
        self.read(move |db| lookups::payload(db, id)).await
    }

    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error> {
        self.read(move |db| lists::messages(db, application, &filter, page)).await
    }

    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error> {
        self.read(move |db| lookups::delivery(db, message, endpoint)).await
    }

    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error> {
        self.read(move |db| lookups::deliveries_of(db, message)).await
    }

    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        self.read(move |db| lists::deliveries(db, application, &filter, page)).await
    }

    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        self.read(move |db| lookups::attempts(db, message, endpoint)).await
    }

    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error> {
        self.read(move |db| lookups::read_counts(db, endpoint)).await
    }

    async fn prune(
        &self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Result<Pruned, Error> {
        let (mut messages, mut from) = (0, None);
        while messages < limit {
            let left = limit - messages;
            let step = self.write(move |changes| changes.prune((of, before), from, left)).await?;
            (messages, from) = (messages + step.deleted, step.next);
            if from.is_none() {
                break;
            }
        }
        Ok(Pruned { messages })
    }

    async fn delete_message(&self, id: MessageId) -> Result<bool, Error> {
        self.write(move |changes| changes.delete_finished(id)).await
    }

    async fn delete_payload(&self, id: MessageId) -> Result<bool, Error> {
        self.write(move |changes| changes.delete_payload(id)).await
    }

    async fn record_audit(&self, entry: AuditEntry) -> Result<(), Error> {
        self.write(move |changes| changes.record_audit(&entry)).await
    }

    async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error> {
        self.read(move |db| audit::entries(db, before, limit)).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.write(|changes| changes.touch()).await
    }

    async fn check_room(&self) -> Result<(), Error> {
        self.write(|changes| changes.fill_room()).await?;
        self.write(|changes| changes.clear_room()).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.readers.checkpoint().await
    }
}

#[cfg(test)]
impl SqliteStore {
    /// Writes a change of a test's own.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: impl Fn(&mut Changes<'_>) -> Result<T, DbError> + Send + 'static,
    ) -> Result<T, Error> {
        self.write(change).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_folder::ScratchFolder;
    use crate::testing::conformance::suite;

    suite!(ScratchFolder::new());
}
