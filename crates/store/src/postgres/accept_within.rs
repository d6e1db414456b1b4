//! Accepts messages within a transaction of the caller, on a connection of the caller.
//!
//! That connection may have another search path and other settings than those of the store, so each statement names the
//! schema of its tables, and none stays prepared. The caller may take its time until it commits, so nothing is held that
//! the store's own transactions wait for: the leaders find all deliveries as arrivals, no membership is named, and the
//! counts go to a counter that no other transaction uses at the same time.

use std::collections::{BTreeMap, BTreeSet};

use stagger_scheduler::model::{Message, MessageId, NewMessage};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, Transaction};
use uuid::Uuid;

use super::cluster::{channel_of, work_text};
use super::row::{application_id, from_instant, from_size, get, message_id, text};
use super::statement::DbError;
use super::store::PostgresStore;
use crate::encoding::ALL;
use crate::walk::slack_of;
use crate::{Accepted, ClusterAccept, Error, ShardId, Shards};

/// Counters for transactions of callers. When all are taken, the next transaction waits for the one that has the first.
const COUNTERS: i32 = 32;
/// The class of the advisory locks on these counters: the bytes of "stag".
const LOCK_CLASS: i32 = 0x7374_6167;

/// A parameter and its type.
type Typed<'b> = (&'b (dyn ToSql + Sync), Type);

impl PostgresStore {
    /// See [`DeliveryStore::accept_within`](crate::DeliveryStore::accept_within).
    pub(super) async fn store_within(
        &self,
        caller: &mut Transaction<'_>,
        settings_version: u64,
        messages: &[NewMessage],
    ) -> Result<ClusterAccept, Error> {
        if messages.is_empty() {
            return Ok(ClusterAccept::Stored(Vec::new()));
        }
        let savepoint = caller.savepoint("stagger_accept").await.map_err(DbError::from)?;
        let within = Within { db: &savepoint, schema: &self.schema };
        match within.accept(settings_version, messages).await {
            Ok(ClusterAccept::Stored(accepted)) => {
                savepoint.commit().await.map_err(DbError::from)?;
                Ok(ClusterAccept::Stored(accepted))
            }
            refused => {
                // If this fails the connection is gone, and the transaction with it.
                savepoint.rollback().await.ok();
                refused.map_err(|error| self.explained(error))
            }
        }
    }

    fn explained(&self, error: DbError) -> Error {
        let code = match &error {
            DbError::Broken(error) => error.code().cloned(),
            _ => None,
        };
        let schema = &self.schema;
        match code {
            Some(SqlState::UNDEFINED_TABLE | SqlState::INVALID_SCHEMA_NAME) => {
                let bound =
                    format!("one on the store's database, which has its tables in {schema}");
                Error::invalid("transaction", "(this connection)", bound)
            }
            Some(
                SqlState::T_R_SERIALIZATION_FAILURE
                | SqlState::T_R_DEADLOCK_DETECTED
                | SqlState::LOCK_NOT_AVAILABLE,
            ) => {
                let why = Error::from(error);
                Error::busy(format!(
                    "the transaction conflicts with another one, begin it again: {why}"
                ))
            }
            _ => error.into(),
        }
    }
}

/// The caller's transaction, in a savepoint, and the schema of the store.
#[derive(Clone, Copy)]
struct Within<'t, 'c> {
    db: &'t Transaction<'c>,
    schema: &'t str,
}

impl Within<'_, '_> {
    async fn accept(
        self,
        settings_version: u64,
        new: &[NewMessage],
    ) -> Result<ClusterAccept, DbError> {
        let facts = self.look(new).await?;
        let version = i64::try_from(settings_version).unwrap_or(i64::MAX);
        if facts.settings_version > version {
            return Ok(ClusterAccept::Outdated);
        }
        if !facts.has_applications {
            return Err(Error::not_found("application").into());
        }
        self.widen_slack(new).await?;
        let fresh = self.insert_messages(new).await?;
        let is_stored = |new: &&NewMessage| fresh.contains(&new.message.id);
        let (stored, repeated): (Vec<_>, Vec<_>) = new.iter().partition(is_stored);
        self.store(&stored, &facts).await?;
        let earlier = self.find_earlier(&repeated).await?;
        let answer = |new: &NewMessage| match earlier.get(&new.message.id) {
            Some(&id) => Accepted { id, repeated: true },
            None => Accepted { id: new.message.id, repeated: false },
        };
        Ok(ClusterAccept::Stored(new.iter().map(answer).collect()))
    }

    async fn rows(self, sql: &str, bound: &[Typed<'_>]) -> Result<Vec<Row>, DbError> {
        let sql = sql.replace("{s}", &quoted(self.schema));
        Ok(self.db.query_typed(&sql, bound).await?)
    }

    /// The facts that must be known first. Applications and endpoints that are there stay until the transaction ends.
    async fn look(self, new: &[NewMessage]) -> Result<Facts, DbError> {
        let owners: BTreeSet<_> =
            new.iter().map(|new| *new.message.application.as_uuid()).collect();
        let endpoints = new.iter().flat_map(|new| &new.endpoints);
        let wanted: BTreeSet<_> = endpoints.map(|endpoint| *endpoint.as_uuid()).collect();
        let (owners, wanted) = (Vec::from_iter(owners), Vec::from_iter(wanted));
        let bound: [Typed<'_>; 4] = [
            (&owners, Type::UUID_ARRAY),
            (&wanted, Type::UUID_ARRAY),
            (&LOCK_CLASS, Type::INT4),
            (&COUNTERS, Type::INT4),
        ];
        let sql = "WITH owners AS MATERIALIZED (SELECT id FROM {s}.application WHERE id = ANY($1) \
                   AND NOT gone ORDER BY id FOR KEY SHARE), \
                   receivers AS MATERIALIZED (SELECT id FROM {s}.endpoint WHERE id = ANY($2) \
                   AND gone_at IS NULL ORDER BY id FOR KEY SHARE) \
                   SELECT (SELECT value FROM {s}.mark WHERE name = 'news'), \
                   (SELECT count(*) FROM owners) = cardinality($1), \
                   (SELECT array_agg(id) FROM receivers), \
                   (SELECT n FROM generate_series(1, $4) AS n WHERE pg_try_advisory_xact_lock($3, n) LIMIT 1)";
        let rows = self.rows(sql, &bound).await?;
        let row = rows.first().ok_or_else(|| Error::store("no answer"))?;
        let receivers = get::<Option<Vec<Uuid>>>(row, 2)?.unwrap_or_default();
        Ok(Facts {
            settings_version: get(row, 0)?,
            has_applications: get(row, 1)?,
            receivers: receivers.into_iter().collect(),
            counter: i16::try_from(-get::<Option<i32>>(row, 3)?.unwrap_or(1)).unwrap_or(-1),
        })
    }

    /// Keeps the slack true, which lists of messages by their time depend on.
    async fn widen_slack(self, new: &[NewMessage]) -> Result<(), DbError> {
        let slack = new.iter().map(|new| slack_of(&new.message)).max().unwrap_or_default();
        if slack > 0 {
            let slack = slack.cast_signed();
            let sql = "UPDATE {s}.mark SET value = $1 WHERE name = 'slack' AND value < $1";
            self.rows(sql, &[(&slack, Type::INT8)]).await?;
        }
        Ok(())
    }

    /// Inserts messages whose ids and keys are new, and returns their ids. It waits for another transaction that is
    /// just inserting the same key.
    async fn insert_messages(self, new: &[NewMessage]) -> Result<BTreeSet<MessageId>, DbError> {
        let messages = || new.iter().map(|new| &new.message);
        let ids: Vec<_> = messages().map(|m| *m.id.as_uuid()).collect();
        let applications: Vec<_> = messages().map(|m| *m.application.as_uuid()).collect();
        let types: Vec<_> = messages().map(|m| m.event_type.as_str()).collect();
        let keys: Vec<_> = messages().map(|m| m.key.as_ref().map(|key| key.as_str())).collect();
        let content_types: Vec<_> = messages().map(|m| text(&m.content_type)).collect();
        let sizes: Vec<_> = messages().map(|m| from_size(m.size)).collect();
        let times: Vec<_> = messages().map(|m| from_instant(m.created_at)).collect();
        let bound: [Typed<'_>; 7] = [
            (&ids, Type::UUID_ARRAY),
            (&applications, Type::UUID_ARRAY),
            (&types, Type::TEXT_ARRAY),
            (&keys, Type::TEXT_ARRAY),
            (&content_types, Type::TEXT_ARRAY),
            (&sizes, Type::INT8_ARRAY),
            (&times, Type::INT8_ARRAY),
        ];
        let sql = "INSERT INTO {s}.message (id, application, event_type, key, content_type, size, created_at) \
                   SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING id";
        let rows = self.rows(sql, &bound).await?;
        rows.iter().map(|row| message_id(row, 0)).collect()
    }

    /// Stores the payloads and the deliveries of new messages, and has their leaders notified when the caller commits.
    async fn store(self, new: &[&NewMessage], facts: &Facts) -> Result<(), DbError> {
        if new.is_empty() {
            return Ok(());
        }
        let rows = DeliveryRows::of(new, facts);
        let ids: Vec<_> = new.iter().map(|new| *new.message.id.as_uuid()).collect();
        let payloads: Vec<_> = new.iter().map(|new| &new.payload[..]).collect();
        let (channel, note) = (channel_of(self.schema), work_text(rows.shards));
        let (counted, counts): (Vec<_>, Vec<_>) = rows.counts.into_iter().unzip();
        let bound: [Typed<'_>; 12] = [
            (&ids, Type::UUID_ARRAY),
            (&payloads, Type::BYTEA_ARRAY),
            (&rows.messages, Type::UUID_ARRAY),
            (&rows.endpoints, Type::UUID_ARRAY),
            (&rows.applications, Type::UUID_ARRAY),
            (&rows.shard_numbers, Type::INT2_ARRAY),
            (&rows.due, Type::INT8_ARRAY),
            (&counted, Type::UUID_ARRAY),
            (&counts, Type::INT8_ARRAY),
            (&facts.counter, Type::INT2),
            (&channel, Type::TEXT),
            (&note, Type::TEXT),
        ];
        let sql = "WITH kept AS (INSERT INTO {s}.payload (message, bytes) SELECT * FROM unnest($1, $2)), \
                   made AS (INSERT INTO {s}.delivery (message, endpoint, application, shard, state, ended, due, \
                   attempts, replays, updated_at) SELECT n.message, n.endpoint, n.application, n.shard, 0, 0, n.due, \
                   0, 0, n.due FROM unnest($3, $4, $5, $6, $7) AS n (message, endpoint, application, shard, due)), \
                   arrived AS (INSERT INTO {s}.arrival (shard, message, endpoint) SELECT * FROM unnest($6, $3, $4)), \
                   raised AS (INSERT INTO {s}.tally AS t (endpoint, counter, pending, waiting, delivered, dead, \
                   cancelled) SELECT n.endpoint, $10, n.pending, 0, 0, 0, 0 FROM unnest($8, $9) \
                   AS n (endpoint, pending) ON CONFLICT (endpoint, counter) DO UPDATE \
                   SET pending = t.pending + excluded.pending) \
                   SELECT pg_notify($11, $12) WHERE $12 IS NOT NULL";
        self.rows(sql, &bound).await.map(drop)
    }

    /// The earlier message of each repeated one.
    async fn find_earlier(
        self,
        repeated: &[&NewMessage],
    ) -> Result<BTreeMap<MessageId, MessageId>, DbError> {
        if repeated.is_empty() {
            return Ok(BTreeMap::new());
        }
        let applications: Vec<_> =
            repeated.iter().map(|new| *new.message.application.as_uuid()).collect();
        let keys: Vec<_> = repeated.iter().map(|new| key_of(&new.message)).collect();
        let bound: [Typed<'_>; 2] = [(&applications, Type::UUID_ARRAY), (&keys, Type::TEXT_ARRAY)];
        let sql = "SELECT m.id, m.application, m.key, m.event_type, m.content_type, p.bytes \
                   FROM (SELECT DISTINCT * FROM unnest($1, $2)) AS n (application, key) \
                   JOIN {s}.message m ON m.application = n.application AND m.key = n.key \
                   LEFT JOIN {s}.payload p ON p.message = m.id";
        let rows = self.rows(sql, &bound).await?;
        let mut found = BTreeMap::new();
        for row in &rows {
            let name = (application_id(row, 1)?, get::<Option<String>>(row, 2)?);
            found.insert(name, (message_id(row, 0)?, row));
        }
        let mut earlier = BTreeMap::new();
        for new in repeated {
            let message = &new.message;
            let name = (message.application, key_of(message).map(str::to_owned));
            let (id, row) = found.get(&name).ok_or_else(|| {
                // It was pruned between the two statements.
                Error::busy("a message with the same idempotency key was just deleted")
            })?;
            if !has_contents_of(row, new)? {
                let why = format!("the idempotency key is that of {id}, which has other contents");
                return Err(Error::conflict(why).into());
            }
            earlier.insert(message.id, *id);
        }
        Ok(earlier)
    }
}

/// The facts in the caller's transaction.
struct Facts {
    settings_version: i64,
    has_applications: bool,
    /// The endpoints that are there.
    receivers: BTreeSet<Uuid>,
    /// The counter of this transaction: a negative number, which no member has.
    counter: i16,
}

/// The rows of deliveries as columns.
#[derive(Default)]
struct DeliveryRows {
    messages: Vec<Uuid>,
    endpoints: Vec<Uuid>,
    applications: Vec<Uuid>,
    shard_numbers: Vec<i16>,
    due: Vec<i64>,
    shards: Shards,
    /// By how much each count of pending deliveries rises, in the order of the names, as all transactions do it.
    counts: BTreeMap<Uuid, i64>,
}

impl DeliveryRows {
    fn of(new: &[&NewMessage], facts: &Facts) -> Self {
        let mut rows = Self::default();
        for new in new {
            let endpoints: BTreeSet<_> = new.endpoints.iter().collect();
            for to in endpoints.into_iter().filter(|to| facts.receivers.contains(to.as_uuid())) {
                let shard = ShardId::of(*to);
                rows.messages.push(*new.message.id.as_uuid());
                rows.endpoints.push(*to.as_uuid());
                rows.applications.push(*new.message.application.as_uuid());
                rows.shard_numbers.push(shard.0.into());
                rows.due.push(from_instant(new.message.created_at));
                rows.shards.insert(shard);
                for counted in [ALL, *to] {
                    *rows.counts.entry(*counted.as_uuid()).or_default() += 1;
                }
            }
        }
        rows
    }
}

fn key_of(message: &Message) -> Option<&str> {
    message.key.as_ref().map(|key| key.as_str())
}

/// Whether an earlier message has the type and the payload of `new`, as far as they are kept.
fn has_contents_of(earlier: &Row, new: &NewMessage) -> Result<bool, DbError> {
    let message = &new.message;
    let is_type = get::<&str>(earlier, 3)? == message.event_type.as_str()
        && get::<&str>(earlier, 4)? == text(&message.content_type);
    let payload = get::<Option<&[u8]>>(earlier, 5)?;
    Ok(is_type && payload.is_none_or(|bytes| bytes == &new.payload[..]))
}

/// A name as it stands in a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
