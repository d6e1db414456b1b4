//! The contract, kept in memory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;

use super::notifications::Notifications;
use super::store_link::{Doubt, LinkFault, StoreLink};
use super::tables::Tables;
use crate::Error;
use crate::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    Message, MessageId, NewMessage,
};
use crate::store::{
    Accepted, Cluster, Cursor, DeliveryCounts, DeliveryFilter, DeliveryStore, Fence, ListPage,
    MessageFilter, PageRequest, Pruned, ReplayRequest, Settlement, Shards,
};

/// Keeps everything in memory: for tests and experiments. Its contents end with it.
///
/// ```
/// use stagger_dispatch::store::{MemoryStore, DeliveryStore};
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
/// # runtime.block_on(async {
/// let store = MemoryStore::default();
/// let (first, second) = (store.begin_run().await?, store.begin_run().await?);
/// assert!(first < second && store.settle(first, Vec::new()).await.is_err());
/// # Ok::<(), stagger_dispatch::Error>(())
/// # }).expect("it cannot fail");
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
    pub(super) notifications: Arc<Notifications>,
    pub(super) line: Arc<StoreLink>,
    /// The memberships of this handle's node.
    pub(super) fences: Mutex<BTreeSet<Fence>>,
}

impl MemoryStore {
    /// A store that several nodes of one process can share: each has a [`handle`](Self::handle).
    ///
    /// ```
    /// use stagger_dispatch::store::{MemoryStore, DeliveryStore};
    /// let store = MemoryStore::shared();
    /// assert!(store.cluster().is_some() && store.handle().cluster().is_some());
    /// assert!(MemoryStore::default().cluster().is_none());
    /// ```
    #[must_use]
    pub fn shared() -> Self {
        Self { tables: Arc::new(Mutex::new(Tables::shared())), ..Self::default() }
    }

    /// The same store for another node, which is cut off from it alone.
    #[must_use]
    pub fn handle(&self) -> Self {
        let (tables, notifications) = (Arc::clone(&self.tables), Arc::clone(&self.notifications));
        Self { tables, notifications, ..Self::default() }
    }

    /// Cuts the node of this handle off; it receives no notifications either.
    pub fn cut(&self, how: LinkFault) {
        self.line.set(Some(how));
    }

    /// Ends a cut.
    pub fn mend(&self) {
        self.line.set(None);
    }

    /// Loses the hints of all nodes from now on, or no longer.
    pub fn lose_notifications(&self, lost: bool) {
        self.notifications.lose(lost);
    }

    /// A call that fails if it is unknown whether it took effect.
    pub(super) async fn call<T>(
        &self,
        work: impl FnOnce(&mut Tables) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        self.line.call(Doubt::Fails, || work(&mut self.tables())).await
    }

    /// A call that answers once it is known whether it took effect.
    pub(super) async fn call_to_the_end<T: Send>(
        &self,
        work: impl FnOnce(&mut Tables) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        self.line.call(Doubt::Waits, || work(&mut self.tables())).await
    }

    pub(super) fn fences(&self) -> MutexGuard<'_, BTreeSet<Fence>> {
        self.fences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        // No method of the tables leaves them half-changed, so a poisoned lock holds whole ones.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl DeliveryStore for MemoryStore {
    async fn begin_run(&self) -> Result<Fence, Error> {
        self.call(|tables| Ok(tables.members.begin_run())).await
    }

    async fn put_application(&self, application: Application) -> Result<(), Error> {
        self.call(|tables| {
            tables.put_application(application);
            Ok(())
        })
        .await
    }

    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        self.call(|tables| {
            tables.delete_application(id);
            Ok(())
        })
        .await
    }

    async fn applications(&self) -> Result<Vec<Application>, Error> {
        self.call(|tables| Ok(tables.applications())).await
    }

    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.call(|tables| tables.put_endpoint(endpoint)).await
    }

    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error> {
        self.call(|tables| {
            tables.delete_endpoint(id, now);
            Ok(())
        })
        .await
    }

    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error> {
        self.call(|tables| Ok(tables.endpoints())).await
    }

    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        self.call_to_the_end(|tables| tables.accept(messages, Shards::NONE)).await
    }

    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error> {
        self.call(|tables| tables.settle(fence, settlements)).await
    }

    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.call(|tables| Ok(tables.open_deliveries(after, limit))).await
    }

    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.call_to_the_end(|tables| tables.replay(request, now, limit)).await
    }

    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error> {
        self.call(|tables| Ok(tables.message(id))).await
    }

    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error> {
        self.call(|tables| Ok(tables.payload(id))).await
    }

    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error> {
        self.call(|tables| Ok(tables.messages(application, &filter, page))).await
    }

    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error> {
        self.call(|tables| Ok(tables.delivery(message, endpoint))).await
    }

    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error> {
        self.call(|tables| Ok(tables.deliveries_of(message))).await
    }

    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        self.call(|tables| Ok(tables.deliveries(application, &filter, page))).await
    }

    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        self.call(|tables| Ok(tables.attempts(message, endpoint))).await
    }

    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error> {
        self.call(|tables| Ok(tables.counts(endpoint))).await
    }

    async fn prune(&self, before: Instant, limit: usize) -> Result<Pruned, Error> {
        self.call(|tables| Ok(tables.prune(before, limit))).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.call(|_| Ok(())).await
    }

    fn cluster(&self) -> Option<&(dyn Cluster + 'static)> {
        self.tables().shared.then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::conformance::suite;

    suite!(Box::new(MemoryStore::default()));

    mod shared {
        use super::*;

        suite!(Box::new(MemoryStore::shared()));
    }
}
