//! A store that can be made to fail, and that records its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;
use stagger_dispatch::Error;
use stagger_scheduler::model::*;
use stagger_store::*;
use tokio::sync::watch;

/// The calls that went through the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Deliveries as they were settled, in order.
    pub(crate) settled: Vec<Delivery>,
    /// Writes that failed on demand.
    pub(crate) failures: usize,
}

/// Another store, seen through a window.
#[derive(Debug)]
pub(crate) struct Spied {
    inner: Arc<dyn DeliveryStore>,
    fails: AtomicBool,
    full: AtomicBool,
    largest_accept: AtomicUsize,
    log: watch::Sender<Log>,
}

impl Spied {
    pub(crate) fn new(inner: impl DeliveryStore) -> Arc<Self> {
        let (fails, full) = (AtomicBool::new(false), AtomicBool::new(false));
        let (largest_accept, log) = (AtomicUsize::new(0), watch::Sender::default());
        Arc::new(Self { inner: Arc::new(inner), fails, full, largest_accept, log })
    }

    /// From now on writes fail, or work again.
    pub(crate) fn fail(&self, yes: bool) {
        self.fails.store(yes, Ordering::SeqCst);
    }

    /// From now on there is only room for small writes, or room again.
    pub(crate) fn fill(&self, yes: bool) {
        self.full.store(yes, Ordering::SeqCst);
    }

    fn has_room(&self) -> Result<(), Error> {
        let full = self.full.load(Ordering::SeqCst);
        if full { Err(Error::store("database or disk is full")) } else { Ok(()) }
    }

    /// The most messages that were accepted in one call.
    pub(crate) fn largest_accept(&self) -> usize {
        self.largest_accept.load(Ordering::SeqCst)
    }

    pub(crate) async fn until(&self, reached: impl FnMut(&Log) -> bool) -> Log {
        self.log.subscribe().wait_for(reached).await.expect("the log lives").clone()
    }

    /// Waits until this many deliveries were settled in this state.
    pub(crate) async fn until_settled(&self, state: DeliveryState, count: usize) -> Log {
        self.until(|log| log.settled.iter().filter(|d| d.state == state).count() >= count).await
    }

    fn write(&self) -> Result<(), Error> {
        if !self.fails.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.log.send_modify(|log| log.failures += 1);
        Err(Error::store("no space left on device"))
    }
}

#[async_trait]
impl DeliveryStore for Spied {
    async fn begin_run(&self) -> Result<Fence, Error> {
        self.inner.begin_run().await
    }
    async fn put_application(&self, application: Application) -> Result<(), Error> {
        self.write()?;
        self.inner.put_application(application).await
    }
    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        self.write()?;
        self.inner.delete_application(id).await
    }
    async fn applications(&self) -> Result<Vec<Application>, Error> {
        self.inner.applications().await
    }
    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        self.write()?;
        self.inner.put_endpoint(endpoint).await
    }
    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error> {
        self.write()?;
        self.inner.delete_endpoint(id, now).await
    }
    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error> {
        self.inner.endpoints().await
    }
    async fn put_document(&self, document: SettingDocument) -> Result<(), Error> {
        self.write()?;
        self.inner.put_document(document).await
    }
    async fn delete_document(&self, key: DocumentKey) -> Result<(), Error> {
        self.write()?;
        self.inner.delete_document(key).await
    }
    async fn note_document_use(&self, key: DocumentKey, day: u32) -> Result<(), Error> {
        self.write()?;
        self.inner.note_document_use(key, day).await
    }
    async fn documents(&self) -> Result<Vec<SettingDocument>, Error> {
        self.inner.documents().await
    }
    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        self.write()?;
        self.has_room()?;
        self.largest_accept.fetch_max(messages.len(), Ordering::SeqCst);
        self.inner.accept(messages).await
    }
    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error> {
        self.write()?;
        let deliveries: Vec<_> = settlements.iter().filter_map(|s| s.delivery).collect();
        self.inner.settle(fence, settlements).await?;
        self.log.send_modify(|log| log.settled.extend(deliveries));
        Ok(())
    }
    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.inner.open_deliveries(after, limit).await
    }
    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.write()?;
        self.inner.replay(request, now, limit).await
    }
    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error> {
        self.inner.message(id).await
    }
    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error> {
        self.inner.payload(id).await
    }
    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error> {
        self.inner.messages(application, filter, page).await
    }
    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error> {
        self.inner.delivery(message, endpoint).await
    }
    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error> {
        self.inner.deliveries_of(message).await
    }
    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        self.inner.deliveries(application, filter, page).await
    }
    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        self.inner.attempts(message, endpoint).await
    }
    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error> {
        self.inner.counts(endpoint).await
    }
    async fn delete_message(&self, id: MessageId) -> Result<bool, Error> {
        self.inner.delete_message(id).await
    }

    async fn prune(
        &self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Result<Pruned, Error> {
        self.inner.prune(of, before, limit).await
    }
    async fn delete_payload(&self, id: MessageId) -> Result<bool, Error> {
        self.inner.delete_payload(id).await
    }
    async fn record_audit(&self, entry: AuditEntry) -> Result<(), Error> {
        self.write()?;
        self.inner.record_audit(entry).await
    }
    async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error> {
        self.inner.audit(before, limit).await
    }
    async fn check(&self) -> Result<(), Error> {
        self.write()?;
        self.inner.check().await
    }
    async fn check_room(&self) -> Result<(), Error> {
        self.has_room()
    }
}
