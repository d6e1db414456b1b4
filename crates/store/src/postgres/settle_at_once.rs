//! Settles attempts with one statement, where each delivery is as the node left it.
//!
//! Then nothing has to be read and locked before it is written: the statement finds each delivery, changes it where it was
//! found, and counts. If one of them is gone, was replayed, or changed in between, nothing is written, and
//! [`Settle`] looks at each of them.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Client;
use stagger_scheduler::model::{Delivery, DeliveryAttempt, DeliveryId, EndpointId, EndpointState};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::attempts::{self, AttemptColumns};
use super::deliveries::DeliveryColumns;
use super::row::{from_size, get, run};
use super::settle::Settle;
use super::statement;
use super::statement::DbError;
use super::writer::Memory;
use crate::{Settlement, document};

impl Settle<'_> {
    /// Writes all settlements. `None`, and nothing has changed, if one of them needs a closer look.
    pub(super) async fn write_at_once(
        &self,
        db: &Client,
        memory: &Memory,
        counter: i16,
    ) -> Result<Option<()>, DbError> {
        let Some(usual) = UsualSettlements::of(self.settlements) else { return Ok(None) };
        let columns = DeliveryColumns::of(usual.deliveries.iter().copied());
        let made = AttemptColumns::of(&usual.attempts);
        let (ids, documents) = usual.endpoint_states()?;
        let (run, count) = (run(self.fence), from_size(usual.deliveries.len()));
        let mut bound: Vec<&(dyn ToSql + Sync)> = vec![&run, &counter];
        bound.extend(columns.bound());
        bound.extend(made.bound());
        let has_states = !ids.is_empty();
        if has_states {
            bound.extend([&ids as &(dyn ToSql + Sync), &documents]);
        }
        let ended = usual.deliveries.iter().filter(|delivery| !delivery.state.is_open());
        ended.for_each(|delivery| memory.lower_floor(delivery.message));
        let all = |changed: i64| changed == count;
        statement::if_it_holds(db, &settle_sql(has_states), &bound, |rows| {
            rows.first().map_or(Ok(false), |row| get(row, 0).map(all))
        })
        .await
        .map(|holds| holds.then_some(()))
    }
}

/// Settlements that name each delivery once.
struct UsualSettlements<'s> {
    deliveries: Vec<&'s Delivery>,
    attempts: Vec<&'s DeliveryAttempt>,
    endpoint_states: BTreeMap<EndpointId, EndpointState>,
}

impl<'s> UsualSettlements<'s> {
    /// `None` if an order or an operational message matters.
    fn of(settlements: &'s [Settlement]) -> Option<Self> {
        let mut usual = Self {
            deliveries: Vec::with_capacity(settlements.len()),
            attempts: Vec::with_capacity(settlements.len()),
            endpoint_states: BTreeMap::new(),
        };
        let mut names = BTreeSet::new();
        for settlement in settlements {
            let Settlement { delivery, attempt, endpoint_state, operational } = settlement;
            let name = delivery.as_ref().map(|it| (it.message, it.endpoint));
            let attempted = attempt.as_ref().map(|it| (it.message, it.endpoint));
            let is_new = |name: DeliveryId| names.insert(name);
            if !operational.is_empty()
                || !name.is_none_or(is_new)
                || (attempted.is_some() && attempted != name)
            {
                return None;
            }
            usual.deliveries.extend(delivery);
            usual.attempts.extend(attempt);
            usual.endpoint_states.extend(*endpoint_state);
        }
        (!usual.deliveries.is_empty()).then_some(usual)
    }

    /// The ids and documents of endpoint states.
    fn endpoint_states(&self) -> Result<(Vec<Uuid>, Vec<String>), DbError> {
        let ids = self.endpoint_states.keys().map(|id| *id.as_uuid()).collect();
        let documents = self.endpoint_states.values().map(document::of_endpoint_state);
        Ok((ids, documents.collect::<Result<_, _>>()?))
    }
}

/// The statement, which gives the number of changed deliveries.
///
/// A delivery is compared once more with what was found: after a wait for another transaction PostgreSQL shows its
/// newest row, and the place of that is not looked at again.
fn settle_sql(has_states: bool) -> String {
    let states = if has_states {
        ", learned AS (UPDATE endpoint AS e SET standing = n.standing FROM members, \
         unnest($26::uuid[], $27::text[]) AS n (id, standing) WHERE e.id = n.id)"
    } else {
        ""
    };
    format!(
        "WITH members AS MATERIALIZED (SELECT run FROM node WHERE run = $1 FOR KEY SHARE), \
         found AS MATERIALIZED (SELECT d.ctid AS place, d.state AS before, \
         d.replays AS replays_before, d.updated_at AS updated_before, n.* FROM members, \
         {settled} AS n (message, endpoint, state, ended, due, attempts, replays, call, ending, \
         updated_at) JOIN delivery d ON d.message = n.message AND d.endpoint = n.endpoint \
         WHERE d.replays <= n.replays AND (d.ended = 0 OR n.ended <> 0)), \
         done AS (UPDATE delivery AS d SET state = n.state, ended = n.ended, due = n.due, \
         attempts = n.attempts, replays = n.replays, call = n.call, ending = n.ending, \
         updated_at = n.updated_at FROM found AS n WHERE d.ctid = n.place AND d.state = n.before \
         AND d.replays = n.replays_before AND d.updated_at = n.updated_before \
         RETURNING d.endpoint, n.before, d.state), \
         attempted AS (INSERT INTO attempt ({names}) SELECT n.* FROM members, {attempts} AS n), \
         counts AS MATERIALIZED (SELECT coalesce(endpoint, '{nil}'::uuid) AS endpoint, {sums} \
         FROM done GROUP BY GROUPING SETS ((endpoint), ()) HAVING count(*) > 0), \
         raised AS (UPDATE tally t SET pending = t.pending + n.s0, waiting = t.waiting + n.s1, \
         delivered = t.delivered + n.s2, dead = t.dead + n.s3, cancelled = t.cancelled + n.s4 \
         FROM counts n WHERE t.endpoint = n.endpoint AND t.counter = $2 RETURNING t.endpoint), \
         begun AS (INSERT INTO tally (endpoint, counter, pending, waiting, delivered, dead, cancelled) \
         SELECT n.endpoint, $2, n.s0, n.s1, n.s2, n.s3, n.s4 FROM counts n \
         WHERE NOT EXISTS (SELECT 1 FROM raised r WHERE r.endpoint = n.endpoint)){states} \
         SELECT count(*) FROM done",
        settled = DeliveryColumns::rows(3),
        attempts = AttemptColumns::rows(13),
        names = attempts::NAMES,
        nil = Uuid::nil(),
        sums = sums(),
    )
}

/// By how much the count of each state changes.
fn sums() -> String {
    let sum = |at: usize| {
        format!("sum((state = {at})::integer - (before = {at})::integer)::bigint AS s{at}")
    };
    (0..5).map(sum).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use stagger::Verdict;
    use stagger_scheduler::model::DeliveryState::Delivered;

    use super::super::test_schema::{ScratchSchema, TestSchema};
    use super::*;
    use crate::testing::fixture::{at, attempt, ep, furnish, message, msg, settled};
    use crate::{DeliveryStore, Fence, ReplayRequest};

    #[tokio::test]
    async fn deliveries_are_changed_where_they_were_found() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        let plan = schema.plan(&settle_sql(true), 27).await;
        for table in ["node", "delivery", "tally", "endpoint"] {
            assert!(plan.contains(&format!("{table}_pkey")), "{table}: {plan}");
        }
        assert!(plan.contains("Tid Scan on delivery d") && !plan.contains("Seq Scan"), "{plan}");
    }

    /// Whether settlements are written at once; what is not changes nothing.
    async fn is_usual(store: &ScratchSchema, fence: Fence, settlements: &[Settlement]) -> bool {
        let (memory, before) = (Memory::default(), store.counts(None).await.unwrap());
        let db = store.pool.lend().await.unwrap();
        let settle = Settle { fence, settlements };
        let written = settle.write_at_once(&db, &memory, 0).await;
        let written = db.end(Some(written)).unwrap().is_some();
        assert!(written || store.counts(None).await.unwrap() == before);
        written
    }

    #[tokio::test]
    async fn only_deliveries_that_are_as_they_were_are_settled_at_once() {
        let Some(store) = ScratchSchema::new().await else { return };
        let fence = furnish(&*store).await;
        store.accept((1..=3).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
        let attempt = Some(attempt(1, 1, 1, Verdict::Ok));
        let first = Settlement { attempt, ..settled(1, 1, 1, Delivered, 5) };
        let second = settled(2, 1, 1, Delivered, 6);
        let twice = [first.clone(), first.clone()];
        assert!(!is_usual(&store, fence, &twice).await, "an order matters");
        assert!(
            !is_usual(&store, Fence(fence.0 + 1), std::slice::from_ref(&first)).await,
            "no member"
        );
        let gone = settled(9, 1, 1, Delivered, 5);
        assert!(!is_usual(&store, fence, &[first.clone(), gone]).await, "one is not there");
        assert!(is_usual(&store, fence, &[first, second.clone()]).await);
        assert_eq!(store.counts(Some(ep(1))).await.unwrap().of(Delivered), 2);
        assert_eq!(store.attempts(msg(1), ep(1)).await.unwrap().len(), 1);
        store.replay(ReplayRequest::One(msg(2), ep(1)), at(9), 1).await.unwrap();
        assert!(!is_usual(&store, fence, &[second]).await, "it was replayed");
    }
}
