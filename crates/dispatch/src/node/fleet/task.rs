//! The task that keeps a node among the members of its store.

use std::sync::Arc;

use tokio::sync::watch;

use super::member::{MemberTask, MembershipEnd};
use super::settings_sync::sync_settings;
use crate::Error;
use crate::node::parts::Parts;
use crate::store::Joined;
use crate::store_backoff::StoreBackoff;

/// Becomes a member, and reads the settings for the first time.
pub(in crate::node) async fn join(parts: &Parts) -> Result<Joined, Error> {
    let joined = parts.cluster().join(&parts.options.name()).await?;
    sync_settings(parts).await?;
    Ok(joined)
}

/// Keeps the node a member until it is told to leave and has released all its shards.
pub(in crate::node) async fn run(
    parts: Arc<Parts>,
    mut joined: Joined,
    mut leave: watch::Receiver<bool>,
) {
    loop {
        let mut member = MemberTask::begin(&parts, joined).await;
        let fence = member.fence();
        let end = member.live(&mut leave).await;
        member.end().await;
        match end {
            MembershipEnd::Left => return,
            MembershipEnd::Evicted => {
                tracing::warn!("node evicted by the others, joining again");
            }
            MembershipEnd::Unconfirmed => {
                tracing::warn!("membership ended, joining again under a new fence");
                // Where it fails the others find out by themselves.
                parts.cluster().leave(fence).await.ok();
            }
        }
        joined = tokio::select! {
            again = join_again(&parts) => again,
            () = asked(&mut leave) => return,
        };
    }
}

async fn join_again(parts: &Parts) -> Joined {
    let mut backoff = StoreBackoff::new();
    loop {
        // Called first: the others would count on a member that cannot read settings.
        let joined = match sync_settings(parts).await {
            Ok(()) => join(parts).await,
            Err(error) => Err(error),
        };
        match joined {
            Ok(joined) => return joined,
            Err(error) => tracing::warn!(%error, "join failed, retrying"),
        }
        backoff.wait().await;
    }
}

/// Completes once the node is told to leave; never, if all senders are gone.
pub(super) async fn asked(leave: &mut watch::Receiver<bool>) {
    let asked = leave.wait_for(|leaves| *leaves).await.is_ok();
    if !asked {
        std::future::pending::<()>().await;
    }
}
