//! Deliveries as arrays: locked, inserted and changed many at a time.

use deadpool_postgres::GenericClient;

use super::changes::Changes;
use super::column::{columns_of, from_instant};
use super::db_error::DbError;
use super::{row, statement};
use crate::model::{Delivery, DeliveryId, DeliveryState};
use crate::store::encoding::state_number;
use crate::store::{ShardId, saved};

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
        if new.is_empty() {
            return Ok(());
        }
        for delivery in new {
            self.tally.add(delivery.endpoint, delivery.state);
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

    /// Writes deliveries that are there and locked, each with the state that it was in, and counts them.
    /// No two have the same name.
    pub(super) async fn update_deliveries(
        &mut self,
        changed: &[(Delivery, DeliveryState)],
    ) -> Result<(), DbError> {
        if changed.is_empty() {
            return Ok(());
        }
        for (delivery, before) in changed {
            self.tally.remove(delivery.endpoint, *before);
            self.tally.add(delivery.endpoint, delivery.state);
            if !delivery.state.is_open() {
                self.lower_floor(delivery.message);
            }
        }
        let c = &DeliveryColumns::of(changed.iter().map(|(delivery, _)| delivery));
        let sql = "UPDATE delivery AS d SET state = n.state, ended = n.ended, due = n.due, \
                   attempts = n.attempts, replays = n.replays, call = n.call, ending = n.ending, \
                   updated_at = n.updated_at \
                   FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::smallint[], $5::bigint[], \
                   $6::bigint[], $7::bigint[], $8::bytea[], $9::text[], $10::bigint[]) \
                   AS n (message, endpoint, state, ended, due, attempts, replays, call, ending, \
                   updated_at) WHERE d.message = n.message AND d.endpoint = n.endpoint";
        statement::run(
            &self.db,
            sql,
            &[
                &c.messages,
                &c.endpoints,
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
}

/// Columns that an insert and an update share.
#[derive(Default)]
struct DeliveryColumns {
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
    fn of<'d>(deliveries: impl Iterator<Item = &'d Delivery>) -> Self {
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
            columns.calls.push(delivery.call.as_ref().map(|call| saved::encode(call).to_vec()));
            columns.endings.push(delivery.ending.map(|ending| ending.name()));
            columns.updated_at.push(from_instant(delivery.updated_at));
        }
        columns
    }
}
