//! The contract, kept in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    Message, MessageId, NewMessage,
};

use super::tables::Tables;
use crate::{
    Accepted, AuditEntry, Cursor, DeliveryCounts, DeliveryFilter, DeliveryStore, DocumentKey,
    Error, Fence, ListPage, MessageFilter, PageRequest, Pruned, ReplayRequest, SettingDocument,
    Settlement,
};

/// Keeps everything in memory: for tests and experiments. Its contents end with it.
///
/// ```
/// use stagger_store::{MemoryStore, DeliveryStore};
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
/// # runtime.block_on(async {
/// let store = MemoryStore::default();
/// let (first, second) = (store.begin_run().await?, store.begin_run().await?);
/// assert!(first < second && store.settle(first, Vec::new()).await.is_err());
/// # Ok::<(), stagger_store::Error>(())
/// # }).expect("it cannot fail");
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

impl MemoryStore {
    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        // No method of the tables leaves them half-changed, so a poisoned lock holds whole ones.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl DeliveryStore for MemoryStore {
    async fn begin_run(&self) -> Result<Fence, Error> {
        Ok(self.tables().begin_run())
    }

    async fn put_application(&self, application: Application) -> Result<(), Error> {
        self.tables().put_application(application);
        Ok(())
    }

    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        self.tables().delete_application(id);
        Ok(())
    }

    async fn applications(&self) -> Result<Vec<Application>, Error> {
        Ok(self.tables().applications())
    }

    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.tables().put_endpoint(endpoint)
    }

    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error> {
        self.tables().delete_endpoint(id, now);
        Ok(())
    }

    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error> {
        Ok(self.tables().endpoints())
    }

    async fn put_document(&self, document: SettingDocument) -> Result<(), Error> {
        self.tables().put_document(document);
        Ok(())
    }

    async fn delete_document(&self, key: DocumentKey) -> Result<(), Error> {
        self.tables().documents.remove(&key);
        Ok(())
    }

    async fn note_document_use(&self, key: DocumentKey, day: u32) -> Result<(), Error> {
        self.tables().note_use(&key, day);
        Ok(())
    }

    async fn documents(&self) -> Result<Vec<SettingDocument>, Error> {
        Ok(self.tables().documents.values().cloned().collect())
    }

    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        self.tables().accept(messages)
    }

    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error> {
        self.tables().settle(fence, settlements)
    }

    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        Ok(self.tables().open_deliveries(after, limit))
    }

    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.tables().replay(request, now, limit)
    }

    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error> {
        Ok(self.tables().message(id))
    }

    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error> {
        Ok(self.tables().payload(id))
    }

    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error> {
        Ok(self.tables().messages(application, &filter, page))
    }

    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error> {
        Ok(self.tables().delivery(message, endpoint))
    }

    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error> {
        Ok(self.tables().deliveries_of(message))
    }

    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        Ok(self.tables().deliveries(application, &filter, page))
    }

    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        Ok(self.tables().attempts(message, endpoint))
    }

    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error> {
        Ok(self.tables().counts(endpoint))
    }

    async fn prune(
        &self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Result<Pruned, Error> {
        Ok(self.tables().prune(of, before, limit))
    }

    async fn delete_message(&self, id: MessageId) -> Result<bool, Error> {
        self.tables().delete_finished(id)
    }

    async fn delete_payload(&self, id: MessageId) -> Result<bool, Error> {
        self.tables().delete_payload(id)
    }

    async fn record_audit(&self, entry: AuditEntry) -> Result<(), Error> {
        self.tables().record_audit(entry);
        Ok(())
    }

    async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error> {
        let tables = self.tables();
        let older = |entry: &&AuditEntry| before.is_none_or(|before| entry.number < before);
        Ok(tables.audit.iter().rev().filter(older).take(limit).cloned().collect())
    }

    async fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conformance::suite;

    suite!(Box::new(MemoryStore::default()));
}
