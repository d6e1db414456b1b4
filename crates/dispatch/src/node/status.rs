//! The state of a node and of its endpoints at one moment.

use std::sync::Arc;

use stagger::breaker::StateKind;

use super::AttemptRates;
use super::attempt_rates::AttemptCounter;
use super::clock::EngineClock;
use super::directory::Directory;
use super::fleet::{FleetView, Leadership};
use super::health::NodeHealth;
use super::inbox::Inbox;
use super::payloads::PayloadCache;
use super::scheduler_state::SchedulerState;
use crate::Error;
use crate::model::{DeliveryState, EndpointId};
use crate::observe::Gauges;
use crate::scheduler::QueueView;
use crate::store::{ClusterHandle, DeliveryStore, Shards};

/// Reads the state of a node.
#[derive(Debug)]
pub(super) struct NodeStatus {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) cluster: ClusterHandle,
    pub(super) directory: Arc<Directory>,
    pub(super) leadership: Arc<Leadership>,
    pub(super) fleet: Arc<FleetView>,
    pub(super) payloads: Arc<PayloadCache>,
    pub(super) rates: Arc<AttemptCounter>,
    pub(super) health: Arc<NodeHealth>,
    pub(super) inbox: Inbox,
    pub(super) clock: EngineClock,
    pub(super) max_open: usize,
}

impl NodeStatus {
    /// The state of an endpoint's queue, wherever it is.
    pub(super) async fn view(&self, id: EndpointId) -> Option<QueueView> {
        let now = self.clock.now();
        let here = self.inbox.ask(move |state| state.scheduler.view(now, id)).await.flatten();
        match here {
            Some(here) => Some(here),
            // While the store is away nothing is known of it.
            None => self.stored_view(id).await.ok().flatten(),
        }
    }

    /// The state of an endpoint that another node leads, as the store has it: only its leader knows
    /// the attempts in flight and the deliveries that are ready.
    async fn stored_view(&self, id: EndpointId) -> Result<Option<QueueView>, Error> {
        let Some(endpoint_state) = self.cluster.endpoint_state(id).await? else { return Ok(None) };
        let counts = self.store.counts(Some(id)).await?;
        let now = self.clock.now();
        let next_probe = endpoint_state.open.map(|opened| opened.until);
        let breaker = match next_probe {
            None => StateKind::Closed,
            Some(until) if until > now => StateKind::Open,
            Some(_) => StateKind::HalfOpen,
        };
        let count = |state| usize::try_from(counts.of(state)).unwrap_or(usize::MAX);
        let rate = self.directory.endpoint(id).and_then(|endpoint| endpoint.pace.rate);
        Ok(Some(QueueView {
            endpoint_state,
            breaker,
            next_probe,
            ready: count(DeliveryState::Pending),
            waiting: count(DeliveryState::Waiting),
            in_flight: 0,
            rate: rate.map(|rate| u64::from(rate.get())),
        }))
    }

    /// The shards that this node leads.
    pub(super) fn led(&self) -> Shards {
        self.leadership.shards()
    }

    pub(super) fn attempt_rates(&self, endpoint: Option<EndpointId>) -> AttemptRates {
        self.rates.read(endpoint, self.clock.now())
    }

    /// Whether messages can be accepted now.
    pub(super) async fn ready(&self) -> Result<(), Error> {
        self.health.check()?;
        drop(self.health.reserve(1, self.max_open)?);
        self.store.check().await
    }

    /// Counts all queues. Runs when a recorder reads the gauges, a few times a minute.
    pub(super) async fn gauges(&self) -> Gauges {
        let now = self.clock.now();
        let endpoints = self.directory.all_endpoints();
        let count = move |state: &mut SchedulerState| {
            let mut gauges = Gauges::default();
            for view in endpoints.into_iter().filter_map(|id| state.scheduler.view(now, id)) {
                gauges.ready += view.ready;
                gauges.waiting += view.waiting;
                gauges.in_flight += view.in_flight;
                gauges.disabled += usize::from(view.endpoint_state.disabled.is_some());
                gauges.count_breaker(view.breaker);
            }
            gauges
        };
        let gauges = self.inbox.ask(count).await.unwrap_or_default();
        let (unsettled, payload_bytes) = (self.health.unsettled(), self.payloads.bytes());
        let (members, shards) = (self.fleet.members().max(1), self.led().len());
        Gauges { unsettled, payload_bytes, members, shards, ..gauges }
    }
}
