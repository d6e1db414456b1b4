//! Shards come: their lanes are laid, and what is open in them is loaded.

use std::collections::BTreeMap;

use super::follow::{self, follow};
use super::vacating::vacate;
use super::work::Work;
use crate::Error;
use crate::model::{Delivery, EndpointId};
use crate::node::inbox::Command;
use crate::node::parts::Parts;
use crate::node::start::BACKLOG;
use crate::patience::Patience;
use crate::store::{Cluster, Shard, Shards};

/// Makes this node lead shards that the store says it leads: as often as it takes.
pub(super) async fn adopt(parts: &Parts, cluster: &dyn Cluster, work: &Work, shards: Shards) {
    let mut patience = Patience::new();
    while let Err(error) = try_adopt(parts, cluster, work, shards).await {
        tracing::warn!(%error, "what is open cannot be loaded, trying again");
        patience.wait().await;
        // A part of it may be here, and some of that may be settled by the next look.
        vacate(parts, shards).await;
    }
}

async fn try_adopt(
    parts: &Parts,
    cluster: &dyn Cluster,
    work: &Work,
    shards: Shards,
) -> Result<(), Error> {
    lay_lanes(parts, cluster, shards).await?;
    let (now, mut overdue) = (parts.clock.now(), BTreeMap::new());
    let mut unknown = Vec::new();
    let mut page = |mut deliveries: Vec<Delivery>| {
        let is_unknown = |it: &mut Delivery| parts.directory.endpoint(it.endpoint).is_none();
        unknown.extend(deliveries.extract_if(.., is_unknown));
        for endpoint in backlogs(&mut overdue, deliveries.iter().filter(|it| it.due <= now)) {
            recover(parts, endpoint);
        }
        parts.floor.tell(Command::Add(deliveries));
    };
    let covered = cluster.load(shards, &mut page).await?;
    if !unknown.is_empty() {
        // Their endpoints were made since the lanes were laid.
        follow(parts).await?;
        parts.floor.tell(Command::Add(unknown));
    }
    work.done(covered);
    parts.leading.add(shards);
    work.wake();
    Ok(())
}

/// Settings and standings as they are now: the former leader writes none any more.
async fn lay_lanes(parts: &Parts, cluster: &dyn Cluster, shards: Shards) -> Result<(), Error> {
    let _turn = parts.following.turn.lock().await;
    follow::look(parts, cluster).await?;
    let mut endpoints = parts.store.endpoints().await?;
    endpoints.retain(|(endpoint, _)| shards.contains(Shard::of(endpoint.id)));
    parts.leading.lay_lanes(shards);
    let now = parts.clock.now();
    let lay = move |runner: &mut crate::node::runner::Runner| {
        for (endpoint, standing) in &endpoints {
            runner.floor.put_endpoint(now, endpoint, Some(*standing));
            runner.remember(endpoint.id, *standing);
        }
    };
    parts.floor.ask(lay).await;
    Ok(())
}

/// The endpoints of which so many have come by now that they must leave slowly; each is named once.
pub(super) fn backlogs<'d>(
    counts: &mut BTreeMap<EndpointId, u32>,
    coming: impl Iterator<Item = &'d Delivery>,
) -> Vec<EndpointId> {
    let mut reached = Vec::new();
    for delivery in coming {
        let count = counts.entry(delivery.endpoint).or_default();
        *count += 1;
        if *count == BACKLOG {
            reached.push(delivery.endpoint);
        }
    }
    reached
}

/// Before the deliveries are told, so that none of them leaves at full speed.
pub(super) fn recover(parts: &Parts, endpoint: EndpointId) {
    parts.floor.tell(Command::Do(Box::new(move |runner| {
        runner.change(endpoint, |floor, now| floor.recover(now, endpoint));
    })));
}
