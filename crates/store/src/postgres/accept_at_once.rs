//! Accepts messages with one statement, where nothing stands against any of them.
//!
//! Nearly always all is as the caller expects: members lead, applications and endpoints are there, settings are current,
//! and no message repeats another one. Then one statement checks that and writes everything, which costs the database
//! much less than the same step by step. If anything is different it writes nothing, and [`Accept`] finds out what.

use std::collections::BTreeSet;

use deadpool_postgres::Client;
use stagger_scheduler::model::{DeliveryState, EndpointId, NewMessage};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::accept::{Accept, AcceptCall};
use super::row::{from_instant, from_size, run, text};
use super::statement;
use super::statement::DbError;
use super::writer::Memory;
use crate::encoding::CountChanges;
use crate::walk::slack_of;
use crate::{Accepted, ClusterAccept, Error, ShardId, document};

/// The answers to the calls of a batch.
type AcceptAnswers = Vec<Result<ClusterAccept, Error>>;

impl Accept<'_> {
    /// Stores all messages. `None`, and nothing has changed, if one of them needs a closer look. Calls `executed` before
    /// it waits for the disk.
    pub(super) async fn store_at_once(
        &self,
        db: &Client,
        memory: &Memory,
        counter: i16,
        executed: impl FnOnce() + Send,
    ) -> Result<Option<AcceptAnswers>, DbError> {
        let messages = || self.0.iter().flat_map(|call| call.messages);
        let widens = |new: &NewMessage| slack_of(&new.message) > memory.slack();
        if messages().next().is_none() || messages().any(widens) {
            return Ok(None);
        }
        messages().for_each(|new| memory.lower_floor(new.message.id));
        if !NewRows::of(self.0)?.write(db, counter, executed).await? {
            return Ok(None);
        }
        let accepted = |new: &NewMessage| Accepted { id: new.message.id, repeated: false };
        let stored = |call: &AcceptCall<'_>| {
            Ok(ClusterAccept::Stored(call.messages.iter().map(accepted).collect()))
        };
        Ok(Some(self.0.iter().map(stored).collect()))
    }
}

/// The rows of messages as columns, and the facts that must hold for them.
#[derive(Default)]
struct NewRows<'n> {
    /// The memberships, and the oldest version of settings, with which endpoints were chosen.
    runs: Vec<i64>,
    settings_version: i64,
    /// Those that must be there.
    owners: Vec<Uuid>,
    receivers: Vec<Uuid>,
    ids: Vec<Uuid>,
    applications: Vec<Uuid>,
    types: Vec<&'n str>,
    keys: Vec<Option<&'n str>>,
    content_types: Vec<String>,
    sizes: Vec<i64>,
    times: Vec<i64>,
    documents: Vec<Option<String>>,
    payloads: Vec<&'n [u8]>,
    deliveries: NewDeliveries,
    /// The shard, message and endpoint of deliveries that other nodes make.
    arrivals: (Vec<i16>, Vec<Uuid>, Vec<Uuid>),
    /// By how much each count of pending deliveries rises.
    counted: (Vec<Uuid>, Vec<i64>),
}

#[derive(Default)]
struct NewDeliveries {
    messages: Vec<Uuid>,
    endpoints: Vec<Uuid>,
    applications: Vec<Uuid>,
    shards: Vec<i16>,
    due: Vec<i64>,
}

impl<'n> NewRows<'n> {
    fn of(calls: &'n [AcceptCall<'n>]) -> Result<Self, DbError> {
        let fences: BTreeSet<_> = calls.iter().filter_map(AcceptCall::fence).collect();
        let versions = calls.iter().filter_map(|call| Some(call.choice?.settings_version));
        let mut rows = Self {
            runs: fences.into_iter().map(run).collect(),
            settings_version: versions
                .min()
                .map_or(i64::MAX, |oldest| i64::try_from(oldest).unwrap_or(i64::MAX)),
            ..Self::default()
        };
        let (mut owners, mut receivers) = (BTreeSet::new(), BTreeSet::new());
        let mut counts = CountChanges::default();
        for call in calls {
            for new in call.messages {
                owners.insert(*new.message.application.as_uuid());
                rows.add(new)?;
                let endpoints: BTreeSet<EndpointId> = new.endpoints.iter().copied().collect();
                for to in endpoints {
                    receivers.insert(*to.as_uuid());
                    counts.add(to, DeliveryState::Pending);
                    rows.add_delivery(new, to, call.leads(to));
                }
            }
        }
        rows.owners = owners.into_iter().collect();
        rows.receivers = receivers.into_iter().collect();
        let counted = counts.take().into_iter();
        let pending = |by: &[i64]| by[DeliveryState::Pending as usize];
        rows.counted = counted.map(|(of, by)| (*of.as_uuid(), pending(&by))).unzip();
        Ok(rows)
    }

    fn add(&mut self, new: &'n NewMessage) -> Result<(), DbError> {
        let message = &new.message;
        self.ids.push(*message.id.as_uuid());
        self.applications.push(*message.application.as_uuid());
        self.types.push(message.event_type.as_str());
        self.keys.push(message.key.as_ref().map(|key| key.as_str()));
        self.content_types.push(text(&message.content_type));
        self.sizes.push(from_size(message.size));
        self.times.push(from_instant(message.created_at));
        self.documents.push(document::of_message(message)?);
        self.payloads.push(&new.payload);
        Ok(())
    }

    fn add_delivery(&mut self, new: &NewMessage, to: EndpointId, is_led: bool) {
        let (id, shard) = (*new.message.id.as_uuid(), i16::from(ShardId::of(to).0));
        let to = *to.as_uuid();
        let rows = &mut self.deliveries;
        rows.messages.push(id);
        rows.endpoints.push(to);
        rows.applications.push(*new.message.application.as_uuid());
        rows.shards.push(shard);
        rows.due.push(from_instant(new.message.created_at));
        if !is_led {
            self.arrivals.0.push(shard);
            self.arrivals.1.push(id);
            self.arrivals.2.push(to);
        }
    }

    /// Writes all, unless a fact does not hold; whether it has.
    async fn write(
        &self,
        db: &Client,
        counter: i16,
        executed: impl FnOnce() + Send,
    ) -> Result<bool, DbError> {
        let made = &self.deliveries;
        let mut bound: Vec<&(dyn ToSql + Sync)> = vec![
            &self.runs,
            &self.settings_version,
            &self.owners,
            &self.receivers,
            &self.ids,
            &self.applications,
            &self.types,
            &self.keys,
            &self.content_types,
            &self.sizes,
            &self.times,
            &self.payloads,
            &made.messages,
            &made.endpoints,
            &made.applications,
            &made.shards,
            &made.due,
            &self.counted.0,
            &self.counted.1,
            &counter,
            &self.documents,
        ];
        let has_arrivals = !self.arrivals.0.is_empty();
        if has_arrivals {
            let (shards, messages, endpoints) = &self.arrivals;
            bound.extend([shards as &(dyn ToSql + Sync), messages, endpoints]);
        }
        let has_keys = self.keys.iter().any(Option::is_some);
        let sql = accept_sql(has_keys, has_arrivals);
        let rows = statement::whole(db, &sql, &bound, executed).await?;
        Ok(!rows.is_empty())
    }
}

/// The statement. It gives a row if the facts hold. What must be there stays until the transaction ends.
fn accept_sql(has_keys: bool, has_arrivals: bool) -> String {
    let no_repetition = if has_keys {
        "AND NOT EXISTS (SELECT 1 FROM unnest($6::uuid[], $8::text[]) AS k (application, key) \
         JOIN message m ON m.application = k.application AND m.key = k.key) "
    } else {
        ""
    };
    let arrivals = if has_arrivals {
        ", arrived AS (INSERT INTO arrival (shard, message, endpoint) SELECT n.* \
         FROM usual, unnest($22::smallint[], $23::uuid[], $24::uuid[]) AS n)"
    } else {
        ""
    };
    format!(
        "WITH members AS MATERIALIZED (SELECT run FROM node WHERE run = ANY($1) ORDER BY run \
         FOR KEY SHARE), \
         owners AS MATERIALIZED (SELECT id FROM application WHERE id = ANY($3) AND NOT gone \
         ORDER BY id FOR KEY SHARE), \
         receivers AS MATERIALIZED (SELECT id FROM endpoint WHERE id = ANY($4) \
         AND gone_at IS NULL ORDER BY id FOR KEY SHARE), \
         usual AS MATERIALIZED (SELECT 1 AS fact WHERE (SELECT count(*) FROM members) = cardinality($1) \
         AND (SELECT count(*) FROM owners) = cardinality($3) \
         AND (SELECT count(*) FROM receivers) = cardinality($4) \
         AND (SELECT value FROM mark WHERE name = 'news') <= $2 {no_repetition}), \
         stored AS (INSERT INTO message (id, application, event_type, key, content_type, size, \
         created_at, document) SELECT n.* FROM usual, unnest($5::uuid[], $6::uuid[], $7::text[], \
         $8::text[], $9::text[], $10::bigint[], $11::bigint[], $21::text[]) AS n), \
         kept AS (INSERT INTO payload (message, bytes) SELECT n.* FROM usual, \
         unnest($5::uuid[], $12::bytea[]) AS n), \
         made AS (INSERT INTO delivery (message, endpoint, application, shard, state, ended, due, \
         attempts, replays, updated_at) SELECT n.message, n.endpoint, n.application, n.shard, 0, 0, \
         n.due, 0, 0, n.due FROM usual, unnest($13::uuid[], $14::uuid[], $15::uuid[], $16::smallint[], \
         $17::bigint[]) AS n (message, endpoint, application, shard, due)), \
         raised AS (UPDATE tally t SET pending = t.pending + n.pending FROM usual, \
         unnest($18::uuid[], $19::bigint[]) AS n (endpoint, pending) \
         WHERE t.endpoint = n.endpoint AND t.counter = $20 RETURNING t.endpoint), \
         begun AS (INSERT INTO tally (endpoint, counter, pending, waiting, delivered, dead, cancelled) \
         SELECT n.endpoint, $20, n.pending, 0, 0, 0, 0 FROM usual, \
         unnest($18::uuid[], $19::bigint[]) AS n (endpoint, pending) \
         WHERE NOT EXISTS (SELECT 1 FROM raised r WHERE r.endpoint = n.endpoint)){arrivals} \
         SELECT fact FROM usual"
    )
}

#[cfg(test)]
mod tests {
    use super::super::accept::Choice;
    use super::super::test_schema::{ScratchSchema, TestSchema};
    use super::*;
    use crate::testing::fixture::{at, ep, furnish, keyed, message};
    use crate::{Cluster, DeliveryStore, Lead, Shards};

    #[tokio::test]
    async fn facts_are_found_along_indexes() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        let plan = schema.plan(&accept_sql(true, true), 24).await;
        for table in ["node", "application", "endpoint", "tally"] {
            assert!(plan.contains(&format!("{table}_pkey")), "{table}: {plan}");
        }
        assert!(plan.contains("message_by_key") && !plan.contains("Seq Scan"), "{plan}");
    }

    /// Whether a message is stored at once; what is not leaves no row.
    async fn is_usual(store: &ScratchSchema, new: NewMessage, choice: Option<Choice>) -> bool {
        let (messages, memory) = ([new], Memory::default());
        let call = [AcceptCall { messages: &messages, choice }];
        let db = store.pool.lend().await.unwrap();
        let stored = Accept(&call).store_at_once(&db, &memory, 0, || ()).await;
        let is_there = store.message(messages[0].message.id).await.unwrap().is_some();
        let stored = matches!(stored, Ok(Some(_)));
        assert_eq!(db.end(Some(Ok(stored))).unwrap() && is_there, stored);
        stored
    }

    #[tokio::test]
    async fn only_what_is_as_the_caller_expects_is_stored_at_once() {
        let Some(store) = ScratchSchema::new().await else { return };
        furnish(&*store).await;
        let fence = store.join(&"ann".into()).await.unwrap().fence;
        let shards = store.acquire(fence, Shards::COUNT).await.unwrap();
        let settings_version = store.changes_since(0).await.unwrap().to;
        let chosen = |fence, settings_version| {
            Some(Choice { lead: Lead { fence, shards }, settings_version })
        };
        let now = chosen(fence, settings_version);
        assert!(is_usual(&store, keyed(1, 1, &[1], "once"), now).await);
        assert!(is_usual(&store, message(2, 1, &[1]), None).await);
        assert_eq!(store.open_deliveries(None, 9).await.unwrap().len(), 2);
        assert!(!is_usual(&store, keyed(3, 1, &[1], "once"), now).await, "its key is there");
        assert!(!is_usual(&store, message(4, 9, &[1]), now).await, "no application");
        let outdated = chosen(fence, settings_version - 1);
        assert!(!is_usual(&store, message(5, 1, &[1]), outdated).await, "other settings");
        store.leave(fence).await.unwrap();
        assert!(!is_usual(&store, message(6, 1, &[1]), now).await, "no member");
        store.delete_endpoint(ep(1), at(9)).await.unwrap();
        assert!(!is_usual(&store, message(7, 1, &[1]), None).await, "no endpoint");
    }
}
