//! The tables of the memory store, and their changes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use stagger::Instant;

use super::arrivals::ArrivalTable;
use super::change_log::{Changed, RecentChanges};
use super::commands::Commands;
use super::members::Members;
use crate::Error;
use crate::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    IdempotencyKey, Message, MessageId, NewMessage,
};
use crate::store::settlement::run_ended;
use crate::store::{
    Accepted, DeliveryCounts, DeliveryFilter, Fence, Pruned, ReplayRequest, Settlement, ShardId,
    Shards,
};

/// Rows by their keys, and secondary indexes.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) applications: BTreeMap<ApplicationId, Application>,
    pub(super) endpoints: BTreeMap<EndpointId, (Endpoint, EndpointState)>,
    pub(super) messages: BTreeMap<MessageId, (Message, Bytes)>,
    pub(super) deliveries: BTreeMap<(MessageId, EndpointId), Delivery>,
    pub(super) open: BTreeSet<(MessageId, EndpointId)>,
    pub(super) attempts: BTreeMap<(MessageId, EndpointId, u32), DeliveryAttempt>,
    pub(super) counts: BTreeMap<Option<EndpointId>, DeliveryCounts>,
    pub(super) members: Members,
    pub(super) arrivals: ArrivalTable,
    pub(super) change_log: RecentChanges,
    pub(super) commands: Commands,
    /// Whether several nodes can share it. If not, no node reads arrivals and setting changes.
    pub(super) shared: bool,
    keys: BTreeMap<(ApplicationId, IdempotencyKey), MessageId>,
    /// Whether something was deleted, so that messages may still come for it.
    deleted: bool,
}

impl Tables {
    pub(super) fn shared() -> Self {
        Self { shared: true, ..Self::default() }
    }

    pub(super) fn put_application(&mut self, application: Application) {
        self.changed(Changed::Application(application.id));
        self.applications.insert(application.id, application);
    }

    pub(super) fn delete_application(&mut self, id: ApplicationId) {
        self.deleted = true;
        if self.applications.remove(&id).is_some() {
            self.changed(Changed::Application(id));
        }
        self.endpoints.retain(|_, (endpoint, _)| endpoint.application != id);
        self.commands.keep(|endpoint| self.endpoints.contains_key(&endpoint));
        let of_it = |(message, _): &&(Message, Bytes)| message.application == id;
        let ids: Vec<_> = self.messages.values().filter(of_it).map(|(m, _)| m.id).collect();
        ids.into_iter().for_each(|message| self.delete_message(message));
    }

    pub(super) fn put_endpoint(&mut self, endpoint: Endpoint) -> Result<(), Error> {
        self.refuse_deleted(endpoint.application)?;
        let endpoint_state =
            self.endpoints.get(&endpoint.id).map_or_else(EndpointState::default, |e| e.1);
        self.changed(Changed::Endpoint(endpoint.id));
        self.endpoints.insert(endpoint.id, (endpoint, endpoint_state));
        Ok(())
    }

    pub(super) fn delete_endpoint(&mut self, id: EndpointId, now: Instant) {
        self.deleted = true;
        if self.endpoints.remove(&id).is_some() {
            self.changed(Changed::Endpoint(id));
        }
        self.commands.keep(|endpoint| endpoint != id);
        let open: Vec<_> = self.open.iter().filter(|(_, to)| *to == id).copied().collect();
        for name in open {
            self.write(self.deliveries[&name].endpoint_deleted(now));
        }
    }

    /// Takes messages; their deliveries outside of `led` arrive.
    pub(super) fn accept(
        &mut self,
        messages: Vec<NewMessage>,
        led: Shards,
    ) -> Result<Vec<Accepted>, Error> {
        messages.iter().try_for_each(|new| self.refuse_deleted(new.message.application))?;
        Ok(messages.into_iter().map(|new| self.accept_one(new, led)).collect())
    }

    pub(super) fn settle(&mut self, fence: Fence, all: Vec<Settlement>) -> Result<(), Error> {
        if !self.members.is_valid(fence) {
            return Err(run_ended(fence));
        }
        all.into_iter().for_each(|settlement| self.settle_one(settlement));
        Ok(())
    }

    pub(super) fn replay(
        &mut self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let found = match request {
            ReplayRequest::One(message, endpoint) => vec![self.replayable(message, endpoint)?],
            ReplayRequest::Many(application, filter) => {
                self.replayable_many(application, &filter, now, limit)
            }
        };
        let replayed: Vec<_> = found.into_iter().map(|delivery| delivery.replayed(now)).collect();
        for delivery in &replayed {
            self.write(*delivery);
            self.arrive(delivery, Shards::NONE);
        }
        Ok(replayed)
    }

    pub(super) fn prune(&mut self, before: Instant, limit: usize) -> Pruned {
        let old = |(message, _): &&(Message, Bytes)| {
            message.created_at < before && self.deliveries_of(message.id).iter().all(is_finished)
        };
        let ids: Vec<_> =
            self.messages.values().filter(old).take(limit).map(|(m, _)| m.id).collect();
        ids.iter().for_each(|message| self.delete_message(*message));
        Pruned { messages: ids.len() }
    }

    fn refuse_deleted(&self, application: ApplicationId) -> Result<(), Error> {
        let gone = self.deleted && !self.applications.contains_key(&application);
        if gone { Err(Error::not_found("application")) } else { Ok(()) }
    }

    fn accept_one(&mut self, new: NewMessage, led: Shards) -> Accepted {
        let message = new.message;
        if let Some(id) = self.repeated(&message) {
            return Accepted { id, repeated: true };
        }
        let (id, application, now) = (message.id, message.application, message.created_at);
        if let Some(key) = &message.key {
            self.keys.insert((application, key.clone()), id);
        }
        self.messages.insert(id, (message, new.payload));
        for endpoint in new.endpoints {
            let delivery = Delivery::new(id, endpoint, application, now);
            let gone = self.deleted && !self.endpoints.contains_key(&endpoint);
            let delivery = if gone { delivery.endpoint_deleted(now) } else { delivery };
            self.write(delivery);
            self.arrive(&delivery, led);
        }
        Accepted { id, repeated: false }
    }

    fn repeated(&self, message: &Message) -> Option<MessageId> {
        let by_key = |key: &IdempotencyKey| self.keys.get(&(message.application, key.clone()));
        message
            .key
            .as_ref()
            .and_then(by_key)
            .copied()
            .or_else(|| self.messages.contains_key(&message.id).then_some(message.id))
    }

    fn settle_one(&mut self, settlement: Settlement) {
        if let Some(delivery) = settlement.delivery {
            let stored = self.deliveries.get(&(delivery.message, delivery.endpoint));
            if stored.is_some_and(|stored| stored.state.is_open() || !delivery.state.is_open()) {
                self.write(delivery);
            }
        }
        if let Some(attempt) = settlement.attempt {
            let of = (attempt.message, attempt.endpoint);
            if self.deliveries.contains_key(&of) {
                self.attempts.insert((of.0, of.1, attempt.number), attempt);
            }
        }
        if let Some((endpoint, endpoint_state)) = settlement.endpoint_state
            && let Some(row) = self.endpoints.get_mut(&endpoint)
        {
            row.1 = endpoint_state;
        }
        if let Some(new) = settlement.operational
            && self.refuse_deleted(new.message.application).is_ok()
        {
            self.accept_one(new, Shards::NONE);
        }
    }

    /// Adds an arrival for the leader of the endpoint, unless its shard is in `led`.
    fn arrive(&mut self, delivery: &Delivery, led: Shards) {
        let known = !self.shared || led.contains(ShardId::of(delivery.endpoint));
        if !known && delivery.state.is_open() {
            self.arrivals.add(delivery);
        }
    }

    fn changed(&mut self, what: Changed) {
        if self.shared {
            self.change_log.add(what);
        }
    }

    fn replayable(&self, message: MessageId, endpoint: EndpointId) -> Result<Delivery, Error> {
        let delivery = self.delivery(message, endpoint).ok_or(Error::not_found("delivery"))?;
        if delivery.state.is_open() {
            return Err(Error::conflict("the delivery is still open"));
        }
        if !self.endpoints.contains_key(&endpoint) {
            return Err(Error::not_found("endpoint"));
        }
        Ok(delivery)
    }

    fn replayable_many(
        &self,
        application: ApplicationId,
        filter: &DeliveryFilter,
        now: Instant,
        limit: usize,
    ) -> Vec<Delivery> {
        let Some(state) = ReplayRequest::state_of_many(filter) else { return Vec::new() };
        let filter = DeliveryFilter { state: Some(state), ..*filter };
        let wanted = |delivery: &&Delivery| {
            delivery.application == application
                && delivery.updated_at <= now
                && self.endpoints.contains_key(&delivery.endpoint)
                && filter.passes(delivery, self.accepted_at(delivery))
        };
        self.deliveries.values().filter(wanted).take(limit).copied().collect()
    }

    /// Writes a delivery and counts it.
    fn write(&mut self, delivery: Delivery) {
        let name = (delivery.message, delivery.endpoint);
        if let Some(before) = self.deliveries.insert(name, delivery) {
            self.count(&before, u64::saturating_sub);
        }
        self.count(&delivery, u64::saturating_add);
        if delivery.state.is_open() {
            self.open.insert(name);
        } else {
            self.open.remove(&name);
        }
    }

    fn count(&mut self, delivery: &Delivery, change: fn(u64, u64) -> u64) {
        for whose in [None, Some(delivery.endpoint)] {
            let counts = self.counts.entry(whose).or_default();
            counts.set(delivery.state, change(counts.of(delivery.state), 1));
        }
    }

    fn delete_message(&mut self, id: MessageId) {
        self.arrivals.forget_message(id);
        for delivery in self.deliveries_of(id) {
            let name = (id, delivery.endpoint);
            self.attempts(id, delivery.endpoint).iter().for_each(|attempt| {
                self.attempts.remove(&(name.0, name.1, attempt.number));
            });
            self.count(&delivery, u64::saturating_sub);
            self.open.remove(&name);
            self.deliveries.remove(&name);
        }
        if let Some((Message { application, key: Some(key), .. }, _)) = self.messages.remove(&id) {
            self.keys.remove(&(application, key));
        }
    }
}

const fn is_finished(delivery: &Delivery) -> bool {
    !delivery.state.is_open()
}
