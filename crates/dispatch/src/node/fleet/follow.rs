//! Settings that other nodes have changed reach directory and floor.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::Error;
use crate::model::{Application, ApplicationId, Endpoint, EndpointId, Standing};
use crate::node::parts::Parts;
use crate::store::{Cluster, News, SettingChange};

/// Up to where this node has followed the settings.
#[derive(Debug, Default)]
pub(in crate::node) struct Following {
    /// The number of the last change that directory and floor have seen.
    followed: AtomicU64,
    /// How many looks were begun, and which of them was the last to succeed.
    begun: AtomicU64,
    succeeded: AtomicU64,
    /// Held during a look, and while lanes come and go: so that each change meets all lanes.
    pub(super) turn: Mutex<()>,
}

impl Following {
    pub(in crate::node) fn followed(&self) -> u64 {
        self.followed.load(Ordering::Acquire)
    }
}

/// Follows all changes that were made before this was called; nothing with a store of one node.
pub(in crate::node) async fn follow(parts: &Parts) -> Result<(), Error> {
    let Some(cluster) = parts.store.cluster() else { return Ok(()) };
    let following = &parts.following;
    let before = following.begun.load(Ordering::Acquire);
    let _turn = following.turn.lock().await;
    // Somebody else has begun to look since, and has seen all.
    if following.succeeded.load(Ordering::Acquire) > before {
        return Ok(());
    }
    look(parts, cluster).await
}

/// Reads what has changed, and applies it; to be called by whoever has the turn.
pub(super) async fn look(parts: &Parts, cluster: &dyn Cluster) -> Result<(), Error> {
    let number = parts.following.begun.fetch_add(1, Ordering::AcqRel) + 1;
    let News { to, changes } = cluster.news(parts.following.followed()).await?;
    match changes {
        Some(changes) => {
            for change in changes {
                apply(parts, change).await;
            }
        }
        None => read_all(parts).await?,
    }
    parts.following.followed.store(to, Ordering::Release);
    parts.following.succeeded.store(number, Ordering::Release);
    Ok(())
}

async fn apply(parts: &Parts, change: SettingChange) {
    match change {
        SettingChange::Application(_, Some(application)) => {
            know_application(parts, application).await;
        }
        SettingChange::Application(id, None) => forget_application(parts, id).await,
        SettingChange::Endpoint(_, Some((endpoint, standing))) => {
            know_endpoint(parts, endpoint, standing).await;
        }
        SettingChange::Endpoint(id, None) => forget_endpoint(parts, id).await,
    }
}

async fn know_application(parts: &Parts, application: Application) {
    let (id, slots) = (application.id, application.slots);
    parts.directory.put_application(application);
    parts.floor.ask(move |runner| runner.floor.put_application(id, slots)).await;
}

async fn forget_application(parts: &Parts, id: ApplicationId) {
    let Some((_, endpoints)) = parts.directory.remove_application(id) else { return };
    let forget = move |runner: &mut crate::node::runner::Runner| {
        endpoints.iter().for_each(|known| runner.forget(known.endpoint.id));
        runner.floor.remove_application(id);
    };
    parts.floor.ask(forget).await;
}

/// One of a shard that has lanes here, and had none itself, was made just now: nobody has attempted it.
async fn know_endpoint(parts: &Parts, endpoint: Endpoint, standing: Standing) {
    let endpoint = Arc::new(endpoint);
    parts.know(Arc::clone(&endpoint));
    if !parts.leading.has_lane(endpoint.id) {
        return;
    }
    let now = parts.clock.now();
    let put = move |runner: &mut crate::node::runner::Runner| {
        let is_new = runner.floor.view(now, endpoint.id).is_none();
        let standing = Some(standing).filter(|it| is_new && *it != Standing::default());
        runner.floor.put_endpoint(now, &endpoint, standing);
        if let Some(standing) = standing {
            runner.remember(endpoint.id, standing);
        }
    };
    parts.floor.ask(put).await;
}

async fn forget_endpoint(parts: &Parts, id: EndpointId) {
    if parts.directory.remove_endpoint(id).is_some() {
        parts.floor.ask(move |runner| runner.forget(id)).await;
    }
}

/// What has changed is not known any more: everything is read, and what is not there is forgotten.
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
    for (endpoint, standing) in endpoints {
        know_endpoint(parts, endpoint, standing).await;
    }
    Ok(())
}
