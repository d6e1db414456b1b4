//! The contract, kept in a PostgreSQL database.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use deadpool_postgres::GenericClient;
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    Message, MessageId, NewMessage,
};

use super::address::{PostgresAddress, PostgresOptions};
use super::audit::RecordAudit;
use super::cluster::{BeginRun, Notifications};
use super::deliveries::{DeliverMissing, RedeliverMany, ReplayOne};
use super::documents::{DeleteDocument, NoteUse, PutDocument};
use super::intake::Intake;
use super::pool::{PooledClient, PostgresPool};
use super::prune::{DeleteMessage, DeletePayload, Prune};
use super::row::get;
use super::settle::Settle;
use super::statement::DbError;
use super::tenants::{MarkApplication, MarkEndpoint, PutApplication, PutEndpoint};
use super::writer::{MarkCopy, PostgresWriter, SELDOM, SETTLING, Touch};
use super::{
    audit, days, deliveries, documents, lists, lookups, migrations, pool, pooler, prune, rekey,
    statement,
};
use crate::calls::Redelivery;
use crate::encoding::cut_short;
use crate::walk::IdRange;
use crate::{
    Accepted, AuditEntry, Cluster, ClusterAccept, Cursor, DeliveryCounts, DeliveryFilter,
    DeliveryStore, DocumentKey, EncryptionKeys, Error, Fence, ListPage, MessageFilter, PageRequest,
    Pruned, ReplayRequest, SettingDocument, Settlement,
};

/// Keeps everything in a PostgreSQL database, version 14 or later.
///
/// Deleting an application or an endpoint takes effect immediately; its rows are deleted in bounded
/// steps, between which others write, and the answer comes after the last. If the process ends in
/// between, the next opening does the rest.
#[derive(Debug)]
pub struct PostgresStore {
    pub(super) pool: Arc<PostgresPool>,
    pub(super) writer: PostgresWriter,
    pub(super) intake: Intake,
    /// Writes for membership.
    pub(super) membership: PostgresWriter,
    pub(super) notifications: Notifications,
    /// The schema of its tables.
    pub(super) schema: String,
    /// The memberships of this process, as far as it knows.
    memberships: Mutex<BTreeSet<Fence>>,
}

impl PostgresStore {
    /// Opens the store of a database, and makes its tables if it is empty.
    ///
    /// # Errors
    /// The database cannot be reached, is of a later release or, without
    /// [`migrate`](PostgresOptions::migrate), of an earlier one, or a copy into it was cut short. A connection
    /// pooler in transaction mode is before it.
    pub async fn open(address: &PostgresAddress, options: PostgresOptions) -> Result<Self, Error> {
        Self::open_with_keys(address, options, EncryptionKeys::default()).await
    }

    /// The same, with the keys of its secrets. Secrets that are not encrypted with the key that writes are written anew
    /// before this returns, some endpoints at a time. Nodes that are running must have that key already.
    ///
    /// # Errors
    /// As of [`open`](Self::open); and a conflict when a secret is encrypted with a key that is not among these. Nothing
    /// has changed then.
    pub async fn open_with_keys(
        address: &PostgresAddress,
        options: PostgresOptions,
        keys: EncryptionKeys,
    ) -> Result<Self, Error> {
        let pool = Arc::new(PostgresPool::new(address, &options)?);
        let membership = Arc::new(PostgresPool::for_membership(address, &options)?);
        let mut loan = pool.lend().await?;
        let other = membership.lend().await?;
        let own = pool.bounded(pooler::refuse(&loan, &other)).await;
        other.end(own)?;
        let ready = pool.bounded(prepare(&mut loan, options.migrate)).await;
        loan.end(ready)?;
        let writer = PostgresWriter::new(Arc::clone(&pool), keys.clone());
        rekey::rekey(&writer).await?;
        prune::finish_sweeps(&pool, &writer).await?;
        let intake = Intake::start(&writer, options.queue.get());
        let membership = PostgresWriter::new(membership, keys);
        let notifications = Notifications::new(pool::line(address, &options)?);
        let schema = writer.read(async |db| schema(&**db).await).await?;
        let memberships = Mutex::default();
        Ok(Self { pool, writer, intake, membership, notifications, schema, memberships })
    }

    /// Records whether a copy is being written into it; until it is complete, it cannot be opened.
    pub(crate) async fn mark_copy(&self, under_way: bool) -> Result<(), Error> {
        self.writer.write(SELDOM, &MarkCopy(under_way)).await
    }

    /// Creates the partitions of these messages' attempts.
    pub(crate) async fn make_days(&self, messages: &[MessageId]) -> Result<(), Error> {
        let days: BTreeSet<_> = messages.iter().map(|id| days::day_of(*id)).collect();
        let mut loan = self.pool.lend().await?;
        let made = self.pool.bounded(days::make(&mut loan, days)).await;
        Ok(loan.end(made)?)
    }

    pub(super) async fn read<T>(
        &self,
        read: impl AsyncFnOnce(&PooledClient) -> Result<T, DbError>,
    ) -> Result<T, Error> {
        self.writer.read(read).await
    }

    pub(super) fn memberships(&self) -> MutexGuard<'_, BTreeSet<Fence>> {
        // It is whole between any two of its changes.
        self.memberships.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replays or retries many: finds them first, in as many rounds as it takes to find enough whose endpoint
    /// exists.
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
            let loan = self.pool.lend().await?;
            let find = deliveries::find_redeliverable(
                &*loan,
                kind,
                application,
                &filter,
                now,
                after,
                wanted,
            );
            let found = self.pool.bounded(find).await;
            let found = loan.end(found)?;
            let Some(&(message, endpoint)) = found.last() else { break };
            after = Some(Cursor { message: *message.as_uuid(), endpoint: *endpoint.as_uuid() });
            let change = RedeliverMany(kind, &found, now);
            replayed.extend(self.writer.write_surely(SELDOM, &change).await?);
        }
        Ok(replayed)
    }

    /// Creates and drops partitions of attempts.
    async fn turn_days(&self, before: Instant) -> Result<(), Error> {
        let mut loan = self.pool.lend().await?;
        let work = async {
            let slack = lists::read_slack(&*loan).await?;
            let oldest = IdRange::of(slack, Some(before), None).from;
            days::make_ahead(&mut loan).await?;
            days::drop_finished(&mut loan, oldest).await
        };
        let turned = self.pool.bounded(work).await;
        Ok(loan.end(turned)?)
    }
}

/// The schema in which tables are created and found.
async fn schema(db: &impl GenericClient) -> Result<String, DbError> {
    let row = statement::row(db, "SELECT current_schema()::text", &[]).await?;
    Ok(row.map(|row| get(&row, 0)).transpose()?.unwrap_or_default())
}

async fn prepare(loan: &mut PooledClient, migrate: bool) -> Result<(), DbError> {
    migrations::prepare(loan, migrate).await?;
    let sql = "SELECT 1 FROM mark WHERE name = 'copy' AND value <> 0";
    if statement::row(&**loan, sql, &[]).await?.is_some() {
        return Err(cut_short().into());
    }
    days::make_ahead(loan).await
}

#[async_trait]
impl DeliveryStore for PostgresStore {
    async fn begin_run(&self) -> Result<Fence, Error> {
        self.writer.write(SELDOM, &BeginRun).await
    }

    async fn put_application(&self, application: Application) -> Result<(), Error> {
        self.writer.write(SELDOM, &PutApplication(&application)).await
    }

    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        self.writer.write(SELDOM, &MarkApplication(id)).await?;
        prune::sweep_application(&self.writer, id).await
    }

    async fn applications(&self) -> Result<Vec<Application>, Error> {
        self.read(async |db| lookups::applications(&**db, None, self.writer.keys()).await).await
    }

    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.writer.write(SELDOM, &PutEndpoint(&endpoint)).await
    }

    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error> {
        self.writer.write(SELDOM, &MarkEndpoint(id, now)).await?;
        prune::sweep_endpoint(&self.writer, id, now).await
    }

    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error> {
        self.read(async |db| lookups::endpoints(&**db, None, self.writer.keys()).await).await
    }

    async fn put_document(&self, document: SettingDocument) -> Result<(), Error> {
        self.writer.write(SELDOM, &PutDocument(&document)).await
    }

    async fn delete_document(&self, key: DocumentKey) -> Result<(), Error> {
        self.writer.write(SELDOM, &DeleteDocument(&key)).await
    }

    async fn note_document_use(&self, key: DocumentKey, day: u32) -> Result<(), Error> {
        self.writer.write(SELDOM, &NoteUse(&key, day)).await
    }

    async fn documents(&self) -> Result<Vec<SettingDocument>, Error> {
        self.read(async |db| documents::documents(&**db, None).await).await
    }

    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        match self.intake.accept(messages, None).await? {
            ClusterAccept::Stored(accepted) => Ok(accepted),
            // It depends on no settings and on no membership.
            ClusterAccept::Outdated | ClusterAccept::NotLeading => {
                Err(Error::store("the store refused the messages without a reason"))
            }
        }
    }

    async fn accept_within(
        &self,
        caller: &mut tokio_postgres::Transaction<'_>,
        settings_version: u64,
        messages: &[NewMessage],
    ) -> Result<ClusterAccept, Error> {
        self.store_within(caller, settings_version, messages).await
    }

    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error> {
        let settlements = &settlements[..];
        self.writer.write(SETTLING, &Settle { fence, settlements }).await
    }

    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.read(async |db| lookups::open_deliveries(&**db, after, limit).await).await
    }

    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        match request {
            ReplayRequest::One(message, endpoint) => {
                let change = ReplayOne((message, endpoint), now);
                Ok(vec![self.writer.write_surely(SELDOM, &change).await?])
            }
            ReplayRequest::Many(application, filter) => {
                self.redeliver(Redelivery::Replay, (application, filter), now, limit).await
            }
            ReplayRequest::Missing(endpoint, messages) => {
                let change = DeliverMissing(endpoint, &messages, now);
                Ok(self.writer.write_surely(SELDOM, &change).await?)
            }
            ReplayRequest::Waiting(application, filter) => {
                self.redeliver(Redelivery::Retry, (application, filter), now, limit).await
            }
        }
    }

    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error> {
        self.read(async |db| lookups::message(&**db, id).await).await
    }

    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error> {
        self.read(async |db| lookups::payload(&**db, id).await).await
    }

    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error> {
        self.read(async |db| lists::messages(&**db, application, &filter, page).await).await
    }

    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error> {
        self.read(async |db| lookups::delivery(&**db, message, endpoint).await).await
    }

    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error> {
        self.read(async |db| lookups::deliveries_of(&**db, message).await).await
    }

    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        self.read(async |db| lists::deliveries(&**db, application, &filter, page).await).await
    }

    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        self.read(async |db| lookups::attempts(&**db, message, endpoint).await).await
    }

    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error> {
        self.read(async |db| lookups::read_counts(&**db, endpoint).await).await
    }

    async fn prune(
        &self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Result<Pruned, Error> {
        let mut messages = 0;
        while messages < limit {
            let step = Prune { of, before, limit: limit - messages };
            let step = self.writer.write(SELDOM, &step).await?;
            messages += step.deleted;
            if !step.more {
                if of.is_none() {
                    self.turn_days(before).await?;
                }
                break;
            }
        }
        Ok(Pruned { messages })
    }

    async fn delete_message(&self, id: MessageId) -> Result<bool, Error> {
        self.writer.write(SELDOM, &DeleteMessage(id)).await
    }

    async fn delete_payload(&self, id: MessageId) -> Result<bool, Error> {
        self.writer.write(SELDOM, &DeletePayload(id)).await
    }

    async fn record_audit(&self, entry: AuditEntry) -> Result<(), Error> {
        Ok(self.writer.write(SELDOM, &RecordAudit(&entry)).await?)
    }

    async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error> {
        self.read(async |db| audit::entries(&**db, before, limit).await).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.writer.write(SELDOM, &Touch).await
    }

    fn cluster(&self) -> Option<&(dyn Cluster + 'static)> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_schema::ScratchSchema;
    use crate::testing::conformance::suite;

    suite!(match ScratchSchema::new().await {
        Some(store) => store,
        None => return,
    });
}
