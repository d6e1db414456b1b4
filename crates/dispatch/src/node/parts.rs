//! The state that all tasks of a node share.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::{Mutex, Semaphore, watch};

use super::NodeOptions;
use super::attempt_rates::AttemptCounter;
use super::clock::EngineClock;
use super::directory::{Directory, KnownEndpoint};
use super::fleet::{FleetView, Leadership, SettingsSync};
use super::health::NodeHealth;
use super::inbox::Inbox;
use super::message_ids::MessageIds;
use super::notifications::PendingNotifications;
use super::payloads::PayloadCache;
use super::shared_budgets::SharedBudgets;
use crate::Error;
use crate::model::Endpoint;
use crate::observe::Instruments;
use crate::send::Sender;
use crate::store::{Cluster, DeliveryStore, Fence};

/// The most concurrent reads of payloads: enough to keep a disk busy, and few enough that accepting
/// is not starved.
const READS: usize = 32;
/// The most bytes of messages that wait for the store; more are refused, so that a slow disk fills
/// no memory.
pub(super) const UNCOMMITTED: usize = 64 << 20;

/// The state that all tasks of a node share.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) sender: Sender,
    /// Budgets that others share.
    pub(super) budgets: Option<SharedBudgets>,
    pub(super) options: NodeOptions,
    pub(super) clock: EngineClock,
    pub(super) directory: Directory,
    pub(super) message_ids: MessageIds,
    pub(super) payloads: PayloadCache,
    pub(super) attempts: AttemptCounter,
    pub(super) health: NodeHealth,
    pub(super) instruments: Instruments,
    /// The shards that this node leads: all of them with a store for one node.
    pub(super) leadership: Leadership,
    pub(super) settings_sync: SettingsSync,
    pub(super) fleet: FleetView,
    /// The inbox of the task that owns the scheduler.
    pub(super) scheduler: Inbox,
    /// Held while settings change, so that store, directory and scheduler see changes in one order.
    pub(super) changes: Mutex<()>,
    pub(super) reads: Semaphore,
    pub(super) uncommitted: Arc<Semaphore>,
    /// The membership under which settlements were refused last: it has ended.
    pub(super) lost: watch::Sender<Option<Fence>>,
    /// Shards with new work, of which the other nodes have not been notified yet.
    pub(super) notifications: PendingNotifications,
}

impl Parts {
    pub(super) fn new(
        store: Arc<dyn DeliveryStore>,
        (sender, budgets): (Sender, Option<SharedBudgets>),
        options: NodeOptions,
        scheduler: Inbox,
    ) -> Self {
        let leadership = match store.cluster() {
            Some(_) => Leadership::nothing(),
            None => Leadership::alone(),
        };
        Self {
            store,
            sender,
            budgets,
            options,
            clock: EngineClock::start(),
            directory: Directory::default(),
            message_ids: MessageIds::default(),
            payloads: PayloadCache::new(options.payload_memory),
            attempts: AttemptCounter::default(),
            health: NodeHealth::new(),
            instruments: Instruments::new(),
            leadership,
            settings_sync: SettingsSync::default(),
            fleet: FleetView::default(),
            scheduler,
            changes: Mutex::new(()),
            reads: Semaphore::new(READS),
            uncommitted: Arc::new(Semaphore::new(UNCOMMITTED)),
            lost: watch::Sender::new(None),
            notifications: PendingNotifications::default(),
        }
    }

    /// The cluster of the store. Only the tasks of a membership call this, and a membership exists
    /// only with a cluster.
    pub(super) fn cluster(&self) -> &dyn Cluster {
        self.store.cluster().expect("a node is a member with such a store only")
    }

    /// Puts an endpoint into the directory, ready to be sent to.
    pub(super) fn know(&self, endpoint: Arc<Endpoint>) {
        let target = Arc::new(self.sender.prepare(&endpoint));
        self.directory.put_endpoint(KnownEndpoint { endpoint, target });
    }
}

/// Runs `work` to its end even if its caller stops waiting: otherwise store and memory could
/// differ.
pub(super) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let cut_off = |_| Err(Error::busy("the dispatcher stopped during the change"));
    tokio::spawn(work).await.unwrap_or_else(cut_off)
}
