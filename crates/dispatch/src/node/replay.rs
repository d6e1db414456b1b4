//! Finished deliveries made pending again, waiting ones made due, and missed ones made, step by step.
//!
//! Replayed deliveries become arrivals, which their leaders take. Where many are asked for, each
//! endpoint that this node leads begins its recovery before they arrive; other leaders detect which
//! endpoints get so many that they must be sent slowly.

use std::collections::BTreeSet;
use std::sync::Arc;

use stagger::Instant;
use stagger_scheduler::model::{
    ApplicationId, Delivery, DeliveryId, Endpoint, EndpointId, FieldPaths, Message, MessageId,
};
use stagger_store::{
    ClusterHandle, DeliveryFilter, DeliveryStore, EndpointCommand, MessageFilter, Notification,
    PageRequest, ReplayRequest, ShardId,
};

use super::clock::EngineClock;
use super::fleet::{Leadership, apply, recover};
use super::health::NodeHealth;
use super::scheduler_state::{Command, Inbox};
use super::tasks::run_to_completion;
use crate::Error;

/// Deliveries in one call of the store: short enough that messages are accepted in between.
const STEP: usize = 500;
/// Messages in one page of those that an endpoint may have missed.
const PAGE: usize = 250;

/// Replays deliveries, and makes waiting ones due.
#[derive(Clone, Debug)]
pub(super) struct Replayer {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) cluster: ClusterHandle,
    pub(super) health: Arc<NodeHealth>,
    pub(super) leadership: Arc<Leadership>,
    pub(super) inbox: Inbox,
    pub(super) clock: EngineClock,
    pub(super) max_open: usize,
    pub(super) app_max_open: usize,
}

impl Replayer {
    /// Replays the requested deliveries; returns their number.
    pub(super) async fn replay(&self, request: ReplayRequest) -> Result<usize, Error> {
        self.health.check()?;
        let this = self.clone();
        run_to_completion(async move {
            match request {
                ReplayRequest::Many(application, filter) => {
                    let request = |filter| ReplayRequest::Many(application, filter);
                    this.many(filter, request, None).await
                }
                ReplayRequest::Waiting(application, filter) => this.due(application, filter).await,
                ReplayRequest::One(..) | ReplayRequest::Missing(..) => {
                    let most = match &request {
                        ReplayRequest::Missing(_, messages) => messages.len(),
                        _ => 1,
                    };
                    let deliveries = this.step(request, most, this.clock.now()).await?;
                    this.announce(&deliveries).await;
                    Ok(deliveries.len())
                }
            }
        })
        .await
    }

    /// Makes waiting deliveries due; returns their number.
    pub(super) async fn retry(
        &self,
        application: ApplicationId,
        filter: DeliveryFilter,
    ) -> Result<usize, Error> {
        self.replay(ReplayRequest::Waiting(application, filter)).await
    }

    /// All steps are of one moment: a delivery that fails again meanwhile is not retried again.
    async fn due(
        &self,
        application: ApplicationId,
        filter: DeliveryFilter,
    ) -> Result<usize, Error> {
        if let Some(endpoint) = filter.endpoint {
            // Also when no delivery waits: those that are due may be held back.
            self.probe(&[endpoint], &mut BTreeSet::new()).await?;
        }
        let request = |filter| ReplayRequest::Waiting(application, filter);
        self.many(filter, request, Some(self.clock.now())).await
    }

    /// Makes deliveries to an endpoint of the messages that it has missed; returns their number. The
    /// newest messages come first, and those that it gets are in the order of their acceptance only
    /// within a page.
    pub(super) async fn replay_missing(
        &self,
        endpoint: Arc<Endpoint>,
        filter: MessageFilter,
    ) -> Result<usize, Error> {
        self.health.check()?;
        let this = self.clone();
        run_to_completion(async move {
            let mut page = PageRequest { after: None, limit: PAGE };
            let (mut count, mut recovering) = (0, BTreeSet::new());
            loop {
                let found = this.store.messages(endpoint.application, filter.clone(), page).await?;
                let messages = this.wanted(&endpoint, &found.items).await?;
                let (of, most) = (endpoint.application, this.app_max_open);
                let _share = this.health.reserve_of(of, messages.len(), most)?;
                let request = ReplayRequest::Missing(endpoint.id, messages);
                let deliveries = this.step(request, PAGE, this.clock.now()).await?;
                count += deliveries.len();
                this.recover(&deliveries, &mut recovering);
                this.announce(&deliveries).await;
                page.after = found.next;
                if page.after.is_none() {
                    return Ok(count);
                }
            }
        })
        .await
    }

    /// The messages that an endpoint subscribes to. A payload that was deleted passes no filter.
    async fn wanted(
        &self,
        endpoint: &Endpoint,
        messages: &[Message],
    ) -> Result<Vec<MessageId>, Error> {
        let paths = FieldPaths::of(&endpoint.filter);
        let mut wanted = Vec::new();
        for message in messages {
            if !endpoint.subscribes_to(&message.event_type, &message.channels) {
                continue;
            }
            if let Some(filter) = &endpoint.filter {
                let payload = self.store.payload(message.id).await?;
                if !payload.is_some_and(|payload| filter.passes(&paths.read(&payload))) {
                    continue;
                }
            }
            wanted.push(message.id);
        }
        Ok(wanted)
    }

    /// Continues after the time of the last message, so that a delivery that dies again meanwhile
    /// is not replayed for ever. `moment` is that of a retry; a replay's steps are each of their own.
    async fn many(
        &self,
        mut filter: DeliveryFilter,
        request: impl Fn(DeliveryFilter) -> ReplayRequest,
        moment: Option<Instant>,
    ) -> Result<usize, Error> {
        let (mut count, mut begun) = (0, BTreeSet::new());
        let mut last: Option<DeliveryId> = None;
        loop {
            let now = moment.unwrap_or_else(|| self.clock.now());
            let deliveries = self.step(request(filter.clone()), STEP, now).await?;
            let (taken, newest) = (deliveries.len(), deliveries.iter().map(name).max());
            count += taken;
            if moment.is_some() {
                let endpoints: Vec<_> = deliveries.iter().map(|it| it.endpoint).collect();
                self.probe(&endpoints, &mut begun).await?;
            } else {
                self.recover(&deliveries, &mut begun);
            }
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

    async fn step(
        &self,
        request: ReplayRequest,
        limit: usize,
        now: Instant,
    ) -> Result<Vec<Delivery>, Error> {
        // Waiting deliveries are counted as open already.
        let new = if matches!(request, ReplayRequest::Waiting(..)) { 0 } else { limit };
        let _room = self.health.reserve(new, self.max_open)?;
        let _share = match request {
            ReplayRequest::Many(application, _) => {
                Some(self.health.reserve_of(application, new, self.app_max_open)?)
            }
            _ => None,
        };
        self.cluster.replay_to_leaders(request, now, limit).await
    }

    /// Each endpoint is probed once, or begins its recovery, before the first of its deliveries
    /// arrives here. Another leader is sent a command.
    async fn probe(
        &self,
        endpoints: &[EndpointId],
        probed: &mut BTreeSet<EndpointId>,
    ) -> Result<(), Error> {
        let held = self.leadership.hold();
        for endpoint in endpoints.iter().copied() {
            if !probed.insert(endpoint) {
                continue;
            }
            if held.leads(endpoint) {
                self.inbox.tell(Command::Do(Box::new(move |state| {
                    apply(state, endpoint, EndpointCommand::Probe);
                })));
            } else if let Err(error) =
                self.cluster.send_command(endpoint, EndpointCommand::Probe).await
                && !error.is_not_found()
            {
                return Err(error);
            }
        }
        Ok(())
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
