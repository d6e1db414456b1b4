//! The task that keeps a node among the members of its store.

use std::sync::Arc;

use stagger::Instant;
use tokio::sync::watch;

use super::links::FleetLinks;
use super::member::{MemberTask, MembershipEnd, asked};
use crate::Error;
use crate::node::health::HealthState;
use crate::store::{Fence, Joined};
use crate::store_backoff::StoreBackoff;

/// Becomes a member, and reads the settings for the first time.
pub(in crate::node) async fn join(links: &FleetLinks) -> Result<Joined, Error> {
    let joined = links.cluster.join(&links.name).await?;
    links.settings.sync().await?;
    Ok(joined)
}

/// Keeps the node a member until it is told to leave and has released all its shards, or until another
/// run has the store.
pub(in crate::node) async fn run(
    links: Arc<FleetLinks>,
    mut member: MemberTask,
    mut leave: watch::Receiver<bool>,
) {
    loop {
        let fence = member.fence();
        let end = member.live(&mut leave).await;
        member.end().await;
        match end {
            MembershipEnd::Left => return,
            MembershipEnd::Evicted => tracing::warn!("membership ended by others, joining again"),
            MembershipEnd::Unconfirmed => {
                tracing::warn!("membership ended, joining again under a new fence");
                // Where it fails the others find out by themselves.
                links.cluster.leave(fence).await.ok();
            }
        }
        member = tokio::select! {
            again = begin_again(&links, fence) => match again {
                Ok(again) => again,
                Err(error) => return stop_for_other_run(&links, &error).await,
            },
            () = asked(&mut leave) => return,
        };
    }
}

/// Joins as often as it takes.
///
/// # Errors
/// Another run has the store.
async fn begin_again(links: &Arc<FleetLinks>, ended: Fence) -> Result<MemberTask, Error> {
    let mut backoff = StoreBackoff::new();
    loop {
        match try_again(links, ended).await {
            Err(error) if error.is_conflict() => return Err(error),
            Err(error) => tracing::warn!(%error, "join failed, retrying"),
            begun => return begun,
        }
        backoff.wait().await;
    }
}

async fn try_again(links: &Arc<FleetLinks>, ended: Fence) -> Result<MemberTask, Error> {
    // Called first: the others would count on a member that cannot read settings.
    links.settings.sync().await?;
    let joined = links.cluster.rejoin(&links.name, ended).await?;
    links.settings.sync().await?;
    MemberTask::begin(links, joined).await
}

/// Stops the node: it would repeat the attempts of the other run.
async fn stop_for_other_run(links: &FleetLinks, error: &Error) {
    tracing::error!(%error, "store taken over by another run, stopping");
    links.health.turn(HealthState::Ended(format!("another run owns the store: {error}")));
    links.inbox.ask(|state| state.end(Instant::ORIGIN)).await;
}
