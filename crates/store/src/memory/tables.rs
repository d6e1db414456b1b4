//! The tables of the memory store, and their changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, DeliveryAttempt, Endpoint, EndpointId, EndpointState,
    IdempotencyKey, Message, MessageId, NewMessage,
};

use crate::calls::is_open;
use crate::calls::{Redelivery, run_ended, settles};
use crate::{
    Accepted, AuditEntry, DeliveryCounts, DeliveryFilter, DocumentKey, Error, Fence, MOST_AUDITED,
    Pruned, ReplayRequest, SettingDocument, Settlement,
};

/// Rows by their keys, and secondary indexes.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) applications: BTreeMap<ApplicationId, Application>,
    pub(crate) endpoints: BTreeMap<EndpointId, (Endpoint, EndpointState)>,
    /// Each with its payload, unless that was deleted.
    pub(crate) messages: BTreeMap<MessageId, (Message, Option<Bytes>)>,
    pub(crate) deliveries: BTreeMap<(MessageId, EndpointId), Delivery>,
    pub(crate) open: BTreeSet<(MessageId, EndpointId)>,
    pub(super) attempts: BTreeMap<(MessageId, EndpointId, u32), DeliveryAttempt>,
    pub(super) counts: BTreeMap<Option<EndpointId>, DeliveryCounts>,
    /// The run that has the store, once one has begun.
    run: Option<Fence>,
    keys: BTreeMap<(ApplicationId, IdempotencyKey), MessageId>,
    /// The audit log, oldest first, and the number of its last entry.
    pub(super) audit: VecDeque<AuditEntry>,
    audited: u64,
    pub(crate) documents: BTreeMap<DocumentKey, SettingDocument>,
    /// Whether something was deleted, so that messages may still come for it.
    deleted: bool,
}

impl Tables {
    pub(super) fn begin_run(&mut self) -> Fence {
        let fence = Fence(self.run.map_or(1, |run| run.0 + 1));
        self.run = Some(fence);
        fence
    }

    pub(super) fn record_audit(&mut self, entry: AuditEntry) {
        self.audited += 1;
        self.audit.push_back(AuditEntry { number: self.audited, ..entry });
        if self.audit.len() as u64 > MOST_AUDITED {
            self.audit.pop_front();
        }
    }

    /// Writes a document; its last use stays.
    pub(crate) fn put_document(&mut self, document: SettingDocument) {
        let used_on = self.documents.get(&document.key).and_then(|before| before.used_on);
        self.documents.insert(document.key.clone(), SettingDocument { used_on, ..document });
    }

    pub(crate) fn note_use(&mut self, key: &DocumentKey, day: u32) {
        if let Some(document) = self.documents.get_mut(key) {
            document.used_on = document.used_on.max(Some(day));
        }
    }

    pub(crate) fn put_application(&mut self, application: Application) {
        self.applications.insert(application.id, application);
    }

    /// Deletes it with all that is its own; false if it was not there.
    pub(crate) fn delete_application(&mut self, id: ApplicationId) -> bool {
        self.deleted = true;
        let was_there = self.applications.remove(&id).is_some();
        self.endpoints.retain(|_, (endpoint, _)| endpoint.application != id);
        let of_it = |(message, _): &&(Message, Option<Bytes>)| message.application == id;
        let ids: Vec<_> = self.messages.values().filter(of_it).map(|(m, _)| m.id).collect();
        ids.into_iter().for_each(|message| self.delete_message(message));
        was_there
    }

    pub(crate) fn put_endpoint(&mut self, endpoint: Endpoint) -> Result<(), Error> {
        self.refuse_deleted(endpoint.application)?;
        let endpoint_state =
            self.endpoints.get(&endpoint.id).map_or_else(EndpointState::default, |e| e.1);
        self.endpoints.insert(endpoint.id, (endpoint, endpoint_state));
        Ok(())
    }

    /// Deletes it and ends its deliveries; false if it was not there.
    pub(crate) fn delete_endpoint(&mut self, id: EndpointId, now: Instant) -> bool {
        self.deleted = true;
        let was_there = self.endpoints.remove(&id).is_some();
        let open: Vec<_> = self.open.iter().filter(|(_, to)| *to == id).copied().collect();
        for name in open {
            self.write(self.deliveries[&name].endpoint_deleted(now));
        }
        was_there
    }

    pub(crate) fn accept(&mut self, messages: Vec<NewMessage>) -> Result<Vec<Accepted>, Error> {
        messages.iter().try_for_each(|new| self.refuse_deleted(new.message.application))?;
        Ok(messages.into_iter().map(|new| self.accept_one(new)).collect())
    }

    pub(super) fn settle(&mut self, fence: Fence, all: Vec<Settlement>) -> Result<(), Error> {
        if self.run != Some(fence) {
            return Err(run_ended(fence));
        }
        all.into_iter().for_each(|settlement| self.settle_one(settlement));
        Ok(())
    }

    pub(crate) fn replay(
        &mut self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let found = match request {
            ReplayRequest::One(message, endpoint) => {
                (Redelivery::Replay, vec![self.replayable(message, endpoint)?])
            }
            ReplayRequest::Many(application, filter) => {
                let kind = Redelivery::Replay;
                (kind, self.redeliverable(kind, application, &filter, now, limit))
            }
            ReplayRequest::Missing(endpoint, messages) => {
                return self.deliver_missing(endpoint, messages, now);
            }
            ReplayRequest::Waiting(application, filter) => {
                let kind = Redelivery::Retry;
                (kind, self.redeliverable(kind, application, &filter, now, limit))
            }
        };
        let (kind, found) = found;
        let replayed: Vec<_> =
            found.into_iter().map(|delivery| kind.change(delivery, now)).collect();
        for delivery in &replayed {
            self.write(*delivery);
        }
        Ok(replayed)
    }

    fn deliver_missing(
        &mut self,
        to: EndpointId,
        messages: Vec<MessageId>,
        now: Instant,
    ) -> Result<Vec<Delivery>, Error> {
        let gone = || Error::not_found("endpoint");
        let application = self.endpoints.get(&to).ok_or_else(gone)?.0.application;
        let is_missing = |id: &MessageId| {
            self.messages.get(id).is_some_and(|(it, _)| it.application == application)
                && !self.deliveries.contains_key(&(*id, to))
        };
        let missing: BTreeSet<_> = messages.into_iter().filter(is_missing).collect();
        let new = |id| Delivery::new(id, to, application, now).replayed(now);
        let added: Vec<_> = missing.into_iter().map(new).collect();
        added.iter().for_each(|delivery| self.write(*delivery));
        Ok(added)
    }

    pub(crate) fn prune(
        &mut self,
        of: Option<ApplicationId>,
        before: Instant,
        limit: usize,
    ) -> Pruned {
        let old = |(message, _): &&(Message, Option<Bytes>)| {
            of.is_none_or(|of| message.application == of)
                && message.created_at < before
                && self.deliveries_of(message.id).iter().all(is_finished)
        };
        let ids: Vec<_> =
            self.messages.values().filter(old).take(limit).map(|(m, _)| m.id).collect();
        ids.iter().for_each(|message| self.delete_message(*message));
        Pruned { messages: ids.len() }
    }

    /// Deletes a message without open deliveries; whether it was there.
    pub(crate) fn delete_finished(&mut self, id: MessageId) -> Result<bool, Error> {
        if !self.deliveries_of(id).iter().all(is_finished) {
            return Err(is_open(id));
        }
        let is_there = self.messages.contains_key(&id);
        self.delete_message(id);
        Ok(is_there)
    }

    /// Deletes the payload of a message without open deliveries, and the replies; whether the message was there.
    pub(crate) fn delete_payload(&mut self, id: MessageId) -> Result<bool, Error> {
        if !self.deliveries_of(id).iter().all(is_finished) {
            return Err(is_open(id));
        }
        let Some((_, payload)) = self.messages.get_mut(&id) else { return Ok(false) };
        *payload = None;
        let of_it = self.attempts.values_mut().filter(|attempt| attempt.message == id);
        of_it.for_each(|attempt| attempt.reply = Bytes::new());
        Ok(true)
    }

    fn refuse_deleted(&self, application: ApplicationId) -> Result<(), Error> {
        let gone = self.deleted && !self.applications.contains_key(&application);
        if gone { Err(Error::not_found("application")) } else { Ok(()) }
    }

    fn accept_one(&mut self, new: NewMessage) -> Accepted {
        let message = new.message;
        if let Some(id) = self.repeated(&message) {
            return Accepted { id, repeated: true };
        }
        let (id, application, now) = (message.id, message.application, message.created_at);
        if let Some(key) = &message.key {
            self.keys.insert((application, key.clone()), id);
        }
        self.messages.insert(id, (message, Some(new.payload)));
        for endpoint in new.endpoints {
            let delivery = Delivery::new(id, endpoint, application, now);
            let gone = self.deleted && !self.endpoints.contains_key(&endpoint);
            let delivery = if gone { delivery.endpoint_deleted(now) } else { delivery };
            self.write(delivery);
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

    pub(crate) fn settle_one(&mut self, settlement: Settlement) {
        if let Some(delivery) = settlement.delivery {
            let stored = self.deliveries.get(&(delivery.message, delivery.endpoint));
            if stored.is_some_and(|stored| settles(&delivery, stored.state, stored.replays)) {
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
        for new in settlement.operational {
            if self.refuse_deleted(new.message.application).is_ok() {
                self.accept_one(new);
            }
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

    fn redeliverable(
        &self,
        kind: Redelivery,
        application: ApplicationId,
        filter: &DeliveryFilter,
        now: Instant,
        limit: usize,
    ) -> Vec<Delivery> {
        let Some(filter) = kind.narrow(filter) else { return Vec::new() };
        let wanted = |delivery: &&Delivery| {
            delivery.application == application
                && kind.applies(delivery, now)
                && self.endpoints.contains_key(&delivery.endpoint)
                && self.passes(&filter, delivery)
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
