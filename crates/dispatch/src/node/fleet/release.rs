//! Releases shards: launches no more of their attempts, stores the results of those in flight, and
//! removes their queues.

use stagger::{Sleep, Span, TokioTime};

use crate::Error;
use crate::model::EndpointId;
use crate::node::parts::Parts;
use crate::node::runner::Runner;
use crate::store::{Cluster, Notification, ShardId, Shards};

/// The pause between two checks whether attempts have ended.
const LOOK: Span = Span::from_millis(20);

/// Releases shards of this node: each as soon as none of its attempts is in flight.
///
/// Notifies the other nodes after each step, so that they acquire shards while the last attempts
/// are still in flight.
///
/// # Errors
/// The release is not confirmed. The call may still arrive, and must not take a shard that this
/// node has acquired again by then: the membership has to end.
pub(super) async fn release(
    parts: &Parts,
    cluster: &dyn Cluster,
    shards: Shards,
) -> Result<(), Error> {
    let fence = parts.leadership.hold().lead().fence;
    parts.leadership.remove(shards).over().await;
    rest(parts, shards).await;
    let mut left = shards;
    while !left.is_empty() {
        let idle = idle(parts, left).await;
        if idle.is_empty() {
            TokioTime.sleep(LOOK).await;
            continue;
        }
        clear(parts, idle).await;
        cluster.release(fence, idle).await?;
        left = left.without(idle);
        cluster.notify(Notification::Members).await;
    }
    Ok(())
}

/// Removes the queues of shards, once the results of their attempts are stored.
pub(super) async fn unload(parts: &Parts, shards: Shards) {
    rest(parts, shards).await;
    while idle(parts, shards).await != shards {
        TokioTime.sleep(LOOK).await;
    }
    clear(parts, shards).await;
}

async fn rest(parts: &Parts, shards: Shards) {
    let endpoints = endpoints(parts, shards);
    let rest = move |runner: &mut Runner| {
        endpoints.iter().for_each(|endpoint| runner.scheduler.drain(*endpoint));
    };
    parts.scheduler.ask(rest).await;
}

/// The shards without attempts in flight.
async fn idle(parts: &Parts, shards: Shards) -> Shards {
    let endpoints = endpoints(parts, shards);
    let busy = move |runner: &mut Runner| -> Shards {
        let busy = endpoints.iter().filter(|endpoint| !runner.scheduler.is_idle(**endpoint));
        busy.map(|endpoint| ShardId::of(*endpoint)).collect()
    };
    // Without a scheduler no attempt is in flight.
    shards.without(parts.scheduler.ask(busy).await.unwrap_or_default())
}

/// Stores the endpoint states, then removes the queues.
async fn clear(parts: &Parts, shards: Shards) {
    let _turn = parts.settings_sync.turn.lock().await;
    if let Some(stored) = parts.scheduler.ask(|runner| runner.flushed()).await {
        // Lost means that another node leads them, which is as good.
        stored.wait().await.ok();
    }
    let endpoints = endpoints(parts, shards);
    parts.leadership.remove_queues(shards);
    let forget = move |runner: &mut Runner| {
        endpoints.iter().for_each(|endpoint| runner.forget(*endpoint));
    };
    parts.scheduler.ask(forget).await;
}

fn endpoints(parts: &Parts, shards: Shards) -> Vec<EndpointId> {
    let mut all = parts.directory.all_endpoints();
    all.retain(|endpoint| shards.contains(ShardId::of(*endpoint)));
    all
}
