//! Orders: what only the leader of an endpoint can do, left for it.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::super::changes::Changes;
use super::super::column::{endpoint_id, get, message_id};
use super::super::statement;
use super::super::trouble::Trouble;
use super::super::writer::Change;
use super::shards::numbers;
use crate::Error;
use crate::model::EndpointId;
use crate::store::{Order, Shard, Shards};

/// An order for an endpoint's leader is left: its number.
pub(in super::super) struct Leave(pub(in super::super) EndpointId, pub(in super::super) Order);

impl Change for Leave {
    type Done = u64;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<u64, Trouble> {
        let Self(endpoint, order) = *self;
        // It stays until this has ended, so whoever deletes it finds the order.
        if changes.endpoints([endpoint].into()).await?.is_empty() {
            return Err(Error::not_found("endpoint").into());
        }
        let message = if let Order::Cancel(message) = order { Some(message) } else { None };
        let message = message.as_ref().map(|id| *id.as_uuid());
        let shard = i16::from(Shard::of(endpoint).0);
        let sql = "INSERT INTO orders (shard, endpoint, kind, message) VALUES ($1, $2, $3, $4) \
                   RETURNING number";
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&shard, endpoint.as_uuid(), &kind(order), &message];
        let row = statement::row(&changes.db, sql, &bound).await?;
        let number = row.map(|row| get::<i64>(&row, 0)).transpose()?;
        Ok(number.unwrap_or_default().cast_unsigned())
    }
}

/// Orders were carried out.
pub(in super::super) struct CarriedOut<'o>(pub(in super::super) &'o [u64]);

impl Change for CarriedOut<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), Trouble> {
        let numbers: Vec<_> = self.0.iter().map(|number| number.cast_signed()).collect();
        statement::run(&changes.db, "DELETE FROM orders WHERE number = ANY($1)", &[&numbers])
            .await?;
        Ok(())
    }
}

impl Changes<'_> {
    /// Forgets the orders for endpoints that are gone, and locked.
    pub(in super::super) async fn drop_orders(&self, of: &[EndpointId]) -> Result<(), Trouble> {
        let endpoints: Vec<_> = of.iter().map(|id| *id.as_uuid()).collect();
        let sql = "DELETE FROM orders WHERE endpoint = ANY($1)";
        statement::run(&self.db, sql, &[&endpoints]).await?;
        Ok(())
    }
}

/// The orders for endpoints of shards, oldest first.
pub(in super::super) async fn orders(
    db: &impl GenericClient,
    of: Shards,
) -> Result<Vec<(u64, EndpointId, Order)>, Trouble> {
    let sql = "SELECT number, endpoint, kind, message FROM orders WHERE shard = ANY($1) \
               ORDER BY number";
    let found = statement::rows(db, sql, &[&numbers(of)]).await?;
    let read =
        |row: &Row| Ok((get::<i64>(row, 0)?.cast_unsigned(), endpoint_id(row, 1)?, order(row)?));
    found.iter().map(read).collect()
}

/// Whether there is no such order any more.
pub(in super::super) async fn is_gone(
    db: &impl GenericClient,
    order: u64,
) -> Result<bool, Trouble> {
    let sql = "SELECT 1 FROM orders WHERE number = $1";
    Ok(statement::row(db, sql, &[&order.cast_signed()]).await?.is_none())
}

const fn kind(order: Order) -> i16 {
    match order {
        Order::Enable => 0,
        Order::Disable => 1,
        Order::Recover => 2,
        Order::Cancel(_) => 3,
    }
}

fn order(row: &Row) -> Result<Order, Trouble> {
    Ok(match get::<i16>(row, 2)? {
        0 => Order::Enable,
        1 => Order::Disable,
        2 => Order::Recover,
        3 => Order::Cancel(message_id(row, 3)?),
        kind => return Err(Error::store(format!("no order has the number {kind}")).into()),
    })
}
