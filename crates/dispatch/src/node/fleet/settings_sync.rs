//! Applies settings that other nodes have changed to the directory and the scheduler.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::Error;
use crate::model::{Application, ApplicationId, Endpoint, EndpointId, EndpointState};
use crate::node::parts::Parts;
use crate::store::{ChangeLog, Cluster, SettingChange};

/// Up to where this node has followed the settings.
#[derive(Debug, Default)]
pub(in crate::node) struct SettingsSync {
    /// The number of the last change that the directory and the scheduler have.
    settings_version: AtomicU64,
    /// The number of synchronizations begun, and the last one that succeeded.
    begun: AtomicU64,
    succeeded: AtomicU64,
    /// Held during a synchronization, and while queues are added or removed: so that each change
    /// meets all queues.
    pub(super) turn: Mutex<()>,
}

impl SettingsSync {
    pub(in crate::node) fn settings_version(&self) -> u64 {
        self.settings_version.load(Ordering::Acquire)
    }
}

/// Follows all changes that were made before this was called; nothing with a store of one node.
pub(in crate::node) async fn sync_settings(parts: &Parts) -> Result<(), Error> {
    let Some(cluster) = parts.store.cluster() else { return Ok(()) };
    let settings_sync = &parts.settings_sync;
    let before = settings_sync.begun.load(Ordering::Acquire);
    let _turn = settings_sync.turn.lock().await;
    // Another task has synchronized since this one was called.
    if settings_sync.succeeded.load(Ordering::Acquire) > before {
        return Ok(());
    }
    look(parts, cluster).await
}

/// Reads the changes, and applies them. The caller holds `turn`.
pub(super) async fn look(parts: &Parts, cluster: &dyn Cluster) -> Result<(), Error> {
    let number = parts.settings_sync.begun.fetch_add(1, Ordering::AcqRel) + 1;
    let ChangeLog { to, changes } =
        cluster.changes_since(parts.settings_sync.settings_version()).await?;
    match changes {
        Some(changes) => {
            for change in changes {
                apply(parts, change).await;
            }
        }
        None => read_all(parts).await?,
    }
    parts.settings_sync.settings_version.store(to, Ordering::Release);
    parts.settings_sync.succeeded.store(number, Ordering::Release);
    Ok(())
}

async fn apply(parts: &Parts, change: SettingChange) {
    match change {
        SettingChange::Application(_, Some(application)) => {
            know_application(parts, application).await;
        }
        SettingChange::Application(id, None) => forget_application(parts, id).await,
        SettingChange::Endpoint(_, Some((endpoint, endpoint_state))) => {
            know_endpoint(parts, endpoint, endpoint_state).await;
        }
        SettingChange::Endpoint(id, None) => forget_endpoint(parts, id).await,
    }
}

async fn know_application(parts: &Parts, application: Application) {
    let (id, slots) = (application.id, application.slots);
    parts.directory.put_application(application);
    parts.scheduler.ask(move |runner| runner.scheduler.put_application(id, slots)).await;
}

async fn forget_application(parts: &Parts, id: ApplicationId) {
    let Some((_, endpoints)) = parts.directory.remove_application(id) else { return };
    let forget = move |runner: &mut crate::node::runner::Runner| {
        endpoints.iter().for_each(|known| runner.forget(known.endpoint.id));
        runner.scheduler.remove_application(id);
    };
    parts.scheduler.ask(forget).await;
}

/// An endpoint without a queue in a shard with queues was created just now: it has had no attempts.
async fn know_endpoint(parts: &Parts, endpoint: Endpoint, endpoint_state: EndpointState) {
    let endpoint = Arc::new(endpoint);
    parts.know(Arc::clone(&endpoint));
    if !parts.leadership.has_queue(endpoint.id) {
        return;
    }
    let now = parts.clock.now();
    let put = move |runner: &mut crate::node::runner::Runner| {
        let is_new = runner.scheduler.view(now, endpoint.id).is_none();
        let endpoint_state =
            Some(endpoint_state).filter(|it| is_new && *it != EndpointState::default());
        runner.scheduler.put_endpoint(now, &endpoint, endpoint_state);
        if let Some(endpoint_state) = endpoint_state {
            runner.remember(endpoint.id, endpoint_state);
        }
    };
    parts.scheduler.ask(put).await;
}

async fn forget_endpoint(parts: &Parts, id: EndpointId) {
    if parts.directory.remove_endpoint(id).is_some() {
        parts.scheduler.ask(move |runner| runner.forget(id)).await;
    }
}

/// Reads all settings, and removes those that are gone: the changes since the last synchronization
/// are not known any more.
async fn read_all(parts: &Parts) -> Result<(), Error> {
    let (applications, endpoints) =
        (parts.store.applications().await?, parts.store.endpoints().await?);
    let there: BTreeSet<_> = applications.iter().map(|application| application.id).collect();
    for gone in parts.directory.applications() {
        if !there.contains(&gone.id) {
            forget_application(parts, gone.id).await;
        }
    }
    let there: BTreeSet<_> = endpoints.iter().map(|(endpoint, _)| endpoint.id).collect();
    for gone in parts.directory.all_endpoints() {
        if !there.contains(&gone) {
            forget_endpoint(parts, gone).await;
        }
    }
    for application in applications {
        know_application(parts, application).await;
    }
    for (endpoint, endpoint_state) in endpoints {
        know_endpoint(parts, endpoint, endpoint_state).await;
    }
    Ok(())
}
