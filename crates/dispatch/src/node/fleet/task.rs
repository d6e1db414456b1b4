//! The task that keeps a node among the members of its store.

use std::sync::Arc;

use stagger::Instant;
use stagger_store::{Fence, Joined, StoreBackoff};
use tokio::sync::watch;

use super::member::{MemberTask, MembershipEnd, asked};
use super::shard_mover::FleetLinks;
use crate::Error;
use crate::node::health::HealthState;

/// Becomes a member, and reads the settings for the first time.
pub(in crate::node) async fn join(links: &Arc<FleetLinks>) -> Result<MemberTask, Error> {
    let joined = links.cluster.join(&links.name).await?;
    begin(links, joined).await
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
        member = match begin_again(&links, fence, &mut leave).await {
            Ok(Some(again)) => again,
            Ok(None) => return,
            Err(error) => return stop_for_other_run(&links, &error).await,
        };
    }
}

/// Joins as often as it takes; `None` if the node is told to leave before it is a member again. A
/// try runs to its end even then: one that was dropped may have taken effect, and would leave a
/// member behind.
///
/// # Errors
/// Another run has the store.
async fn begin_again(
    links: &Arc<FleetLinks>,
    ended: Fence,
    leave: &mut watch::Receiver<bool>,
) -> Result<Option<MemberTask>, Error> {
    let mut backoff = StoreBackoff::default();
    while !*leave.borrow() {
        match try_again(links, ended).await {
            Ok(member) => return Ok(Some(member)),
            Err(error) if error.is_conflict() => return Err(error),
            Err(error) => tracing::warn!(%error, "join failed, retrying"),
        }
        tokio::select! {
            () = backoff.wait() => {}
            () = asked(leave) => {}
        }
    }
    Ok(None)
}

async fn try_again(links: &Arc<FleetLinks>, ended: Fence) -> Result<MemberTask, Error> {
    // Called first: the others would count on a member that cannot read settings.
    links.settings.sync().await?;
    let joined = links.cluster.rejoin(&links.name, ended).await?;
    begin(links, joined).await
}

/// Begins a membership; one that cannot begin ends.
async fn begin(links: &Arc<FleetLinks>, joined: Joined) -> Result<MemberTask, Error> {
    let fence = joined.fence;
    let begun = async {
        links.settings.sync().await?;
        MemberTask::begin(links, joined).await
    };
    let begun = begun.await;
    if begun.is_err() {
        // Where it fails the others find out by themselves.
        links.cluster.leave(fence).await.ok();
    }
    begun
}

/// Stops the node: it would repeat the attempts of the other run.
async fn stop_for_other_run(links: &FleetLinks, error: &Error) {
    tracing::error!(%error, "store taken over by another run, stopping");
    links.health.turn(HealthState::Ended(format!("another run owns the store: {error}")));
    links.inbox.ask(|state| state.end(Instant::ORIGIN)).await;
}
