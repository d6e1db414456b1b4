//! Finished deliveries made pending again, step by step.
//!
//! Replayed deliveries become arrivals, which their leaders take. Where many are asked for, each
//! endpoint that this node leads begins its recovery before they arrive; other leaders detect which
//! endpoints get so many that they must be sent slowly.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::clock::EngineClock;
use super::fleet::{Leadership, recover};
use super::health::NodeHealth;
use super::inbox::Inbox;
use super::tasks::run_to_completion;
use crate::Error;
use crate::model::{Delivery, DeliveryId, EndpointId};
use crate::store::{
    ClusterHandle, DeliveryFilter, DeliveryStore, Notification, ReplayRequest, ShardId,
};

/// Deliveries in one call of the store: short enough that messages are accepted in between.
const STEP: usize = 500;

/// Replays deliveries.
#[derive(Clone, Debug)]
pub(super) struct Replayer {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) cluster: ClusterHandle,
    pub(super) health: Arc<NodeHealth>,
    pub(super) leadership: Arc<Leadership>,
    pub(super) inbox: Inbox,
    pub(super) clock: EngineClock,
    pub(super) max_open: usize,
}

impl Replayer {
    /// Replays the requested deliveries; returns their number.
    pub(super) async fn replay(&self, request: ReplayRequest) -> Result<usize, Error> {
        self.health.check()?;
        let this = self.clone();
        run_to_completion(async move {
            match request {
                ReplayRequest::One(..) => {
                    let deliveries = this.step(request, 1).await?;
                    this.announce(&deliveries).await;
                    Ok(deliveries.len())
                }
                ReplayRequest::Many(application, filter) => {
                    this.many(filter, |filter| ReplayRequest::Many(application, filter)).await
                }
            }
        })
        .await
    }

    /// Continues after the time of the last message, so that a delivery that dies again meanwhile
    /// is not replayed for ever.
    async fn many(
        &self,
        mut filter: DeliveryFilter,
        request: impl Fn(DeliveryFilter) -> ReplayRequest,
    ) -> Result<usize, Error> {
        let (mut count, mut recovering) = (0, BTreeSet::new());
        let mut last: Option<DeliveryId> = None;
        loop {
            let deliveries = self.step(request(filter), STEP).await?;
            let (taken, newest) = (deliveries.len(), deliveries.iter().map(name).max());
            count += taken;
            self.recover(&deliveries, &mut recovering);
            self.announce(&deliveries).await;
            if taken < STEP || newest <= last {
                return Ok(count);
            }
            last = newest;
            if let Some((message, _)) = newest {
                let message = self.store.message(message).await?;
                filter.since = message.map(|message| message.created_at).or(filter.since);
            }
        }
    }

    async fn step(&self, request: ReplayRequest, limit: usize) -> Result<Vec<Delivery>, Error> {
        let _room = self.health.reserve(limit, self.max_open)?;
        self.cluster.replay_to_leaders(request, self.clock.now(), limit).await
    }

    /// Each endpoint of this node begins its recovery once, before the first of its deliveries
    /// arrives.
    fn recover(&self, deliveries: &[Delivery], recovering: &mut BTreeSet<EndpointId>) {
        let held = self.leadership.hold();
        for endpoint in deliveries.iter().map(|delivery| delivery.endpoint) {
            if held.leads(endpoint) && recovering.insert(endpoint) {
                recover(endpoint, &self.inbox);
            }
        }
    }

    /// Notifies the leaders.
    async fn announce(&self, deliveries: &[Delivery]) {
        let shards = deliveries.iter().map(|it| ShardId::of(it.endpoint)).collect();
        self.cluster.notify(Notification::Work(shards)).await;
    }
}

fn name(delivery: &Delivery) -> DeliveryId {
    (delivery.message, delivery.endpoint)
}
