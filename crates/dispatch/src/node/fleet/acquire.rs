//! Acquires shards: adds their endpoint queues, and loads their open deliveries.

use std::collections::BTreeMap;

use super::release::unload;
use super::settings_sync::{self, sync_settings};
use super::work::Work;
use crate::Error;
use crate::model::{Delivery, EndpointId};
use crate::node::inbox::Command;
use crate::node::parts::Parts;
use crate::node::start::BACKLOG;
use crate::store::{Cluster, ShardId, Shards};
use crate::store_backoff::StoreBackoff;

/// Makes this node lead shards that the store says it leads: as often as it takes.
pub(super) async fn acquire(parts: &Parts, cluster: &dyn Cluster, work: &Work, shards: Shards) {
    let mut backoff = StoreBackoff::new();
    while let Err(error) = try_acquire(parts, cluster, work, shards).await {
        tracing::warn!(%error, "shards not loaded, retrying");
        backoff.wait().await;
        // A part of it may be here, and some of that may be settled by the next look.
        unload(parts, shards).await;
    }
}

async fn try_acquire(
    parts: &Parts,
    cluster: &dyn Cluster,
    work: &Work,
    shards: Shards,
) -> Result<(), Error> {
    add_queues(parts, cluster, shards).await?;
    let (now, mut overdue) = (parts.clock.now(), BTreeMap::new());
    let mut unknown = Vec::new();
    let mut page = |mut deliveries: Vec<Delivery>| {
        let is_unknown = |it: &mut Delivery| parts.directory.endpoint(it.endpoint).is_none();
        unknown.extend(deliveries.extract_if(.., is_unknown));
        for endpoint in backlogs(&mut overdue, deliveries.iter().filter(|it| it.due <= now)) {
            recover(parts, endpoint);
        }
        parts.scheduler.tell(Command::Add(deliveries));
    };
    let covered = cluster.load(shards, &mut page).await?;
    if !unknown.is_empty() {
        // Their endpoints were created after the queues were added.
        sync_settings(parts).await?;
        parts.scheduler.tell(Command::Add(unknown));
    }
    work.done(covered);
    parts.leadership.add(shards);
    work.wake();
    Ok(())
}

/// Reads current settings and endpoint states: the former leader writes none any more.
async fn add_queues(parts: &Parts, cluster: &dyn Cluster, shards: Shards) -> Result<(), Error> {
    let _turn = parts.settings_sync.turn.lock().await;
    settings_sync::look(parts, cluster).await?;
    let mut endpoints = parts.store.endpoints().await?;
    endpoints.retain(|(endpoint, _)| shards.contains(ShardId::of(endpoint.id)));
    parts.leadership.add_queues(shards);
    let now = parts.clock.now();
    let lay = move |runner: &mut crate::node::runner::Runner| {
        for (endpoint, endpoint_state) in &endpoints {
            runner.scheduler.put_endpoint(now, endpoint, Some(*endpoint_state));
            runner.remember(endpoint.id, *endpoint_state);
        }
    };
    parts.scheduler.ask(lay).await;
    Ok(())
}

/// The endpoints that have just reached the backlog size, from which on they recover slowly; each
/// is returned once.
pub(super) fn backlogs<'d>(
    counts: &mut BTreeMap<EndpointId, u32>,
    acquiring: impl Iterator<Item = &'d Delivery>,
) -> Vec<EndpointId> {
    let mut reached = Vec::new();
    for delivery in acquiring {
        let count = counts.entry(delivery.endpoint).or_default();
        *count += 1;
        if *count == BACKLOG {
            reached.push(delivery.endpoint);
        }
    }
    reached
}

/// Called before the deliveries are scheduled, so that none of them is sent at full speed.
pub(super) fn recover(parts: &Parts, endpoint: EndpointId) {
    parts.scheduler.tell(Command::Do(Box::new(move |runner| {
        runner.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint));
    })));
}
