//! Settlements: writes deliveries, attempts and endpoint states.

use rusqlite::{OptionalExtension, params};

use super::changes::Changes;
use super::column::{from_instant, from_span};
use super::db_error::DbError;
use crate::model::{
    Delivery, DeliveryAttempt, DeliveryState, EndpointId, EndpointState, MessageId,
};
use crate::store::encoding::{state, state_number};
use crate::store::settlement::run_ended;
use crate::store::{Fence, Settlement, document, saved};

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
            delivery.call.as_ref().map(saved::encode),
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
        match &settlement.operational {
            Some(new) => match self.refuse_deleted(new.message.application) {
                Ok(()) => Ok(self.accept_one(new).map(drop)?),
                Err(DbError::Refused(_)) => Ok(()),
                Err(broken) => Err(broken),
            },
            None => Ok(()),
        }
    }

    /// Writes a delivery that is there; answers with its name if so. A finished one stays finished.
    fn settle_delivery(
        &mut self,
        delivery: &Delivery,
    ) -> rusqlite::Result<Option<(MessageId, EndpointId)>> {
        let Some(before) = self.state_of(delivery.message, delivery.endpoint)? else {
            return Ok(None);
        };
        if before.is_open() || !delivery.state.is_open() {
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
        let document = document::of_standing(endpoint_state)?;
        self.db.prepare_cached(sql)?.execute(params![endpoint.as_bytes(), document])?;
        Ok(())
    }
}
