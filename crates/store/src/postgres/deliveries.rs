//! Deliveries: written, and replayed.

use std::collections::BTreeSet;

use deadpool_postgres::GenericClient;
use stagger::Instant;
use stagger_scheduler::model::{
    ApplicationId, Delivery, DeliveryId, DeliveryState, EndpointId, MessageId,
};

use tokio_postgres::types::ToSql;

use super::row::{columns_of, from_instant};
use super::statement::DbError;
use super::writer::{Change, Changes};
use super::{lists, row, statement};
use crate::calls::Redelivery;
use crate::encoding::state_number;
use crate::walk::{Walk, WalkOrder};
use crate::{Cursor, DeliveryFilter, Error, ShardId, encoding};

/// The deliveries of these names that are there, in order, locked until the transaction ends.
pub(super) async fn lock(
    db: &impl GenericClient,
    names: impl IntoIterator<Item = &DeliveryId>,
) -> Result<Vec<Delivery>, DbError> {
    let (messages, endpoints) = columns_of(names);
    let sql = format!(
        "SELECT {} FROM delivery d JOIN unnest($1::uuid[], $2::uuid[]) AS n (message, endpoint) \
         ON d.message = n.message AND d.endpoint = n.endpoint \
         ORDER BY d.message, d.endpoint FOR UPDATE OF d",
        row::DELIVERY
    );
    let found = statement::rows(db, &sql, &[&messages, &endpoints]).await?;
    found.iter().map(row::delivery).collect()
}

impl Changes<'_> {
    /// Writes new deliveries of new messages, and counts them. No two have the same name.
    pub(super) async fn insert_deliveries(&mut self, new: &[Delivery]) -> Result<(), DbError> {
        self.count_new(new);
        self.write_new(new).await
    }

    /// Writes deliveries that are there and locked, each with the state that it was in, and counts them.
    /// No two have the same name.
    pub(super) async fn update_deliveries(
        &mut self,
        changed: &[(Delivery, DeliveryState)],
    ) -> Result<(), DbError> {
        self.count_changed(changed);
        self.write_changed(changed).await
    }

    /// The counting part of [`insert_deliveries`](Self::insert_deliveries), for those that write together with other
    /// rows.
    pub(super) fn count_new(&mut self, new: &[Delivery]) {
        for delivery in new {
            self.tally.add(delivery.endpoint, delivery.state);
        }
    }

    /// The writing part.
    pub(super) async fn write_new(&self, new: &[Delivery]) -> Result<(), DbError> {
        if new.is_empty() {
            return Ok(());
        }
        let columns = DeliveryColumns::of(new.iter());
        let applications: Vec<_> = new.iter().map(|d| *d.application.as_uuid()).collect();
        let shards: Vec<_> = new.iter().map(|d| i16::from(ShardId::of(d.endpoint).0)).collect();
        let sql = "INSERT INTO delivery (message, endpoint, application, shard, state, ended, due, \
                   attempts, replays, call, ending, updated_at) \
                   SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::smallint[], \
                   $5::smallint[], $6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], \
                   $10::bytea[], $11::text[], $12::bigint[])";
        let c = &columns;
        statement::run(
            &self.db,
            sql,
            &[
                &c.messages,
                &c.endpoints,
                &applications,
                &shards,
                &c.states,
                &c.ended,
                &c.due,
                &c.attempts,
                &c.replays,
                &c.calls,
                &c.endings,
                &c.updated_at,
            ],
        )
        .await?;
        Ok(())
    }

    /// The counting part of [`update_deliveries`](Self::update_deliveries), likewise.
    pub(super) fn count_changed(&mut self, changed: &[(Delivery, DeliveryState)]) {
        for (delivery, before) in changed {
            self.tally.remove(delivery.endpoint, *before);
            self.tally.add(delivery.endpoint, delivery.state);
            if !delivery.state.is_open() {
                self.memory.lower_floor(delivery.message);
            }
        }
    }

    /// The writing part.
    pub(super) async fn write_changed(
        &self,
        changed: &[(Delivery, DeliveryState)],
    ) -> Result<(), DbError> {
        if changed.is_empty() {
            return Ok(());
        }
        let columns = DeliveryColumns::of(changed.iter().map(|(delivery, _)| delivery));
        let sql = format!(
            "UPDATE delivery AS d SET state = n.state, ended = n.ended, due = n.due, \
             attempts = n.attempts, replays = n.replays, call = n.call, ending = n.ending, \
             updated_at = n.updated_at FROM {} AS n (message, endpoint, state, ended, due, attempts, \
             replays, call, ending, updated_at) \
             WHERE d.message = n.message AND d.endpoint = n.endpoint",
            DeliveryColumns::rows(1)
        );
        statement::run(&self.db, &sql, &columns.bound()).await?;
        Ok(())
    }
}

/// Columns that inserts and updates share.
#[derive(Default)]
pub(super) struct DeliveryColumns {
    messages: Vec<uuid::Uuid>,
    endpoints: Vec<uuid::Uuid>,
    states: Vec<i16>,
    ended: Vec<i16>,
    due: Vec<i64>,
    attempts: Vec<i64>,
    replays: Vec<i64>,
    calls: Vec<Option<Vec<u8>>>,
    endings: Vec<Option<&'static str>>,
    updated_at: Vec<i64>,
}

impl DeliveryColumns {
    pub(super) fn of<'d>(deliveries: impl Iterator<Item = &'d Delivery>) -> Self {
        let mut columns = Self::default();
        for delivery in deliveries {
            let state = i16::from(state_number(delivery.state));
            columns.messages.push(*delivery.message.as_uuid());
            columns.endpoints.push(*delivery.endpoint.as_uuid());
            columns.states.push(state);
            columns.ended.push(if delivery.state.is_open() { 0 } else { state });
            columns.due.push(from_instant(delivery.due));
            columns.attempts.push(delivery.attempts.into());
            columns.replays.push(delivery.replays.into());
            columns
                .calls
                .push(delivery.call.as_ref().map(|call| encoding::encode_call(call).to_vec()));
            columns.endings.push(delivery.ending.map(|ending| ending.name()));
            columns.updated_at.push(from_instant(delivery.updated_at));
        }
        columns
    }

    /// The columns as parameters of a statement.
    pub(super) fn bound(&self) -> [&(dyn ToSql + Sync); 10] {
        [
            &self.messages,
            &self.endpoints,
            &self.states,
            &self.ended,
            &self.due,
            &self.attempts,
            &self.replays,
            &self.calls,
            &self.endings,
            &self.updated_at,
        ]
    }

    /// The rows in a statement whose parameters have the columns from this one on.
    pub(super) fn rows(first: usize) -> String {
        let types = [
            "uuid", "uuid", "smallint", "smallint", "bigint", "bigint", "bigint", "bytea", "text",
            "bigint",
        ];
        let column = |(at, kind): (usize, &&str)| format!("${}::{kind}[]", first + at);
        let columns: Vec<_> = types.iter().enumerate().map(column).collect();
        format!("unnest({})", columns.join(", "))
    }
}

/// The deliveries of a request for many, oldest first, `limit` at most, after `after`.
pub(super) async fn find_redeliverable(
    db: &impl GenericClient,
    kind: Redelivery,
    application: ApplicationId,
    filter: &DeliveryFilter,
    now: Instant,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Vec<DeliveryId>, DbError> {
    let Some(filter) = kind.narrow(filter) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let walk = Walk::of(Some(application), &filter);
    lists::walk(db, walk, &filter, WalkOrder::OldestFirst, after, limit, &mut |_, seen| {
        if let Some((delivery, passes)) = seen {
            let wanted =
                passes && delivery.application == application && kind.applies(&delivery, now);
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
        let found = lock(&changes.db, [name]).await?;
        let delivery = found.first().ok_or(Error::not_found("delivery"))?;
        if changes.again && Redelivery::Replay.is_made(delivery, *now) {
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

/// Changes deliveries that have not changed since they were found, and whose endpoint exists.
pub(super) struct RedeliverMany<'n>(
    pub(super) Redelivery,
    pub(super) &'n [DeliveryId],
    pub(super) Instant,
);

impl Change for RedeliverMany<'_> {
    type Done = Vec<Delivery>;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Vec<Delivery>, DbError> {
        let Self(kind, names, now) = *self;
        let found = lock(&changes.db, names).await?;
        let there = changes.endpoints(names.iter().map(|name| name.1).collect()).await?;
        let (mut redelivered, mut changed) = (Vec::new(), Vec::new());
        for delivery in found {
            if changes.again && kind.is_made(&delivery, now) {
                redelivered.push(delivery);
            } else if kind.applies(&delivery, now) && there.contains(&delivery.endpoint) {
                redelivered.push(kind.change(delivery, now));
                changed.push((kind.change(delivery, now), delivery.state));
            }
        }
        changes.update_deliveries(&changed).await?;
        let names: Vec<_> = changed.iter().map(|(d, _)| (d.message, d.endpoint)).collect();
        changes.insert_arrivals(&names).await?;
        Ok(redelivered)
    }
}

/// Makes deliveries to an endpoint of those of its application's messages that have none to it.
pub(super) struct DeliverMissing<'n>(
    pub(super) EndpointId,
    pub(super) &'n [MessageId],
    pub(super) Instant,
);

impl Change for DeliverMissing<'_> {
    type Done = Vec<Delivery>;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Vec<Delivery>, DbError> {
        let Self(endpoint, messages, now) = *self;
        // Locked, so that no other does the same for this endpoint meanwhile.
        let sql = "SELECT application FROM endpoint WHERE id = $1 AND gone_at IS NULL \
                   FOR NO KEY UPDATE";
        let owner = statement::row(&changes.db, sql, &[endpoint.as_uuid()]).await?;
        let owner = owner.ok_or(Error::not_found("endpoint"))?;
        let application = row::application_id(&owner, 0)?;
        let ids: Vec<_> = messages.iter().map(|id| *id.as_uuid()).collect();
        let names: Vec<DeliveryId> = messages.iter().map(|id| (*id, endpoint)).collect();
        let there = lock(&changes.db, &names).await?;
        let made = there.iter().filter(|it| changes.again && is_new(it, now)).copied();
        let mut added: Vec<Delivery> = made.collect();
        let there: BTreeSet<_> = there.iter().map(|delivery| delivery.message).collect();
        let sql = "SELECT id FROM message WHERE id = ANY($1) AND application = $2 \
                   ORDER BY id FOR KEY SHARE";
        let mut new = Vec::new();
        for row in statement::rows(&changes.db, sql, &[&ids, application.as_uuid()]).await? {
            let id = row::message_id(&row, 0)?;
            if !there.contains(&id) {
                new.push(Delivery::new(id, endpoint, application, now).replayed(now));
            }
        }
        changes.insert_deliveries(&new).await?;
        let names: Vec<_> = new.iter().map(|d| (d.message, d.endpoint)).collect();
        changes.insert_arrivals(&names).await?;
        added.extend(new);
        Ok(added)
    }
}

/// Whether this is a delivery that was made for an endpoint at `now`.
fn is_new(delivery: &Delivery, now: Instant) -> bool {
    delivery.attempts == 0 && Redelivery::Replay.is_made(delivery, now)
}
