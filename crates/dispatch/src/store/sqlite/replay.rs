//! Makes finished deliveries pending again. A replay of many finds them while others write, then
//! changes them in one transaction, which checks each once more.

use rusqlite::Connection;
use stagger::Instant;

use super::changes::Changes;
use super::lookups;

use super::db_error::DbError;
use crate::Error;
use crate::model::{ApplicationId, Delivery, DeliveryId};
use crate::store::walk::{Walk, WalkOrder};
use crate::store::{Cursor, DeliveryFilter, ReplayRequest};

/// The deliveries of a request for many, oldest first, `limit` at most, after `after`.
pub(super) fn find(
    db: &Connection,
    application: ApplicationId,
    filter: &DeliveryFilter,
    now: Instant,
    after: Option<Cursor>,
    limit: usize,
) -> rusqlite::Result<Vec<DeliveryId>> {
    let Some(state) = ReplayRequest::state_of_many(filter) else { return Ok(Vec::new()) };
    let filter = DeliveryFilter { state: Some(state), ..*filter };
    let mut found = Vec::new();
    let walk = Walk::of(Some(application), &filter);
    walk.run(db, &filter, WalkOrder::OldestFirst, after, &mut |delivery, accepted_at| {
        let wanted = delivery.application == application
            && delivery.updated_at <= now
            && filter.passes(&delivery, accepted_at);
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

    /// Replays deliveries that have not changed since they were found, and whose endpoint exists.
    pub(super) fn replay_many(
        &mut self,
        names: &[DeliveryId],
        now: Instant,
    ) -> Result<Vec<Delivery>, DbError> {
        let mut replayed = Vec::with_capacity(names.len());
        for name in names {
            let found = self.delivery(*name)?;
            let unchanged = |d: &Delivery| !d.state.is_open() && d.updated_at <= now;
            if found.as_ref().is_some_and(unchanged) && self.has_endpoint(name.1)? {
                replayed.push(self.replay_one(*name, now)?);
            }
        }
        Ok(replayed)
    }

    fn delivery(&self, (message, endpoint): DeliveryId) -> rusqlite::Result<Option<Delivery>> {
        lookups::delivery(self.db, message, endpoint)
    }
}
