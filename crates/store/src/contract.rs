//! The contract of a store.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    Message, MessageId, NewMessage,
};

use super::{
    Accepted, AuditEntry, Cluster, ClusterAccept, Cursor, DeliveryCounts, DeliveryFilter,
    DocumentKey, Fence, ListPage, MessageFilter, PageRequest, Pruned, ReplayRequest,
    SettingDocument, SettingWrite, Settlement,
};
use crate::Error;

/// Keeps applications, endpoints, messages, deliveries and attempts.
///
/// Every write is atomic, and durable when its future is ready with `Ok`. A write that fails has
/// changed nothing. Ended with an error that [`is_unavailable`](Error::is_unavailable), it can be
/// made again.
///
/// A store behind a connection cannot always know the result of a write: a connection that fails in
/// the middle of a commit leaves it open. [`accept`](Self::accept) and [`replay`](Self::replay)
/// then answer once the result is known, however long it takes, because the memory has to agree.
/// All other calls fail as above, and have the same effect when repeated.
#[async_trait]
pub trait DeliveryStore: Send + Sync + fmt::Debug + 'static {
    /// Opens the store for a new run of the dispatcher; settlements of earlier runs are refused from
    /// now on. In a store that several nodes can share, this one alone has it: all members are evicted.
    async fn begin_run(&self) -> Result<Fence, Error>;

    /// Writes an application, new or changed.
    async fn put_application(&self, application: Application) -> Result<(), Error>;
    /// Deletes an application and everything of it. Later messages for it are refused.
    async fn delete_application(&self, id: ApplicationId) -> Result<(), Error>;
    /// All applications, oldest first.
    async fn applications(&self) -> Result<Vec<Application>, Error>;

    /// Writes the settings of an endpoint, new or changed; its learned state stays.
    async fn put_endpoint(&self, endpoint: Endpoint) -> Result<(), Error>;
    /// Deletes an endpoint; its open deliveries become cancelled, and so do later ones.
    async fn delete_endpoint(&self, id: EndpointId, now: Instant) -> Result<(), Error>;
    /// All endpoints with their learned state, oldest first.
    async fn endpoints(&self) -> Result<Vec<(Endpoint, EndpointState)>, Error>;

    /// Writes a document of the installation, new or changed; its last use stays.
    async fn put_document(&self, document: SettingDocument) -> Result<(), Error>;
    /// Deletes a document, if it is there.
    async fn delete_document(&self, key: DocumentKey) -> Result<(), Error>;
    /// Notes that a document was used on `day`, in days since 1970. A document that is gone stays gone, and an earlier day
    /// than the known one changes nothing. It is no change of settings.
    async fn note_document_use(&self, key: DocumentKey, day: u32) -> Result<(), Error>;
    /// All documents, by kind and id.
    async fn documents(&self) -> Result<Vec<SettingDocument>, Error>;

    /// Writes a setting, by the method for it.
    async fn write_setting(&self, write: SettingWrite) -> Result<(), Error> {
        match write {
            SettingWrite::PutApplication(application) => self.put_application(application).await,
            SettingWrite::DeleteApplication(id) => self.delete_application(id).await,
            SettingWrite::PutEndpoint(endpoint) => self.put_endpoint(endpoint).await,
            SettingWrite::DeleteEndpoint(id, now) => self.delete_endpoint(id, now).await,
            SettingWrite::PutDocument(document) => self.put_document(document).await,
            SettingWrite::DeleteDocument(key) => self.delete_document(key).await,
        }
    }

    /// Stores messages with all their deliveries: all of them or none. A message whose application
    /// has sent its key before is not stored again; the answer names the first. Nor is a message
    /// whose id exists.
    ///
    /// Answers in the order of the messages.
    ///
    /// # Errors
    /// There is no such application any more.
    async fn accept(&self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error>;

    /// Stores messages with their deliveries as a part of a transaction of the caller, all or none: they are durable once
    /// the caller has committed, and their leaders are notified by that commit. With any other answer than
    /// [`Stored`](ClusterAccept::Stored) the transaction is as it was before, and can be used on.
    ///
    /// `settings_version` is up to where the caller had followed the settings when it chose the endpoints. Endpoints that
    /// the transaction does not see, because they were made after its snapshot, are left out.
    ///
    /// # Errors
    /// The store is not on PostgreSQL, or the transaction is on another database; there is no such application; a
    /// conflict if an idempotency key is that of a message with other contents.
    async fn accept_within(
        &self,
        _caller: &mut tokio_postgres::Transaction<'_>,
        _settings_version: u64,
        _messages: &[NewMessage],
    ) -> Result<ClusterAccept, Error> {
        Err(Error::invalid("store", "(this one)", "on PostgreSQL, to accept within a transaction"))
    }

    /// Writes the results of attempts: each settlement all or nothing, in order. Deleted rows are
    /// left out, and a finished delivery stays finished: only a replay opens it again. A delivery
    /// that was replayed since the settled one was loaded stays as the replay has made it.
    ///
    /// # Errors
    /// A conflict if `fence` is not that of the newest run.
    async fn settle(&self, fence: Fence, settlements: Vec<Settlement>) -> Result<(), Error>;

    /// The open deliveries (pending and waiting), in the order of message and endpoint, `limit` at
    /// most, after `after`. For loading all of them at a start.
    async fn open_deliveries(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error>;

    /// Makes dead or delivered deliveries pending again, or waiting ones due at `now`, oldest first,
    /// at most `limit` of them, and answers with them as they are now. A replay forgets calls and
    /// endings, and counts attempts on; a delivery that becomes due keeps both.
    ///
    /// Of many, deliveries that were changed after `now` or whose endpoint is gone are left out.
    /// Repeated with the same `now` until it returns none, it ends even if deliveries end anew.
    ///
    /// # Errors
    /// Of one: it is not there, or its endpoint is gone; a conflict if it is open. Of missing ones: the
    /// endpoint is gone.
    async fn replay(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error>;

    /// One message.
    async fn message(&self, id: MessageId) -> Result<Option<Message>, Error>;
    /// A message's bytes; `None` once they were pruned.
    async fn payload(&self, id: MessageId) -> Result<Option<Bytes>, Error>;
    /// An application's messages, newest first.
    async fn messages(
        &self,
        application: ApplicationId,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<ListPage<Message>, Error>;
    /// One delivery.
    async fn delivery(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Option<Delivery>, Error>;
    /// A message's deliveries, in the order of their endpoints.
    async fn deliveries_of(&self, message: MessageId) -> Result<Vec<Delivery>, Error>;
    /// An application's deliveries (all when `None`), newest messages first.
    async fn deliveries(
        &self,
        application: Option<ApplicationId>,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<ListPage<Delivery>, Error>;
    /// A delivery's attempts, in order.
    async fn attempts(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Vec<DeliveryAttempt>, Error>;
    /// The number of deliveries in each state, of one endpoint or of all.
    async fn counts(&self, endpoint: Option<EndpointId>) -> Result<DeliveryCounts, Error>;

    /// Deletes finished messages accepted before `before`, of an application (of all when `None`), with payloads,
    /// deliveries and attempts: at most `limit` messages, oldest first. Messages with an open delivery stay.
    async fn prune(
        &self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Result<Pruned, Error>;

    /// Deletes a message with its payload, deliveries and attempts; whether it was there.
    ///
    /// # Errors
    /// A conflict: one of its deliveries is open.
    async fn delete_message(&self, id: MessageId) -> Result<bool, Error>;

    /// Deletes the payload of a message, and the replies that its attempts have got, which may repeat it; whether the
    /// message was there. The message, its deliveries and its attempts stay.
    ///
    /// # Errors
    /// A conflict: one of its deliveries is open.
    async fn delete_payload(&self, id: MessageId) -> Result<bool, Error>;

    /// Adds an entry to the audit log, with the next number, and deletes those that are too old.
    async fn record_audit(&self, entry: AuditEntry) -> Result<(), Error>;
    /// The entries of the audit log numbered below `before`, newest first, `limit` at most.
    async fn audit(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>, Error>;

    /// Whether it can write now, for readiness.
    async fn check(&self) -> Result<(), Error>;

    /// Whether it can write as much as a message, which takes room that a small write may not need: for
    /// readiness after a write has failed.
    async fn check_room(&self) -> Result<(), Error> {
        self.check().await
    }

    /// Brings everything into its final place: the last call of a run. A store that needs no such call does
    /// nothing.
    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The cluster operations of a store that several nodes share; `None` if the store is for one node,
    /// which is then a cluster of one.
    fn cluster(&self) -> Option<&(dyn Cluster + 'static)> {
        None
    }
}
