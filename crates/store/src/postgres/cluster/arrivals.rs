//! Arrivals and commands: work for the leaders of shards.

use bytes::Bytes;
use deadpool_postgres::GenericClient;
use stagger_scheduler::model::{DeliveryId, EndpointId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::row::{columns_of, endpoint_id, from_size, get, message_id, run, shard_numbers};
use super::super::statement::DbError;
use super::super::writer::{Change, Changes};
use super::super::{row, statement};
use crate::{Arrival, EndpointCommand, Error, Fence, ShardId, Shards};

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

impl Claim<'_> {
    /// Forgets arrivals and finds others, in one statement.
    ///
    /// Nothing waits for the disk: an arrival that comes again after a crash of the database is of a delivery that is open
    /// yet, or that is skipped.
    pub(in super::super) async fn make(
        &self,
        db: &impl GenericClient,
    ) -> Result<Vec<Arrival>, DbError> {
        let done = || self.done.iter().copied().map(ArrivalNumber::of);
        let done_shards: Vec<_> = done().map(|done| done.shard).collect();
        let numbers: Vec<_> = done().map(|done| done.number).collect();
        let (shards, runs) = (shard_numbers(self.shards), self.runs());
        let (limit, few) = (from_size(self.limit), from_size(few(self.shards, self.limit)));
        let forgets = !self.done.is_empty();
        let mut bound: Vec<&(dyn ToSql + Sync)> = vec![&shards, &runs, &limit, &few];
        if forgets {
            bound.extend([&done_shards as &(dyn ToSql + Sync), &numbers]);
        } else if self.limit == 0 || self.shards.is_empty() {
            return Ok(Vec::new());
        }
        let found = statement::rows(db, &claim_sql(forgets), &bound).await?;
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
}

/// The name of an arrival in the database. Whole, it is one number that is in order within all shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrivalNumber {
    number: i64,
    shard: i16,
}

impl ArrivalNumber {
    /// From two columns: the number, and the shard after it.
    pub(super) fn read(row: &Row, at: usize) -> Result<Self, DbError> {
        Ok(Self { number: get(row, at)?, shard: get(row, at + 1)? })
    }

    fn of(whole: u64) -> Self {
        let shard = whole.to_le_bytes()[0];
        Self { number: (whole >> SHARD_BITS).cast_signed(), shard: shard.into() }
    }

    /// The number and the shard as one number.
    pub(super) fn whole(self) -> u64 {
        // OK because the database counts from 1 on, and never to 2^55.
        self.number.cast_unsigned() << SHARD_BITS | u64::from(self.shard.to_le_bytes()[0])
    }
}

/// There are 256 shards.
const SHARD_BITS: u32 = 8;

/// The oldest arrivals, found along the index of each shard, so that the number of other arrivals
/// does not matter. A few of each shard show the number up to which there are enough; up to there
/// all are read, by their numbers alone, and then the rows of the returned ones. A delivery is
/// queried with its shard: a plan made while the table is empty may use the index of shards, and
/// would otherwise read all open deliveries.
///
/// Those that it `forgets`, of shards that no other node leads, are there for the rest of the statement, and are left
/// out by their numbers.
fn claim_sql(forgets: bool) -> String {
    let (forgotten, others) = if forgets {
        let forgotten = "quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), \
             gone AS (DELETE FROM arrival a USING quick, unnest($5::smallint[], $6::bigint[]) \
             AS n (shard, number), lease l WHERE a.shard = n.shard AND a.number = n.number \
             AND l.shard = n.shard AND (l.run IS NULL OR l.run = ANY($2))), ";
        (forgotten, "AND number <> ALL($6)")
    } else {
        ("", "")
    };
    format!(
        "WITH {forgotten}led AS MATERIALIZED (SELECT shard FROM lease WHERE shard = ANY($1) \
         AND (run IS NULL OR run = ANY($2))), \
         head AS MATERIALIZED (SELECT a.number FROM led CROSS JOIN LATERAL (SELECT number \
         FROM arrival WHERE shard = led.shard {others} ORDER BY shard, number LIMIT $4) AS a), \
         last AS MATERIALIZED (SELECT number FROM head ORDER BY number OFFSET greatest($3::bigint - 1, 0) LIMIT 1), \
         found AS MATERIALIZED (SELECT a.number, led.shard FROM led CROSS JOIN LATERAL (SELECT number \
         FROM arrival WHERE shard = led.shard {others} \
         AND number <= coalesce((SELECT number FROM last), {newest}) \
         ORDER BY shard, number LIMIT $3) AS a ORDER BY a.number LIMIT $3) \
         SELECT {delivery}, {message}, p.bytes, found.number, found.shard \
         FROM found JOIN arrival a ON a.shard = found.shard AND a.number = found.number \
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
const PAYLOAD: usize = MESSAGE + 8;
const NUMBER: usize = PAYLOAD + 1;

fn read(of: &Row) -> Result<Arrival, DbError> {
    let number = ArrivalNumber::read(of, NUMBER)?.whole();
    if get::<Option<uuid::Uuid>>(of, 0)?.is_none() {
        return Ok(Arrival { number, delivery: None, content: None });
    }
    let bytes = get::<Option<Vec<u8>>>(of, PAYLOAD)?.map(Bytes::from);
    let content = bytes.map(|bytes| Ok::<_, DbError>((row::message_at(of, MESSAGE)?, bytes)));
    let content = content.transpose()?;
    Ok(Arrival { number, delivery: Some(row::delivery(of)?), content })
}

/// Stores a command for an endpoint's leader; returns its number.
pub(in super::super) struct SendCommand(
    pub(in super::super) EndpointId,
    pub(in super::super) EndpointCommand,
);

impl Change for SendCommand {
    type Done = u64;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<u64, DbError> {
        let Self(endpoint, command) = *self;
        // The endpoint stays until this has ended, so that its deletion finds the command.
        if changes.endpoints([endpoint].into()).await?.is_empty() {
            return Err(Error::not_found("endpoint").into());
        }
        let message = match command {
            EndpointCommand::Cancel(message) | EndpointCommand::Retry(message) => Some(message),
            _ => None,
        };
        let message = message.as_ref().map(|id| *id.as_uuid());
        let shard = i16::from(ShardId::of(endpoint).0);
        let sql = "INSERT INTO orders (shard, endpoint, kind, message) VALUES ($1, $2, $3, $4) \
                   RETURNING number";
        let bound: [&(dyn ToSql + Sync); 4] =
            [&shard, endpoint.as_uuid(), &kind(command), &message];
        let row = statement::row(&changes.db, sql, &bound).await?;
        let number = row.map(|row| get::<i64>(&row, 0)).transpose()?;
        Ok(number.unwrap_or_default().cast_unsigned())
    }
}

/// Orders were carried out.
pub(in super::super) struct CompleteCommands<'o>(pub(in super::super) &'o [u64]);

impl Change for CompleteCommands<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let numbers: Vec<_> = self.0.iter().map(|number| number.cast_signed()).collect();
        statement::run(&changes.db, "DELETE FROM orders WHERE number = ANY($1)", &[&numbers])
            .await?;
        Ok(())
    }
}

impl Changes<'_> {
    /// Deletes the commands for deleted endpoints, which are locked.
    pub(in super::super) async fn drop_commands(&self, of: &[EndpointId]) -> Result<(), DbError> {
        let endpoints: Vec<_> = of.iter().map(|id| *id.as_uuid()).collect();
        let sql = "DELETE FROM orders WHERE endpoint = ANY($1)";
        statement::run(&self.db, sql, &[&endpoints]).await?;
        Ok(())
    }
}

/// The commands for endpoints of shards, oldest first.
pub(in super::super) async fn commands(
    db: &impl GenericClient,
    of: Shards,
) -> Result<Vec<(u64, EndpointId, EndpointCommand)>, DbError> {
    let sql = "SELECT number, endpoint, kind, message FROM orders WHERE shard = ANY($1) \
               ORDER BY number";
    let found = statement::rows(db, sql, &[&shard_numbers(of)]).await?;
    let read = |row: &Row| {
        Ok((get::<i64>(row, 0)?.cast_unsigned(), endpoint_id(row, 1)?, parse_command(row)?))
    };
    found.iter().map(read).collect()
}

/// Whether there is no such order any more.
pub(in super::super) async fn is_gone(
    db: &impl GenericClient,
    command: u64,
) -> Result<bool, DbError> {
    let sql = "SELECT 1 FROM orders WHERE number = $1";
    Ok(statement::row(db, sql, &[&command.cast_signed()]).await?.is_none())
}

const fn kind(command: EndpointCommand) -> i16 {
    match command {
        EndpointCommand::Enable => 0,
        EndpointCommand::Disable => 1,
        EndpointCommand::Recover => 2,
        EndpointCommand::Cancel(_) => 3,
        EndpointCommand::Retry(_) => 4,
        EndpointCommand::Probe => 5,
    }
}

fn parse_command(row: &Row) -> Result<EndpointCommand, DbError> {
    Ok(match get::<i16>(row, 2)? {
        0 => EndpointCommand::Enable,
        1 => EndpointCommand::Disable,
        2 => EndpointCommand::Recover,
        3 => EndpointCommand::Cancel(message_id(row, 3)?),
        4 => EndpointCommand::Retry(message_id(row, 3)?),
        5 => EndpointCommand::Probe,
        kind => return Err(Error::store(format!("unknown kind of command {kind}")).into()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::test_schema::TestSchema;
    use super::*;

    #[tokio::test]
    async fn arrivals_are_found_along_indexes() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        for (forgets, parameters) in [(false, 4), (true, 6)] {
            let plan = schema.plan(&claim_sql(forgets), parameters).await;
            assert_eq!(plan.matches("Index Only Scan using arrival_pkey").count(), 2, "{plan}");
            for index in ["Index Scan using arrival_pkey", "message_pkey", "payload_pkey"] {
                assert!(plan.contains(index), "{index}: {plan}");
            }
            assert!(!plan.contains("Seq Scan"), "{plan}");
        }
    }

    #[test]
    fn a_number_is_whole_and_in_order() {
        let of = |number, shard| ArrivalNumber { number, shard };
        for name in [of(1, 0), of(1, 255), of(i64::from(u32::MAX) << 20, 7)] {
            assert_eq!(ArrivalNumber::of(name.whole()), name);
        }
        assert!(of(1, 255).whole() < of(2, 0).whole());
    }
}
