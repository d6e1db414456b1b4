//! Applies changed settings to the directory and the scheduler.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stagger_scheduler::model::{Application, ApplicationId, Endpoint, EndpointId, EndpointState};
use stagger_sender::Sender;
use stagger_store::{ChangeLog, ClusterHandle, DeliveryStore, SettingChange};
use tokio::sync::{Mutex, MutexGuard};

use super::leadership::Leadership;
use crate::Error;
use crate::node::clock::EngineClock;
use crate::node::directory::{Directory, KnownEndpoint};
use crate::node::installation::Installation;
use crate::node::scheduler_state::{Inbox, SchedulerState};

/// Follows the change log of the settings.
#[derive(Debug)]
pub(in crate::node) struct SettingsSync {
    store: Arc<dyn DeliveryStore>,
    cluster: ClusterHandle,
    directory: Arc<Directory>,
    installation: Arc<Installation>,
    /// Prepares endpoints to be sent to.
    sender: Sender,
    leadership: Arc<Leadership>,
    inbox: Inbox,
    clock: EngineClock,
    /// The number of the last change that the directory and the scheduler have.
    version: AtomicU64,
    /// The number of synchronizations begun, and the last one that succeeded.
    begun: AtomicU64,
    succeeded: AtomicU64,
    /// Held during a synchronization, and while queues are added or removed: so that each change
    /// meets all queues.
    turn: Mutex<()>,
}

/// The right to synchronize, or to add and remove queues, while nothing else does.
pub(super) struct SyncTurn<'s> {
    settings: &'s SettingsSync,
    _turn: MutexGuard<'s, ()>,
}

impl SettingsSync {
    pub(in crate::node) fn new(
        (store, cluster): (Arc<dyn DeliveryStore>, ClusterHandle),
        (directory, installation, sender): (Arc<Directory>, Arc<Installation>, Sender),
        leadership: Arc<Leadership>,
        (inbox, clock): (Inbox, EngineClock),
    ) -> Self {
        Self {
            store,
            cluster,
            directory,
            installation,
            sender,
            leadership,
            inbox,
            clock,
            version: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
            turn: Mutex::new(()),
        }
    }

    /// Up to where this node has followed the settings.
    pub(in crate::node) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Follows all changes that were made before this was called.
    pub(in crate::node) async fn sync(&self) -> Result<(), Error> {
        let before = self.begun.load(Ordering::Acquire);
        let turn = self.turn().await;
        // Another task has synchronized since this one was called.
        if self.succeeded.load(Ordering::Acquire) > before {
            return Ok(());
        }
        // Boxed, because it is large and every request of the API holds the place for it.
        Box::pin(turn.sync()).await
    }

    /// Waits until nothing else synchronizes, or adds or removes queues.
    pub(super) async fn turn(&self) -> SyncTurn<'_> {
        SyncTurn { settings: self, _turn: self.turn.lock().await }
    }

    async fn apply(&self, change: SettingChange) {
        match change {
            SettingChange::Application(_, Some(application)) => {
                self.know_application(application).await;
            }
            SettingChange::Application(id, None) => self.forget_application(id).await,
            SettingChange::Endpoint(_, Some((endpoint, endpoint_state))) => {
                self.know_endpoint(endpoint, endpoint_state).await;
            }
            SettingChange::Endpoint(id, None) => self.forget_endpoint(id).await,
            SettingChange::Document(key, text) => self.installation.follow(&key, text.as_deref()),
        }
    }

    async fn know_application(&self, application: Application) {
        let (id, slots) = (application.id, application.slots);
        self.directory.put_application(application);
        self.inbox.ask(move |state| state.scheduler.put_application(id, slots)).await;
    }

    async fn forget_application(&self, id: ApplicationId) {
        let Some((_, endpoints)) = self.directory.remove_application(id) else { return };
        let forget = move |state: &mut SchedulerState| {
            endpoints.iter().for_each(|known| state.forget(known.endpoint.id));
            state.scheduler.remove_application(id);
        };
        self.inbox.ask(forget).await;
    }

    /// An endpoint without a queue in a shard with queues was created just now: it has had no
    /// attempts.
    async fn know_endpoint(&self, endpoint: Endpoint, endpoint_state: EndpointState) {
        let target = Arc::new(self.sender.prepare(&endpoint));
        let endpoint = Arc::new(endpoint);
        self.directory.put_endpoint(KnownEndpoint { endpoint: Arc::clone(&endpoint), target });
        if !self.leadership.has_queue(endpoint.id) {
            return;
        }
        let now = self.clock.now();
        let put = move |state: &mut SchedulerState| {
            let is_new = state.scheduler.view(now, endpoint.id).is_none();
            let endpoint_state =
                Some(endpoint_state).filter(|it| is_new && *it != EndpointState::default());
            state.scheduler.put_endpoint(now, &endpoint, endpoint_state);
            if let Some(endpoint_state) = endpoint_state {
                state.remember(endpoint.id, endpoint_state);
            }
        };
        self.inbox.ask(put).await;
    }

    async fn forget_endpoint(&self, id: EndpointId) {
        if self.directory.remove_endpoint(id).is_some() {
            self.inbox.ask(move |state| state.forget(id)).await;
        }
    }

    /// Reads all settings, and removes those that are gone: the changes since the last
    /// synchronization are not known any more.
    async fn read_all(&self) -> Result<(), Error> {
        let (applications, endpoints) =
            (self.store.applications().await?, self.store.endpoints().await?);
        self.installation.replace_all(&self.store.documents().await?);
        let there: BTreeSet<_> = applications.iter().map(|application| application.id).collect();
        for gone in self.directory.applications() {
            if !there.contains(&gone.id) {
                self.forget_application(gone.id).await;
            }
        }
        let there: BTreeSet<_> = endpoints.iter().map(|(endpoint, _)| endpoint.id).collect();
        for gone in self.directory.all_endpoints() {
            if !there.contains(&gone) {
                self.forget_endpoint(gone).await;
            }
        }
        for application in applications {
            self.know_application(application).await;
        }
        for (endpoint, endpoint_state) in endpoints {
            self.know_endpoint(endpoint, endpoint_state).await;
        }
        Ok(())
    }
}

impl SyncTurn<'_> {
    /// Reads the changes, and applies them.
    pub(super) async fn sync(&self) -> Result<(), Error> {
        let settings = self.settings;
        let number = settings.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let ChangeLog { to, changes } = settings.cluster.changes_since(settings.version()).await?;
        match changes {
            Some(changes) => {
                for change in changes {
                    settings.apply(change).await;
                }
            }
            None => settings.read_all().await?,
        }
        settings.version.store(to, Ordering::Release);
        settings.succeeded.store(number, Ordering::Release);
        Ok(())
    }
}
