//! A store in memory that several nodes share, each over a link of its own that a test can cut.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    Message, MessageId, NewMessage,
};
use tokio::sync::{mpsc, watch};

use super::shared_memory::SharedMemoryStore;
use crate::{
    Accepted, Arrival, AuditEntry, ChangeLog, Cluster, ClusterAccept, ClusterView, Cursor,
    DeliveryCounts, DeliveryFilter, DeliveryStore, DocumentKey, EndpointCommand, Error, Fence,
    Joined, Lead, ListPage, MessageFilter, NodeIdentity, Notification, PageRequest, Pruned,
    ReplayRequest, SettingDocument, SettingWrite, Settlement, Shards,
};

/// The store of one node, over a link that can have a fault.
#[derive(Debug)]
pub struct FaultyStore {
    store: SharedMemoryStore,
    link: Arc<StoreLink>,
}

impl FaultyStore {
    /// A new store that several nodes can share: each has a [`handle`](Self::handle).
    #[must_use]
    pub fn shared() -> Self {
        Self { store: SharedMemoryStore::default(), link: Arc::default() }
    }

    /// The same store for another node, which is cut off from it alone.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self { store: self.store.handle(), link: Arc::default() }
    }

    /// Cuts the node of this handle off; it receives no notifications either.
    pub fn cut(&self, how: LinkFault) {
        self.link.cut.send_replace(Some(how));
    }

    /// Ends a cut.
    pub fn mend(&self) {
        self.link.cut.send_replace(None);
    }
}

/// A fault in the link between a node and a store that it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// Calls fail immediately, and change nothing.
    Refused,
    /// Calls do nothing until the line is whole again, and are made then.
    Silent,
    /// Calls take effect, but their answers are lost. The node does not know then whether they did.
    /// Calls that have to know answer once the link is restored; all others fail.
    Unanswered,
    /// Only joins have a fault: they take effect, and answer once the link is restored.
    JoinUnanswered,
}

/// The result of a call whose answer was lost.
#[derive(Clone, Copy, Debug)]
enum Doubt {
    /// It fails: repeating it has the same effect.
    Fails,
    /// It answers once that is possible.
    Waits,
}

#[derive(Debug)]
struct StoreLink {
    cut: watch::Sender<Option<LinkFault>>,
}

impl StoreLink {
    fn is_whole(&self) -> bool {
        self.now().is_none()
    }

    /// Makes a call as far as the line lets it.
    async fn call<T>(
        &self,
        doubt: Doubt,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        while self.now() == Some(LinkFault::Silent) {
            self.whole().await;
        }
        match (self.now(), doubt) {
            (None | Some(LinkFault::JoinUnanswered), _) => work.await,
            (Some(LinkFault::Unanswered), Doubt::Fails) => work.await.and(Err(away())),
            (Some(LinkFault::Unanswered), Doubt::Waits) => {
                let answer = work.await;
                self.whole().await;
                answer
            }
            (Some(LinkFault::Refused | LinkFault::Silent), _) => Err(away()),
        }
    }

    fn now(&self) -> Option<LinkFault> {
        *self.cut.borrow()
    }

    async fn whole(&self) {
        let mut cut = self.cut.subscribe();
        // It cannot close: this line holds its sender.
        _ = cut.wait_for(Option::is_none).await;
    }
}

impl Default for StoreLink {
    fn default() -> Self {
        Self { cut: watch::Sender::new(None) }
    }
}

fn away() -> Error {
    Error::store("the node is cut off")
}

#[async_trait]
impl DeliveryStore for FaultyStore {
    async fn begin_run(&self) -> Result<Fence, Error> {
        let call = DeliveryStore::begin_run(&self.store);
        self.link.call(Doubt::Fails, call).await
    }

    async fn put_application(&self, application: Application) -> Result<(), Error> {
        let call = DeliveryStore::put_application(&self.store, application);
        self.link.call(Doubt::Fails, call).await
    }

    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error> {
        let call = DeliveryStore::delete_application(&self.store, id);
        self.link.call(Doubt::Fails, call).await
    }

    async fn applications(&self) -> Result<Vec<Application>, Error> {
        let call = DeliveryStore::applications(&self.store);
        self.link.call(Doubt::Fails, call).await
    }

    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error> {
        let call = DeliveryStore::put_endpoint(&self.store, endpoint);
        self.link.call(Doubt::Fails, call).await
    }

    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error> {
        let call = DeliveryStore::delete_endpoint(&self.store, id, now);
        self.link.call(Doubt::Fails, call).await
    }

    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error> {
        let call = DeliveryStore::endpoints(&self.store);
        self.link.call(Doubt::Fails, call).await
    }

    async fn put_document(&self, document: SettingDocument) -> Result<(), Error> {
        let call = DeliveryStore::put_document(&self.store, document);
        self.link.call(Doubt::Fails, call).await
    }

    async fn delete_document(&self, key: DocumentKey) -> Result<(), Error> {
        let call = DeliveryStore::delete_document(&self.store, key);
        self.link.call(Doubt::Fails, call).await
    }

    async fn note_document_use(&self, key: DocumentKey, day: u32) -> Result<(), Error> {
        let call = DeliveryStore::note_document_use(&self.store, key, day);
        self.link.call(Doubt::Fails, call).await
    }

    async fn documents(&self) -> Result<Vec<SettingDocument>, Error> {
        let call = DeliveryStore::documents(&self.store);
        self.link.call(Doubt::Fails, call).await
    }

    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        let call = DeliveryStore::accept(&self.store, messages);
        self.link.call(Doubt::Waits, call).await
    }

    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error> {
        let call = DeliveryStore::settle(&self.store, fence, settlements);
        self.link.call(Doubt::Fails, call).await
    }

    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let call = DeliveryStore::open_deliveries(&self.store, after, limit);
        self.link.call(Doubt::Fails, call).await
    }

    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let call = DeliveryStore::replay(&self.store, request, now, limit);
        self.link.call(Doubt::Waits, call).await
    }

    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error> {
        let call = DeliveryStore::message(&self.store, id);
        self.link.call(Doubt::Fails, call).await
    }

    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error> {
        let call = DeliveryStore::payload(&self.store, id);
        self.link.call(Doubt::Fails, call).await
    }

    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error> {
        let call = DeliveryStore::messages(&self.store, application, filter, page);
        self.link.call(Doubt::Fails, call).await
    }

    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error> {
        let call = DeliveryStore::delivery(&self.store, message, endpoint);
        self.link.call(Doubt::Fails, call).await
    }

    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error> {
        let call = DeliveryStore::deliveries_of(&self.store, message);
        self.link.call(Doubt::Fails, call).await
    }

    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error> {
        let call = DeliveryStore::deliveries(&self.store, application, filter, page);
        self.link.call(Doubt::Fails, call).await
    }

    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        let call = DeliveryStore::attempts(&self.store, message, endpoint);
        self.link.call(Doubt::Fails, call).await
    }

    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error> {
        let call = DeliveryStore::counts(&self.store, endpoint);
        self.link.call(Doubt::Fails, call).await
    }

    async fn prune(
        &self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Result<Pruned, Error> {
        let call = DeliveryStore::prune(&self.store, of, before, limit);
        self.link.call(Doubt::Fails, call).await
    }

    async fn delete_message(&self, id: MessageId) -> Result<bool, Error> {
        let call = DeliveryStore::delete_message(&self.store, id);
        self.link.call(Doubt::Fails, call).await
    }

    async fn delete_payload(&self, id: MessageId) -> Result<bool, Error> {
        let call = DeliveryStore::delete_payload(&self.store, id);
        self.link.call(Doubt::Fails, call).await
    }

    async fn record_audit(&self, entry: AuditEntry) -> Result<(), Error> {
        let call = DeliveryStore::record_audit(&self.store, entry);
        self.link.call(Doubt::Fails, call).await
    }

    async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error> {
        let call = DeliveryStore::audit(&self.store, before, limit);
        self.link.call(Doubt::Fails, call).await
    }

    async fn check(&self) -> Result<(), Error> {
        let call = DeliveryStore::check(&self.store);
        self.link.call(Doubt::Fails, call).await
    }

    fn cluster(&self) -> Option<&(dyn Cluster + 'static)> {
        Some(self)
    }
}

#[async_trait]
impl Cluster for FaultyStore {
    async fn join(&self, node: &NodeIdentity) -> Result<Joined, Error> {
        let joined = self.link.call(Doubt::Fails, self.store.join(node)).await?;
        if self.link.now() == Some(LinkFault::JoinUnanswered) {
            self.link.whole().await;
        }
        let (sender, notifications) = mpsc::unbounded_channel();
        let (mut all, link) = (joined.notifications, Arc::clone(&self.link));
        tokio::spawn(async move {
            while let Some(notification) = all.recv().await {
                if link.is_whole() && sender.send(notification).is_err() {
                    return;
                }
            }
        });
        Ok(Joined { notifications, ..joined })
    }

    async fn heartbeat(&self, fence: Fence, leaving: bool) -> Result<ClusterView, Error> {
        let call = Cluster::heartbeat(&self.store, fence, leaving);
        self.link.call(Doubt::Fails, call).await
    }

    async fn evict(&self, fence: Fence, heartbeat: u64) -> Result<bool, Error> {
        let call = Cluster::evict(&self.store, fence, heartbeat);
        self.link.call(Doubt::Fails, call).await
    }

    async fn acquire(&self, fence: Fence, most: usize) -> Result<Shards, Error> {
        let call = Cluster::acquire(&self.store, fence, most);
        self.link.call(Doubt::Fails, call).await
    }

    async fn release(&self, fence: Fence, shards: Shards) -> Result<(), Error> {
        let call = Cluster::release(&self.store, fence, shards);
        self.link.call(Doubt::Fails, call).await
    }

    async fn leave(&self, fence: Fence) -> Result<(), Error> {
        let call = Cluster::leave(&self.store, fence);
        self.link.call(Doubt::Fails, call).await
    }

    async fn load(
        &self,
        shards: Shards,
        page: &mut (dyn FnMut(Vec<Delivery>) + Send),
    ) -> Result<Vec<u64>, Error> {
        let call = Cluster::load(&self.store, shards, page);
        self.link.call(Doubt::Fails, call).await
    }

    async fn accept(
        &self,
        lead: Lead,
        settings_version: u64,
        messages: Vec<NewMessage>,
    ) -> Result<ClusterAccept, Error> {
        let call = Cluster::accept(&self.store, lead, settings_version, messages);
        self.link.call(Doubt::Waits, call).await
    }

    async fn settle_as_leader(
        &self,
        fence: Fence,
        settlements: Vec<Settlement>,
    ) -> Result<(), Error> {
        let call = Cluster::settle_as_leader(&self.store, fence, settlements);
        self.link.call(Doubt::Fails, call).await
    }

    async fn replay_to_leaders(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let call = Cluster::replay_to_leaders(&self.store, request, now, limit);
        self.link.call(Doubt::Waits, call).await
    }

    async fn change_setting(&self, write: SettingWrite) -> Result<(), Error> {
        let call = Cluster::change_setting(&self.store, write);
        self.link.call(Doubt::Fails, call).await
    }

    async fn arrivals(
        &self,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Result<Vec<Arrival>, Error> {
        let call = Cluster::arrivals(&self.store, shards, done, limit);
        self.link.call(Doubt::Fails, call).await
    }

    async fn changes_since(&self, after: u64) -> Result<ChangeLog, Error> {
        let call = Cluster::changes_since(&self.store, after);
        self.link.call(Doubt::Fails, call).await
    }

    async fn send_command(
        &self,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<u64, Error> {
        let call = Cluster::send_command(&self.store, endpoint, command);
        self.link.call(Doubt::Fails, call).await
    }

    async fn commands(
        &self,
        shards: Shards,
    ) -> Result<Vec<(u64, EndpointId, EndpointCommand)>, Error> {
        let call = Cluster::commands(&self.store, shards);
        self.link.call(Doubt::Fails, call).await
    }

    async fn complete_commands(&self, commands: &[u64]) -> Result<(), Error> {
        let call = Cluster::complete_commands(&self.store, commands);
        self.link.call(Doubt::Fails, call).await
    }

    async fn is_command_done(&self, command: u64) -> Result<bool, Error> {
        let call = Cluster::is_command_done(&self.store, command);
        self.link.call(Doubt::Fails, call).await
    }

    async fn endpoint_state(&self, endpoint: EndpointId) -> Result<Option<EndpointState>, Error> {
        let call = Cluster::endpoint_state(&self.store, endpoint);
        self.link.call(Doubt::Fails, call).await
    }

    async fn notify(&self, notification: Notification) {
        if self.link.is_whole() {
            self.store.notify(notification).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::testing::fixture::{furnish, message, msg};

    #[tokio::test]
    async fn a_refused_call_changes_nothing() {
        let store = FaultyStore::shared();
        furnish(&store).await;
        store.cut(LinkFault::Refused);
        assert!(enter(&store).await.unwrap_err().is_unavailable());
        assert!(store.check().await.unwrap_err().is_unavailable());
        assert_eq!(store.handle().message(msg(1)).await.unwrap(), None);
        store.mend();
        assert!(matches!(enter(&store).await.unwrap(), ClusterAccept::Stored(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_line_makes_calls_once_it_is_whole() {
        let store = FaultyStore::shared();
        furnish(&store).await;
        store.cut(LinkFault::Silent);
        let call = async {
            let waits = timeout(Duration::from_secs(3600), store.message(msg(1))).await;
            assert!(waits.is_err());
            assert_eq!(store.handle().message(msg(1)).await.unwrap(), None);
            store.mend();
        };
        let (entry, ()) = tokio::join!(enter(&store), call);
        assert!(matches!(entry.unwrap(), ClusterAccept::Stored(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_call_has_taken_effect() {
        let store = FaultyStore::shared();
        furnish(&store).await;
        let (ann, other) = (store.join(&"ann".into()).await.unwrap().fence, store.handle());
        let bob = other.join(&"bob".into()).await.unwrap().fence;
        store.cut(LinkFault::Unanswered);
        assert!(store.heartbeat(ann, false).await.unwrap_err().is_unavailable());
        assert_eq!(other.heartbeat(bob, false).await.unwrap().members[0].heartbeat, 1);
        let watch = async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            assert!(other.message(msg(1)).await.unwrap().is_some());
            store.mend();
        };
        let (entry, ()) = tokio::join!(enter(&store), watch);
        let ClusterAccept::Stored(accepted) = entry.unwrap() else { panic!("it was stored") };
        assert!(!accepted[0].repeated);
    }

    #[tokio::test]
    async fn a_cut_off_node_neither_sends_nor_receives_notifications() {
        let ann = FaultyStore::shared();
        let bob = ann.handle();
        let settle = || async {
            for _ in 0..9 {
                tokio::task::yield_now().await;
            }
        };
        let mut to_ann = ann.join(&"ann".into()).await.unwrap().notifications;
        let mut to_bob = bob.join(&"bob".into()).await.unwrap().notifications;
        ann.cut(LinkFault::Silent);
        ann.notify(Notification::Members).await;
        bob.notify(Notification::Settings).await;
        settle().await;
        ann.mend();
        settle().await;
        assert_eq!(to_bob.try_recv().unwrap(), Notification::Settings);
        assert!(to_bob.try_recv().is_err() && to_ann.try_recv().is_err());
        ann.notify(Notification::Members).await;
        assert_eq!(
            (to_ann.recv().await, to_bob.recv().await),
            (Some(Notification::Members), Some(Notification::Members))
        );
    }

    async fn enter(store: &FaultyStore) -> Result<ClusterAccept, Error> {
        Cluster::accept(store, Lead::default(), u64::MAX, vec![message(1, 1, &[1])]).await
    }
}
