//! Finished deliveries made pending again, step by step.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::parts::{Parts, run_to_completion};
use super::runner::Runner;
use crate::Error;
use crate::model::{Delivery, EndpointId, MessageId};
use crate::store::{DeliveryFilter, Notification, ReplayRequest, ShardId, Shards};

/// Deliveries in one call of the store: short enough that messages are accepted in between.
const STEP: usize = 500;

/// Replays the requested deliveries; returns their number.
pub(super) async fn replay(parts: Arc<Parts>, request: ReplayRequest) -> Result<usize, Error> {
    parts.health.check()?;
    run_to_completion(async move {
        match request {
            ReplayRequest::One(..) => {
                let deliveries = step(&parts, request, 1).await?;
                let count = deliveries.len();
                if !leave_to_others(&parts, &deliveries).await {
                    parts.scheduler.ask(move |runner| runner.add(&deliveries)).await;
                }
                Ok(count)
            }
            ReplayRequest::Many(application, filter) => {
                many(&parts, filter, |filter| ReplayRequest::Many(application, filter)).await
            }
        }
    })
    .await
}

/// Continues after the time of the last message, so that a delivery that dies again meanwhile is
/// not replayed for ever.
async fn many(
    parts: &Parts,
    mut filter: DeliveryFilter,
    request: impl Fn(DeliveryFilter) -> ReplayRequest,
) -> Result<usize, Error> {
    let (mut count, mut recovering) = (0, BTreeSet::new());
    let mut last: Option<(MessageId, EndpointId)> = None;
    loop {
        let deliveries = step(parts, request(filter), STEP).await?;
        let (taken, newest) = (deliveries.len(), deliveries.iter().map(name).max());
        count += taken;
        if !leave_to_others(parts, &deliveries).await {
            let hand_over = move |runner: &mut Runner| hand_over(runner, &deliveries, recovering);
            recovering = parts.scheduler.ask(hand_over).await.unwrap_or_default();
        }
        if taken < STEP || newest <= last {
            return Ok(count);
        }
        last = newest;
        if let Some((message, _)) = newest {
            let message = parts.store.message(message).await?;
            filter.since = message.map(|message| message.created_at).or(filter.since);
        }
    }
}

async fn step(parts: &Parts, request: ReplayRequest, limit: usize) -> Result<Vec<Delivery>, Error> {
    let _room = parts.health.reserve(limit, parts.options.max_open)?;
    parts.store.replay(request, parts.clock.now(), limit).await
}

/// In a cluster, replayed deliveries become arrivals, which their leaders take. The leaders detect
/// which endpoints get so many that they must be sent slowly.
async fn leave_to_others(parts: &Parts, deliveries: &[Delivery]) -> bool {
    let Some(cluster) = parts.store.cluster() else { return false };
    let shards: Shards = deliveries.iter().map(|it| ShardId::of(it.endpoint)).collect();
    cluster.notify(Notification::Work(shards)).await;
    true
}

/// Each endpoint begins its recovery once, before the first of its deliveries is there.
fn hand_over(
    runner: &mut Runner,
    deliveries: &[Delivery],
    mut recovering: BTreeSet<EndpointId>,
) -> BTreeSet<EndpointId> {
    for endpoint in deliveries.iter().map(|delivery| delivery.endpoint) {
        if recovering.insert(endpoint) {
            runner.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint));
        }
    }
    runner.add(deliveries);
    recovering
}

fn name(delivery: &Delivery) -> (MessageId, EndpointId) {
    (delivery.message, delivery.endpoint)
}
