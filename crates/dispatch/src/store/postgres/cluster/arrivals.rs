//! Arrivals: open deliveries that their leaders have not received yet.

use bytes::Bytes;
use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::super::changes::Changes;
use super::super::column::{columns_of, from_size, get, run, shard_numbers};
use super::super::db_error::DbError;
use super::super::writer::Change;
use super::super::{row, statement};
use crate::model::{DeliveryId, MessageId};
use crate::store::{Arrival, Fence, ShardId, Shards};

/// The largest payload that is returned with an arrival, in bytes: a thousand of them are some
/// megabytes.
const SMALL: i64 = 16 << 10;
/// The fewest arrivals that are examined for each shard.
const FEWEST: usize = 8;
/// Arrivals that one transaction forgets at most: some hundred milliseconds.
pub(in super::super) const FORGOTTEN: usize = 20_000;

/// Forgets arrivals, and finds others.
///
/// The claim ignores shards that another node leads by now, and deletes none of their arrivals: an
/// evicted node that has not noticed would otherwise take arrivals that the new leader has not
/// received. `members` are those of this process.
pub(in super::super) struct Claim<'d> {
    pub(in super::super) members: &'d [Fence],
    pub(in super::super) shards: Shards,
    pub(in super::super) done: &'d [u64],
    pub(in super::super) limit: usize,
}

impl Change for Claim<'_> {
    type Done = Vec<Arrival>;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Vec<Arrival>, DbError> {
        self.forget(&changes.db).await?;
        self.find(&changes.db).await
    }
}

impl Claim<'_> {
    async fn forget(&self, db: &impl GenericClient) -> Result<(), DbError> {
        let done: Vec<_> = self.done.iter().map(|number| number.cast_signed()).collect();
        // Rows that another session is deleting are left to it.
        let sql = "DELETE FROM arrival WHERE number IN (SELECT a.number FROM arrival a \
                   JOIN lease l ON l.shard = a.shard WHERE a.number = ANY($1) \
                   AND (l.run IS NULL OR l.run = ANY($2)) ORDER BY a.number \
                   FOR UPDATE OF a SKIP LOCKED)";
        statement::run(db, sql, &[&done, &self.runs()]).await?;
        Ok(())
    }

    /// Finds arrivals, without forgetting any.
    pub(in super::super) async fn find(
        &self,
        db: &impl GenericClient,
    ) -> Result<Vec<Arrival>, DbError> {
        if self.limit == 0 || self.shards.is_empty() {
            return Ok(Vec::new());
        }
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [
            &shard_numbers(self.shards),
            &self.runs(),
            &from_size(self.limit),
            &from_size(few(self.shards, self.limit)),
        ];
        let found = statement::rows(db, &find_sql(), &bound).await?;
        found.iter().map(read).collect()
    }

    fn runs(&self) -> Vec<i64> {
        self.members.iter().copied().map(run).collect()
    }
}

impl Changes<'_> {
    /// Leaves open deliveries for their leaders to find.
    pub(in super::super) async fn insert_arrivals(
        &self,
        names: impl IntoIterator<Item = &DeliveryId> + Clone,
    ) -> Result<(), DbError> {
        let shards = names.clone().into_iter().map(|name| i16::from(ShardId::of(name.1).0));
        let shards: Vec<_> = shards.collect();
        if shards.is_empty() {
            return Ok(());
        }
        let (messages, endpoints) = columns_of(names);
        let sql = "INSERT INTO arrival (shard, message, endpoint) \
                   SELECT * FROM unnest($1::smallint[], $2::uuid[], $3::uuid[])";
        statement::run(&self.db, sql, &[&shards, &messages, &endpoints]).await?;
        Ok(())
    }

    /// Forgets the arrivals of messages that are being deleted.
    pub(in super::super) async fn drop_arrivals(&self, of: &[MessageId]) -> Result<(), DbError> {
        let ids: Vec<_> = of.iter().map(|id| *id.as_uuid()).collect();
        statement::run(&self.db, "DELETE FROM arrival WHERE message = ANY($1)", &[&ids]).await?;
        Ok(())
    }
}

/// The oldest arrivals, found along the index of each shard, so that the number of other arrivals
/// does not matter. A few of each shard show the number up to which there are enough; up to there
/// all are read, by their numbers alone, and then the rows of the returned ones. A delivery is
/// queried with its shard: a plan made while the table is empty may use the index of shards, and
/// would otherwise read all open deliveries.
fn find_sql() -> String {
    format!(
        "WITH led AS MATERIALIZED (SELECT shard FROM lease WHERE shard = ANY($1) \
         AND (run IS NULL OR run = ANY($2))), \
         head AS MATERIALIZED (SELECT a.number FROM led CROSS JOIN LATERAL (SELECT number \
         FROM arrival WHERE shard = led.shard ORDER BY shard, number LIMIT $4) AS a), \
         last AS MATERIALIZED (SELECT number FROM head ORDER BY number OFFSET $3::bigint - 1 LIMIT 1), \
         found AS MATERIALIZED (SELECT a.number FROM led CROSS JOIN LATERAL (SELECT number \
         FROM arrival WHERE shard = led.shard \
         AND number <= coalesce((SELECT number FROM last), {newest}) \
         ORDER BY shard, number LIMIT $3) AS a ORDER BY a.number LIMIT $3) \
         SELECT {delivery}, {message}, p.bytes, found.number \
         FROM found JOIN arrival a ON a.number = found.number \
         LEFT JOIN delivery d ON d.shard = a.shard AND d.message = a.message \
         AND d.endpoint = a.endpoint AND d.ended = 0 \
         LEFT JOIN message m ON m.id = d.message \
         LEFT JOIN payload p ON p.message = m.id AND m.size <= {SMALL} ORDER BY found.number",
        newest = i64::MAX,
        delivery = row::DELIVERY,
        message = row::MESSAGE,
    )
}

/// The number of arrivals of each shard that are read first: several times the wanted number, if
/// all shards have the same.
fn few(shards: Shards, limit: usize) -> usize {
    (limit.saturating_mul(4) / shards.len().max(1)).clamp(FEWEST, limit.max(FEWEST))
}

/// The first column of the message, of its payload, and of the number.
const MESSAGE: usize = 10;
const PAYLOAD: usize = MESSAGE + 7;
const NUMBER: usize = PAYLOAD + 1;

fn read(of: &Row) -> Result<Arrival, DbError> {
    let number = get::<i64>(of, NUMBER)?.cast_unsigned();
    if get::<Option<uuid::Uuid>>(of, 0)?.is_none() {
        return Ok(Arrival { number, delivery: None, content: None });
    }
    let bytes = get::<Option<Vec<u8>>>(of, PAYLOAD)?.map(Bytes::from);
    let content = bytes.map(|bytes| Ok::<_, DbError>((row::message_at(of, MESSAGE)?, bytes)));
    let content = content.transpose()?;
    Ok(Arrival { number, delivery: Some(row::delivery(of)?), content })
}

#[cfg(test)]
mod tests {
    use super::super::super::test_schema::TestSchema;
    use super::*;

    #[tokio::test]
    async fn arrivals_are_found_along_indexes() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        let plan = schema.plan(&find_sql(), 4).await;
        assert_eq!(plan.matches("Index Only Scan using arrival_by_shard").count(), 2, "{plan}");
        for index in ["arrival_pkey", "delivery_open", "message_pkey", "payload_pkey"] {
            assert!(plan.contains(index), "{index}: {plan}");
        }
        assert!(!plan.contains("Seq Scan"), "{plan}");
    }
}
