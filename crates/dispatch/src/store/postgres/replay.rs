//! Makes finished deliveries pending again. A replay of many finds them while others write, then
//! changes them in one transaction, which checks each once more.

use deadpool_postgres::GenericClient;
use stagger::Instant;

use super::changes::Changes;
use super::db_error::DbError;
use super::deliveries;
use super::lists;
use super::writer::Change;
use crate::Error;
use crate::model::{ApplicationId, Delivery, DeliveryId, DeliveryState};
use crate::store::walk::{Walk, WalkOrder};
use crate::store::{Cursor, DeliveryFilter, ReplayRequest};

/// The deliveries of a request for many, oldest first, `limit` at most, after `after`.
pub(super) async fn find(
    db: &impl GenericClient,
    application: ApplicationId,
    filter: &DeliveryFilter,
    now: Instant,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Vec<DeliveryId>, DbError> {
    let Some(state) = ReplayRequest::state_of_many(filter) else { return Ok(Vec::new()) };
    let filter = DeliveryFilter { state: Some(state), ..*filter };
    let mut found = Vec::new();
    let walk = Walk::of(Some(application), &filter);
    lists::walk(db, walk, &filter, WalkOrder::OldestFirst, after, limit, &mut |_, seen| {
        if let Some((delivery, accepted_at)) = seen {
            let wanted = delivery.application == application
                && delivery.updated_at <= now
                && filter.passes(&delivery, accepted_at);
            found.extend(wanted.then_some((delivery.message, delivery.endpoint)));
        }
        found.len() < limit
    })
    .await?;
    Ok(found)
}

/// Replays one delivery.
pub(super) struct ReplayOne(pub(super) DeliveryId, pub(super) Instant);

impl Change for ReplayOne {
    type Done = Delivery;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Delivery, DbError> {
        let Self(name, now) = self;
        let found = deliveries::lock(&changes.db, [name]).await?;
        let delivery = found.first().ok_or(Error::not_found("delivery"))?;
        if changes.again && is_replayed(delivery, *now) {
            return Ok(*delivery);
        }
        if delivery.state.is_open() {
            return Err(Error::conflict("the delivery is still open").into());
        }
        if changes.endpoints([name.1].into()).await?.is_empty() {
            return Err(Error::not_found("endpoint").into());
        }
        let replayed = delivery.replayed(*now);
        changes.update_deliveries(&[(replayed, delivery.state)]).await?;
        changes.insert_arrivals([name]).await?;
        Ok(replayed)
    }
}

/// Replays deliveries that have not changed since they were found, and whose endpoint exists.
pub(super) struct ReplayMany<'n>(pub(super) &'n [DeliveryId], pub(super) Instant);

impl Change for ReplayMany<'_> {
    type Done = Vec<Delivery>;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Vec<Delivery>, DbError> {
        let Self(names, now) = *self;
        let found = deliveries::lock(&changes.db, names).await?;
        let there = changes.endpoints(names.iter().map(|name| name.1).collect()).await?;
        let (mut replayed, mut changed) = (Vec::new(), Vec::new());
        for delivery in found {
            let unchanged = !delivery.state.is_open() && delivery.updated_at <= now;
            if changes.again && is_replayed(&delivery, now) {
                replayed.push(delivery);
            } else if unchanged && there.contains(&delivery.endpoint) {
                replayed.push(delivery.replayed(now));
                changed.push((delivery.replayed(now), delivery.state));
            }
        }
        changes.update_deliveries(&changed).await?;
        let names: Vec<_> = changed.iter().map(|(d, _)| (d.message, d.endpoint)).collect();
        changes.insert_arrivals(&names).await?;
        Ok(replayed)
    }
}

/// Whether this is the result of a replay at `now`.
fn is_replayed(delivery: &Delivery, now: Instant) -> bool {
    delivery.state == DeliveryState::Pending && (delivery.updated_at, delivery.due) == (now, now)
}
