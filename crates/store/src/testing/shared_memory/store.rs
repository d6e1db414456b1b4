//! The contract of a store, kept in memory for several nodes: rows, and what nodes tell each other of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    Message, MessageId, NewMessage,
};

use super::change_log::{ArrivalTable, Changed, Commands, RecentChanges};
use super::members::{Members, Notifications};
use crate::calls::run_ended;
use crate::memory::Tables;
use crate::{
    Accepted, AuditEntry, Cluster, Cursor, DeliveryCounts, DeliveryFilter, DeliveryStore,
    DocumentKey, Error, Fence, ListPage, MemoryStore, MessageFilter, PageRequest, Pruned,
    ReplayRequest, SettingDocument, Settlement, ShardId, Shards,
};

/// A store in memory for several nodes of one process: each has a [`handle`](Self::handle).
#[derive(Debug, Default)]
pub(crate) struct SharedMemoryStore {
    rows: Arc<MemoryStore>,
    state: Arc<Mutex<SharedState>>,
    pub(super) notifications: Arc<Notifications>,
    /// The memberships of this handle's node.
    fences: Mutex<BTreeSet<Fence>>,
}

/// The rows that exist because several nodes share the store.
#[derive(Debug, Default)]
pub(super) struct SharedState {
    pub(super) members: Members,
    pub(super) arrivals: ArrivalTable,
    pub(super) change_log: RecentChanges,
    pub(super) commands: Commands,
}

impl SharedMemoryStore {
    /// The same store for another node, with memberships of its own.
    pub(crate) fn handle(&self) -> Self {
        Self {
            rows: Arc::clone(&self.rows),
            state: Arc::clone(&self.state),
            notifications: Arc::clone(&self.notifications),
            fences: Mutex::default(),
        }
    }

    pub(super) fn fences(&self) -> MutexGuard<'_, BTreeSet<Fence>> {
        self.fences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state that nodes share, to be locked before the rows.
    pub(super) fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.rows.tables()
    }
}

impl SharedState {
    /// Takes messages; their deliveries outside of `led` arrive.
    pub(super) fn accept(
        &mut self,
        tables: &mut Tables,
        messages: Vec<NewMessage>,
        led: Shards,
    ) -> Result<Vec<Accepted>, Error> {
        let endpoints: Vec<_> = messages.iter().map(|new| new.endpoints.clone()).collect();
        let accepted = tables.accept(messages)?;
        for (one, endpoints) in accepted.iter().zip(endpoints) {
            if !one.repeated {
                self.arrive_all(tables, one.id, &endpoints, led);
            }
        }
        Ok(accepted)
    }

    fn settle_one(&mut self, tables: &mut Tables, settlement: Settlement) {
        let new = settlement.operational.iter().map(|new| (new.message.id, new.endpoints.clone()));
        let new: Vec<_> = new.filter(|(id, _)| !tables.messages.contains_key(id)).collect();
        tables.settle_one(settlement);
        for (id, endpoints) in new {
            self.arrive_all(tables, id, &endpoints, Shards::NONE);
        }
    }

    fn arrive_all(
        &mut self,
        tables: &Tables,
        message: MessageId,
        endpoints: &[EndpointId],
        led: Shards,
    ) {
        let deliveries =
            endpoints.iter().filter_map(|endpoint| tables.delivery(message, *endpoint));
        deliveries.for_each(|delivery| self.arrive(&delivery, led));
    }

    /// Adds an arrival for the leader of the endpoint, unless its shard is in `led`.
    fn arrive(&mut self, delivery: &Delivery, led: Shards) {
        if delivery.state.is_open() && !led.contains(ShardId::of(delivery.endpoint)) {
            self.arrivals.add(delivery);
        }
    }

    /// Removes what is about deleted rows.
    fn forget_deleted(&mut self, tables: &Tables) {
        self.commands.keep(|endpoint| tables.endpoints.contains_key(&endpoint));
        self.arrivals.keep(|name| tables.deliveries.contains_key(&name));
    }
}

#[async_trait]
impl DeliveryStore for SharedMemoryStore {
    async fn begin_run(&self) -> Result<Fence, Error> {
        Ok(self.state().members.begin_run())
    }

    async fn put_application(&self, application: Application) -> Result<(), Error> {
        let mut state = self.state();
        state.change_log.add(Changed::Application(application.id));
        self.tables().put_application(application);
        Ok(())
    }

    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        let (mut state, mut tables) = (self.state(), self.tables());
        if tables.delete_application(id) {
            state.change_log.add(Changed::Application(id));
        }
        state.forget_deleted(&tables);
        Ok(())
    }

    async fn applications(&self) -> Result<Vec<Application>, Error> {
        self.rows.applications().await
    }

    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        let mut state = self.state();
        let id = endpoint.id;
        self.tables().put_endpoint(endpoint)?;
        state.change_log.add(Changed::Endpoint(id));
        Ok(())
    }

    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error> {
        let (mut state, mut tables) = (self.state(), self.tables());
        if tables.delete_endpoint(id, now) {
            state.change_log.add(Changed::Endpoint(id));
        }
        state.forget_deleted(&tables);
        Ok(())
    }

    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error> {
        self.rows.endpoints().await
    }

    async fn put_document(&self, document: SettingDocument) -> Result<(), Error> {
        let mut state = self.state();
        state.change_log.add(Changed::Document(document.key.clone()));
        self.tables().put_document(document);
        Ok(())
    }

    async fn delete_document(&self, key: DocumentKey) -> Result<(), Error> {
        let mut state = self.state();
        if self.tables().documents.remove(&key).is_some() {
            state.change_log.add(Changed::Document(key));
        }
        Ok(())
    }

    async fn note_document_use(&self, key: DocumentKey, day: u32) -> Result<(), Error> {
        self.rows.note_document_use(key, day).await
    }

    async fn documents(&self) -> Result<Vec<SettingDocument>, Error> {
        self.rows.documents().await
    }

    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        self.state().accept(&mut self.tables(), messages, Shards::NONE)
    }

    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error> {
        let mut state = self.state();
        if !state.members.is_valid(fence) {
            return Err(run_ended(fence));
        }
        let mut tables = self.tables();
        settlements.into_iter().for_each(|one| state.settle_one(&mut tables, one));
        Ok(())
    }

    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.rows.open_deliveries(after, limit).await
    }

    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let mut state = self.state();
        let replayed = self.tables().replay(request, now, limit)?;
        replayed.iter().for_each(|delivery| state.arrive(delivery, Shards::NONE));
        Ok(replayed)
    }

    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error> {
        self.rows.message(id).await
    }

    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error> {
        self.rows.payload(id).await
    }

    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error> {
        self.rows.messages(application, filter, page).await
    }

    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error> {
        self.rows.delivery(message, endpoint).await
    }

    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error> {
        self.rows.deliveries_of(message).await
    }

    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        self.rows.deliveries(application, filter, page).await
    }

    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        self.rows.attempts(message, endpoint).await
    }

    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error> {
        self.rows.counts(endpoint).await
    }

    async fn prune(
        &self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Result<Pruned, Error> {
        let (mut state, mut tables) = (self.state(), self.tables());
        let pruned = tables.prune(of, before, limit);
        state.forget_deleted(&tables);
        Ok(pruned)
    }

    async fn delete_message(&self, id: MessageId) -> Result<bool, Error> {
        let (mut state, mut tables) = (self.state(), self.tables());
        let deleted = tables.delete_finished(id);
        state.forget_deleted(&tables);
        deleted
    }

    async fn delete_payload(&self, id: MessageId) -> Result<bool, Error> {
        self.tables().delete_payload(id)
    }

    async fn record_audit(&self, entry: AuditEntry) -> Result<(), Error> {
        self.rows.record_audit(entry).await
    }

    async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error> {
        self.rows.audit(before, limit).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.rows.check().await
    }

    fn cluster(&self) -> Option<&(dyn Cluster + 'static)> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conformance::suite;

    suite!(Box::new(SharedMemoryStore::default()));

    #[test]
    fn only_a_shared_store_is_a_cluster() {
        let store = SharedMemoryStore::default();
        assert!(store.cluster().is_some() && store.handle().cluster().is_some());
        assert!(MemoryStore::default().cluster().is_none());
    }
}
