//! Results of attempts, and replays.

use rusqlite::{Connection, OptionalExtension, params};
use stagger::Instant;
use stagger_scheduler::model::{
    ApplicationId, Delivery, DeliveryAttempt, DeliveryId, DeliveryState, EndpointId, EndpointState,
    MessageId,
};

use super::lookups;
use super::row::{DbError, from_instant, from_span};
use super::writer::Changes;
use crate::calls::{Redelivery, run_ended, settles};
use crate::encoding::{state, state_number};
use crate::walk::{Walk, WalkOrder};
use crate::{Cursor, DeliveryFilter, Error, Fence, Settlement, document, encoding};

impl Changes<'_> {
    /// A new run begins.
    pub(super) fn begin_run(&mut self) -> Result<Fence, DbError> {
        let sql = "UPDATE mark SET value = value + 1 WHERE name = 'run' RETURNING value";
        let run: i64 = self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(Fence(run.cast_unsigned()))
    }

    /// Writes `settlements`, unless a newer run than that of `fence` has begun.
    pub(super) fn settle(
        &mut self,
        fence: Fence,
        settlements: &[Settlement],
    ) -> Result<(), DbError> {
        let sql = "SELECT value FROM mark WHERE name = 'run'";
        let run: i64 = self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        if run == 0 || fence != Fence(run.cast_unsigned()) {
            return Err(run_ended(fence).into());
        }
        settlements.iter().try_for_each(|settlement| self.settle_one(settlement))
    }

    /// Writes something that changes nothing, to see whether writing works.
    pub(super) fn touch(&mut self) -> Result<(), DbError> {
        self.db.prepare_cached("UPDATE mark SET value = value WHERE name = 'run'")?.execute([])?;
        Ok(())
    }

    /// Writes about 256 KiB, as much as a message. A full disk lets smaller writes pass for long.
    pub(super) fn fill_room(&mut self) -> Result<(), DbError> {
        self.clear_room()?;
        let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 256) \
                   INSERT INTO mark SELECT 'room ' || printf('%04d', i) || hex(zeroblob(500)), 0 FROM n";
        self.db.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// Deletes that again.
    pub(super) fn clear_room(&mut self) -> Result<(), DbError> {
        let sql = "DELETE FROM mark WHERE name >= 'room ' AND name < 'room!'";
        self.db.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// The state of a delivery, if there is one.
    pub(super) fn state_of(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> rusqlite::Result<Option<DeliveryState>> {
        let sql = "SELECT state FROM delivery WHERE message = ?1 AND endpoint = ?2";
        let mut find = self.db.prepare_cached(sql)?;
        let name = params![message.as_bytes(), endpoint.as_bytes()];
        find.query_row(name, |row| Ok(state(row.get(0)?)?)).optional()
    }

    /// The stored state of a delivery, and its number of replays, if there is one.
    fn stored(&self, delivery: &Delivery) -> rusqlite::Result<Option<(DeliveryState, u32)>> {
        let sql = "SELECT state, replays FROM delivery WHERE message = ?1 AND endpoint = ?2";
        let mut find = self.db.prepare_cached(sql)?;
        let name = params![delivery.message.as_bytes(), delivery.endpoint.as_bytes()];
        find.query_row(name, |row| Ok((state(row.get(0)?)?, row.get(1)?))).optional()
    }

    /// Writes a delivery that was in state `before`, and counts it.
    pub(super) fn update_delivery(
        &mut self,
        delivery: &Delivery,
        before: DeliveryState,
    ) -> rusqlite::Result<()> {
        let sql = "UPDATE delivery SET state = ?3, due = ?4, attempts = ?5, replays = ?6, \
                   call = ?7, ending = ?8, updated_at = ?9 WHERE message = ?1 AND endpoint = ?2";
        self.db.prepare_cached(sql)?.execute(params![
            delivery.message.as_bytes(),
            delivery.endpoint.as_bytes(),
            state_number(delivery.state),
            from_instant(delivery.due),
            delivery.attempts,
            delivery.replays,
            delivery.call.as_ref().map(encoding::encode_call),
            delivery.ending.map(|ending| ending.name()),
            from_instant(delivery.updated_at),
        ])?;
        if before != delivery.state {
            self.tally.remove(delivery.endpoint, before);
            self.tally.add(delivery.endpoint, delivery.state);
        }
        if !delivery.state.is_open() {
            self.lower_floor(delivery.message);
        }
        Ok(())
    }

    fn settle_one(&mut self, settlement: &Settlement) -> Result<(), DbError> {
        let mut written = None;
        if let Some(delivery) = &settlement.delivery {
            written = self.settle_delivery(delivery)?;
        }
        if let Some(attempt) = &settlement.attempt {
            let of = (attempt.message, attempt.endpoint);
            if written == Some(of) || self.state_of(of.0, of.1)?.is_some() {
                self.insert_attempt(attempt)?;
            }
        }
        if let Some((endpoint, endpoint_state)) = &settlement.endpoint_state {
            self.write_standing(*endpoint, endpoint_state)?;
        }
        for new in &settlement.operational {
            match self.refuse_deleted(new.message.application) {
                Ok(()) => self.accept_one(new).map(drop)?,
                Err(DbError::Refused(_)) => {}
                Err(broken) => return Err(broken),
            }
        }
        Ok(())
    }

    /// Writes a delivery that is there; answers with its name if so. A finished one stays finished.
    fn settle_delivery(
        &mut self,
        delivery: &Delivery,
    ) -> rusqlite::Result<Option<(MessageId, EndpointId)>> {
        let Some((before, replays)) = self.stored(delivery)? else { return Ok(None) };
        if settles(delivery, before, replays) {
            self.update_delivery(delivery, before)?;
        }
        Ok(Some((delivery.message, delivery.endpoint)))
    }

    fn insert_attempt(&self, attempt: &DeliveryAttempt) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO attempt (message, endpoint, number, started_at, latency, \
                   status, failure, detail, reply, verdict, hint, next) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        self.db.prepare_cached(sql)?.execute(params![
            attempt.message.as_bytes(),
            attempt.endpoint.as_bytes(),
            attempt.number,
            from_instant(attempt.started_at),
            from_span(attempt.latency),
            attempt.status,
            attempt.failure.map(|failure| failure.name()),
            attempt.detail,
            (!attempt.reply.is_empty()).then_some(&attempt.reply[..]),
            attempt.verdict.name(),
            attempt.hint.map(from_span),
            attempt.next.map(from_instant),
        ])?;
        Ok(())
    }

    fn write_standing(
        &self,
        endpoint: EndpointId,
        endpoint_state: &EndpointState,
    ) -> Result<(), DbError> {
        let sql = "UPDATE endpoint SET standing = ?2 WHERE id = ?1";
        let document = document::of_endpoint_state(endpoint_state)?;
        self.db.prepare_cached(sql)?.execute(params![endpoint.as_bytes(), document])?;
        Ok(())
    }
}

/// The deliveries of a request for many, oldest first, `limit` at most, after `after`.
pub(super) fn find_redeliverable(
    db: &Connection,
    kind: Redelivery,
    application: ApplicationId,
    filter: &DeliveryFilter,
    now: Instant,
    after: Option<Cursor>,
    limit: usize,
) -> rusqlite::Result<Vec<DeliveryId>> {
    let Some(filter) = kind.narrow(filter) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let walk = Walk::of(Some(application), &filter);
    let range = (WalkOrder::OldestFirst, after);
    walk.run(db, &filter, range, limit, &mut |delivery, passes| {
        let wanted = passes && delivery.application == application && kind.applies(&delivery, now);
        found.extend(wanted.then_some((delivery.message, delivery.endpoint)));
        found.len() < limit
    })?;
    Ok(found)
}

impl Changes<'_> {
    /// Replays one delivery.
    pub(super) fn replay_one(
        &mut self,
        name: DeliveryId,
        now: Instant,
    ) -> Result<Delivery, DbError> {
        let delivery = self.delivery(name)?.ok_or(Error::not_found("delivery"))?;
        if delivery.state.is_open() {
            return Err(Error::conflict("the delivery is still open").into());
        }
        if !self.has_endpoint(name.1)? {
            return Err(Error::not_found("endpoint").into());
        }
        let replayed = delivery.replayed(now);
        self.update_delivery(&replayed, delivery.state)?;
        Ok(replayed)
    }

    /// Changes deliveries that have not changed since they were found, and whose endpoint exists.
    pub(super) fn redeliver(
        &mut self,
        kind: Redelivery,
        names: &[DeliveryId],
        now: Instant,
    ) -> Result<Vec<Delivery>, DbError> {
        let mut replayed = Vec::with_capacity(names.len());
        for name in names {
            let Some(found) = self.delivery(*name)? else { continue };
            if kind.applies(&found, now) && self.has_endpoint(name.1)? {
                let changed = kind.change(found, now);
                self.update_delivery(&changed, found.state)?;
                replayed.push(changed);
            }
        }
        Ok(replayed)
    }

    fn delivery(&self, (message, endpoint): DeliveryId) -> rusqlite::Result<Option<Delivery>> {
        lookups::delivery(self.db, message, endpoint)
    }
}
