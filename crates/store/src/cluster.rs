//! The contract of a store that several nodes share: membership, shard leadership, arrivals,
//! commands and notifications.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::leadership::{ClusterView, Fence, NodeIdentity, Shards};
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, Endpoint, EndpointId, EndpointState, Message, MessageId,
    NewMessage,
};
use tokio::sync::mpsc;

use super::{Accepted, DocumentKey, ReplayRequest, SettingWrite, Settlement};
use crate::Error;

/// The operations of a store that nodes share.
///
/// A node that has joined is a member until it leaves or is evicted. Its fence names the
/// membership: an evicted node joins again under another one, and settlements under the first are
/// refused. Each member counts its heartbeats in the store. No clock is compared with another: a
/// member counts as dead when another has seen the same heartbeat counter for the failure timeout,
/// by its own monotonic clock.
///
/// Each shard has at most one leader, which alone makes the attempts to its endpoints. A shard
/// moves when its leader releases it, after it has settled all attempts in flight, or is evicted.
///
/// Writes are atomic, durable, and can be repeated, as those of [`DeliveryStore`](super::DeliveryStore).
#[async_trait]
pub trait Cluster: Send + Sync + fmt::Debug {
    /// Becomes a member; `node` is for people.
    async fn join(&self, node: &NodeIdentity) -> Result<Joined, Error>;

    /// Becomes a member again, after the membership of this fence has ended.
    ///
    /// # Errors
    /// A conflict if another run has the store: the node has to end.
    async fn rejoin(&self, node: &NodeIdentity, _ended: Fence) -> Result<Joined, Error> {
        self.join(node).await
    }

    /// Counts a heartbeat of a member, and records whether it is leaving. Returns the state of all
    /// members, as of one moment.
    ///
    /// # Errors
    /// A conflict if it is no member any more.
    async fn heartbeat(&self, fence: Fence, leaving: bool) -> Result<ClusterView, Error>;

    /// Ends the membership of a node whose heartbeat counter is still `heartbeat`, and frees its
    /// shards; false if it has sent another one, or is gone. Its running settlements have ended
    /// when this answers.
    async fn evict(&self, fence: Fence, heartbeat: u64) -> Result<bool, Error>;

    /// Acquires up to `most` shards without a leader, and returns them.
    ///
    /// # Errors
    /// A conflict if it is no member any more.
    async fn acquire(&self, fence: Fence, most: usize) -> Result<Shards, Error>;

    /// Leads `shards` no longer.
    async fn release(&self, fence: Fence, shards: Shards) -> Result<(), Error>;

    /// Ends a membership, and frees its shards. Does nothing if it has ended.
    async fn leave(&self, fence: Fence) -> Result<(), Error>;

    /// Loads all open deliveries of `shards` as of one moment, oldest first within a shard, in pages; and
    /// answers with the numbers of the arrivals that are among them or over already.
    async fn load(
        &self,
        shards: Shards,
        page: &mut (dyn FnMut(Vec<Delivery>) + Send),
    ) -> Result<Vec<u64>, Error>;

    /// Takes messages, as [`DeliveryStore::accept`](super::DeliveryStore::accept) does. Deliveries to endpoints of the lead's
    /// shards are the caller's to make; all others become arrivals, which their leaders find.
    ///
    /// `settings_version` is up to where the caller had followed the settings when it chose the endpoints.
    async fn accept(
        &self,
        lead: Lead,
        settings_version: u64,
        messages: Vec<NewMessage>,
    ) -> Result<ClusterAccept, Error>;

    /// Writes results of attempts, as [`DeliveryStore::settle`](super::DeliveryStore::settle) does. Deliveries
    /// of operational messages become arrivals.
    async fn settle_as_leader(
        &self,
        fence: Fence,
        settlements: Vec<Settlement>,
    ) -> Result<(), Error>;

    /// Makes finished deliveries pending again, as [`DeliveryStore::replay`](super::DeliveryStore::replay)
    /// does. They become arrivals.
    async fn replay_to_leaders(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error>;

    /// Writes a setting, and logs the change.
    async fn change_setting(&self, write: SettingWrite) -> Result<(), Error>;

    /// Forgets the arrivals numbered `done`, and answers with others of `shards` that are still open,
    /// `limit` at most, oldest first. They are answered again until they are done.
    async fn arrivals(
        &self,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Result<Vec<Arrival>, Error>;

    /// The settings that changed after version `after`, as they are now.
    async fn changes_since(&self, after: u64) -> Result<ChangeLog, Error>;

    /// Stores a command for the leader of an endpoint, and returns its number.
    ///
    /// # Errors
    /// There is no such endpoint.
    async fn send_command(
        &self,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<u64, Error>;

    /// The commands for endpoints of `shards`, oldest first.
    async fn commands(
        &self,
        shards: Shards,
    ) -> Result<Vec<(u64, EndpointId, EndpointCommand)>, Error>;

    /// Deletes commands whose results are durable.
    async fn complete_commands(&self, commands: &[u64]) -> Result<(), Error>;

    /// Whether a command was executed, or its endpoint is gone.
    async fn is_command_done(&self, command: u64) -> Result<bool, Error>;

    /// The learned state of an endpoint that exists.
    async fn endpoint_state(&self, endpoint: EndpointId) -> Result<Option<EndpointState>, Error>;

    /// Notifies all members. A notification may be lost.
    async fn notify(&self, notification: Notification);
}

/// A membership that begins.
#[derive(Debug)]
pub struct Joined {
    /// Its name in all writes.
    pub fence: Fence,
    /// The shards that it leads from the start.
    pub shards: Shards,
    /// Whether it sends heartbeats. Without them nothing evicts it.
    pub heartbeats: bool,
    /// Notifications from other nodes. The channel stays open while the store lives.
    pub notifications: mpsc::UnboundedReceiver<Notification>,
}

/// The leadership of a node when it accepts messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lead {
    /// Its membership; not looked at if it leads nothing.
    pub fence: Fence,
    /// The shards that it leads.
    pub shards: Shards,
}

/// The result of accepting messages in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterAccept {
    /// They are stored; in their order.
    Stored(Vec<Accepted>),
    /// Settings have changed since the endpoints were chosen: nothing is stored.
    Outdated,
    /// The lead's membership has ended: nothing is stored.
    NotLeading,
}

/// An open delivery that a node other than its leader has accepted or replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// Its number, by which it is done.
    pub number: u64,
    /// The delivery as it is now; `None` if it has ended or is gone.
    pub delivery: Option<Delivery>,
    /// Its message and payload, if that is small.
    pub content: Option<(Message, Bytes)>,
}

/// Changes of settings.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeLog {
    /// The number of the last change.
    pub to: u64,
    /// The changes, each one once; `None` when they are not known any more, and all settings have to be
    /// read anew.
    pub changes: Option<Vec<SettingChange>>,
}

/// A setting as it is now.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are endpoints, and few are there at a time"
)]
pub enum SettingChange {
    /// An application; `None` if it was deleted, with its endpoints.
    Application(ApplicationId, Option<Application>),
    /// An endpoint, and its learned state; `None` if it was deleted.
    Endpoint(EndpointId, Option<(Endpoint, EndpointState)>),
    /// The text of a document of the installation; `None` if it was deleted.
    Document(DocumentKey, Option<String>),
}

/// A command that only the leader of an endpoint can execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointCommand {
    /// Enable it.
    Enable,
    /// Disable it by hand.
    Disable,
    /// Start a recovery, so that later deliveries are sent slowly.
    Recover,
    /// Cancel its delivery of a message, if that is open.
    Cancel(MessageId),
    /// Attempt its delivery of a message next, if that is open: also if its breaker is open.
    Retry(MessageId),
    /// End a pause, and send a probe now if its breaker is open; else start a recovery.
    Probe,
}

/// A notification to check for changes before the next regular check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Arrivals or commands for these shards.
    Work(Shards),
    /// Members, or leaders of shards.
    Members,
    /// Settings.
    Settings,
}
