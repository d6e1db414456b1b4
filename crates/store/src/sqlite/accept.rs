//! Messages come in, with everything that becomes durable together.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};
use stagger::Instant;
use stagger_scheduler::model::{
    ApplicationId, Delivery, EndpointId, Message, MessageId, NewMessage,
};

use super::row::{DbError, application_id, from_instant, from_size, message_id};
use super::writer::Changes;
use crate::encoding::state_number;
use crate::{Accepted, Error, document};

impl Changes<'_> {
    /// Takes `messages`, all or none.
    pub(super) fn accept(&mut self, messages: &[NewMessage]) -> Result<Vec<Accepted>, DbError> {
        for new in messages {
            self.refuse_deleted(new.message.application)?;
        }
        messages.iter().map(|new| Ok(self.accept_one(new)?)).collect()
    }

    /// Takes one message of an application that is there.
    pub(super) fn accept_one(&mut self, new: &NewMessage) -> rusqlite::Result<Accepted> {
        let message = &new.message;
        if let Some(id) = self.repeated(message)? {
            return Ok(Accepted { id, repeated: true });
        }
        self.widen_slack(message)?;
        self.lower_floor(message.id);
        self.insert_message(new)?;
        for endpoint in &new.endpoints {
            self.insert_delivery(message, *endpoint)?;
        }
        Ok(Accepted { id: message.id, repeated: false })
    }

    /// Refuses messages for an application that was deleted in the meantime.
    pub(super) fn refuse_deleted(&self, application: ApplicationId) -> Result<(), DbError> {
        let sql = "SELECT 1 FROM application WHERE id = ?1 AND NOT gone";
        if self.memory.deleted && !self.db.prepare_cached(sql)?.exists([application.as_bytes()])? {
            return Err(Error::not_found("application").into());
        }
        Ok(())
    }

    /// Whether `endpoint` is there.
    pub(super) fn has_endpoint(&self, endpoint: EndpointId) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM endpoint WHERE id = ?1 AND gone_at IS NULL";
        self.db.prepare_cached(sql)?.exists([endpoint.as_bytes()])
    }

    /// The message that `message` repeats, by its key or by its id.
    fn repeated(&self, message: &Message) -> rusqlite::Result<Option<MessageId>> {
        if let Some(key) = &message.key {
            let sql = "SELECT id FROM message WHERE application = ?1 AND key = ?2";
            let mut find = self.db.prepare_cached(sql)?;
            let named = params![message.application.as_bytes(), key.as_str()];
            let first = find.query_row(named, |row| message_id(row, 0));
            if let Some(first) = first.optional()? {
                return Ok(Some(first));
            }
        }
        let mut find = self.db.prepare_cached("SELECT 1 FROM message WHERE id = ?1")?;
        Ok(find.exists([message.id.as_bytes()])?.then_some(message.id))
    }

    fn insert_message(&self, new: &NewMessage) -> rusqlite::Result<()> {
        let sql = "INSERT INTO payload (bytes) VALUES (?1)";
        let payload = self.db.prepare_cached(sql)?.insert([&new.payload[..]])?;
        let sql = "INSERT INTO message (id, application, event_type, key, content_type, size, \
                   created_at, payload, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let message = &new.message;
        self.db.prepare_cached(sql)?.execute(params![
            message.id.as_bytes(),
            message.application.as_bytes(),
            message.event_type.as_str(),
            message.key.as_ref().map(|key| key.as_str()),
            message.content_type,
            from_size(message.size),
            from_instant(message.created_at),
            payload,
            document::of_message(message)?,
        ])?;
        Ok(())
    }

    fn insert_delivery(&mut self, of: &Message, endpoint: EndpointId) -> rusqlite::Result<()> {
        let mut delivery = Delivery::new(of.id, endpoint, of.application, of.created_at);
        if self.memory.deleted && !self.has_endpoint(endpoint)? {
            delivery = delivery.endpoint_deleted(of.created_at);
        }
        self.insert_new(&delivery).map(drop)
    }

    /// Writes a delivery without attempts, unless it is there; whether it was not.
    fn insert_new(&mut self, delivery: &Delivery) -> rusqlite::Result<bool> {
        let sql = "INSERT INTO delivery (message, endpoint, application, state, due, attempts, \
                   replays, ending, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?5) \
                   ON CONFLICT DO NOTHING";
        let inserted = self.db.prepare_cached(sql)?.execute(params![
            delivery.message.as_bytes(),
            delivery.endpoint.as_bytes(),
            delivery.application.as_bytes(),
            state_number(delivery.state),
            from_instant(delivery.due),
            delivery.replays,
            delivery.ending.map(|ending| ending.name()),
        ])?;
        if inserted > 0 {
            self.tally.add(delivery.endpoint, delivery.state);
        }
        Ok(inserted > 0)
    }

    /// Makes deliveries to `endpoint` of those of `messages` that are its application's and have none.
    pub(super) fn deliver_missing(
        &mut self,
        endpoint: EndpointId,
        messages: &[MessageId],
        now: Instant,
    ) -> Result<Vec<Delivery>, DbError> {
        let sql = "SELECT application FROM endpoint WHERE id = ?1 AND gone_at IS NULL";
        let owner = self
            .db
            .prepare_cached(sql)?
            .query_row([endpoint.as_bytes()], |row| application_id(row, 0))
            .optional()?;
        let application = owner.ok_or(Error::not_found("endpoint"))?;
        let sql = "SELECT 1 FROM message WHERE id = ?1 AND application = ?2";
        let mut added = Vec::new();
        for message in messages.iter().collect::<BTreeSet<_>>() {
            let bound = params![message.as_bytes(), application.as_bytes()];
            if !self.db.prepare_cached(sql)?.exists(bound)? {
                continue;
            }
            let delivery = Delivery::new(*message, endpoint, application, now).replayed(now);
            if self.insert_new(&delivery)? {
                added.push(delivery);
            }
        }
        Ok(added)
    }
}
