//! Settlements: writes deliveries, attempts and endpoint states.

use std::collections::{BTreeMap, BTreeSet};

use stagger_scheduler::model::{
    Delivery, DeliveryAttempt, DeliveryId, DeliveryState, EndpointId, EndpointState, NewMessage,
};

use super::days::day_of;
use super::row::{from_instant, from_span, text};
use super::statement::DbError;
use super::writer::{Change, Changes};
use super::{deliveries, lookups, statement};
use crate::calls::settles;
use crate::{Fence, Settlement, Shards, document};

/// Settlements of a run.
pub(super) struct Settle<'s> {
    pub(super) fence: Fence,
    pub(super) settlements: &'s [Settlement],
}

impl Change for Settle<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let names: BTreeSet<DeliveryId> = self.settlements.iter().flat_map(names).collect();
        let ((), stored) = tokio::try_join!(
            biased;
            changes.member(self.fence),
            deliveries::lock(&changes.db, &names),
        )?;
        let mut outcome = Outcome::new(stored);
        self.settlements.iter().for_each(|settlement| outcome.add(settlement));
        outcome.write(changes).await
    }
}

fn names(settlement: &Settlement) -> impl Iterator<Item = DeliveryId> {
    let delivery = settlement.delivery.map(|delivery| (delivery.message, delivery.endpoint));
    let attempt = settlement.attempt.as_ref().map(|attempt| (attempt.message, attempt.endpoint));
    delivery.into_iter().chain(attempt)
}

/// The combined result of settlements: the last value of each row.
struct Outcome<'s> {
    /// The state in the store, the current state, and the number of replays.
    states: BTreeMap<DeliveryId, (DeliveryState, DeliveryState, u32)>,
    deliveries: BTreeMap<DeliveryId, Delivery>,
    attempts: BTreeMap<(DeliveryId, u32), &'s DeliveryAttempt>,
    endpoint_states: BTreeMap<EndpointId, EndpointState>,
    operational: Vec<&'s NewMessage>,
}

impl<'s> Outcome<'s> {
    fn new(stored: Vec<Delivery>) -> Self {
        let state = |d: Delivery| ((d.message, d.endpoint), (d.state, d.state, d.replays));
        Self {
            states: stored.into_iter().map(state).collect(),
            deliveries: BTreeMap::new(),
            attempts: BTreeMap::new(),
            endpoint_states: BTreeMap::new(),
            operational: Vec::new(),
        }
    }

    fn add(&mut self, settlement: &'s Settlement) {
        if let Some(delivery) = settlement.delivery {
            let name = (delivery.message, delivery.endpoint);
            if let Some((_, state, replays)) = self.states.get_mut(&name)
                && settles(&delivery, *state, *replays)
            {
                *state = delivery.state;
                self.deliveries.insert(name, delivery);
            }
        }
        if let Some(attempt) = &settlement.attempt {
            let of = (attempt.message, attempt.endpoint);
            if self.states.contains_key(&of) {
                self.attempts.insert((of, attempt.number), attempt);
            }
        }
        self.endpoint_states.extend(settlement.endpoint_state);
        self.operational.extend(&settlement.operational);
    }

    async fn write(self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let before = |name: &DeliveryId| self.states.get(name).map(|(stored, ..)| *stored);
        let changed: Vec<_> =
            self.deliveries.iter().filter_map(|(name, d)| Some((*d, before(name)?))).collect();
        changes.count_changed(&changed);
        let attempts: Vec<_> = self.attempts.into_values().collect();
        // Those of operational messages are to come: each transaction writes its counts once, and in order.
        let counts = if self.operational.is_empty() { changes.tally.take() } else { Vec::new() };
        // In one round trip.
        tokio::try_join!(
            biased;
            changes.write_changed(&changed),
            changes.insert_attempts(&attempts),
            changes.write_standings(&self.endpoint_states),
            lookups::write_counts(&changes.db, &counts, changes.counter),
        )?;
        if self.operational.is_empty() {
            return Ok(());
        }
        let of = self.operational.iter().map(|new| new.message.application).collect();
        let there = changes.applications(of).await?;
        let wanted = |new: &&NewMessage| there.contains(&new.message.application);
        let wanted = self.operational.into_iter().filter(wanted);
        // The leaders of their endpoints find them.
        let wanted: Vec<_> = wanted.map(|new| (new, Shards::NONE)).collect();
        changes.accept(&wanted).await.map(drop)
    }
}

impl Changes<'_> {
    /// Writes attempts, no two of the same number at the same delivery.
    pub(super) async fn insert_attempts(&self, made: &[&DeliveryAttempt]) -> Result<(), DbError> {
        if made.is_empty() {
            return Ok(());
        }
        let days: Vec<_> = made.iter().map(|a| day_of(a.message)).collect();
        let messages: Vec<_> = made.iter().map(|a| *a.message.as_uuid()).collect();
        let endpoints: Vec<_> = made.iter().map(|a| *a.endpoint.as_uuid()).collect();
        let numbers: Vec<_> = made.iter().map(|a| i64::from(a.number)).collect();
        let started_at: Vec<_> = made.iter().map(|a| from_instant(a.started_at)).collect();
        let latencies: Vec<_> = made.iter().map(|a| from_span(a.latency)).collect();
        let statuses: Vec<_> = made.iter().map(|a| a.status.map(i32::from)).collect();
        let failures: Vec<_> = made.iter().map(|a| a.failure.map(|it| it.name())).collect();
        let details: Vec<_> = made.iter().map(|a| a.detail.as_deref().map(text)).collect();
        let reply = |a: &&DeliveryAttempt| (!a.reply.is_empty()).then(|| a.reply.to_vec());
        let replies: Vec<_> = made.iter().map(reply).collect();
        let verdicts: Vec<_> = made.iter().map(|a| a.verdict.name()).collect();
        let hints: Vec<_> = made.iter().map(|a| a.hint.map(from_span)).collect();
        let nexts: Vec<_> = made.iter().map(|a| a.next.map(from_instant)).collect();
        let sql = "INSERT INTO attempt (day, message, endpoint, number, started_at, latency, status, \
                   failure, detail, reply, verdict, hint, next) \
                   SELECT * FROM unnest($1::integer[], $2::uuid[], $3::uuid[], $4::bigint[], \
                   $5::bigint[], $6::bigint[], $7::integer[], $8::text[], $9::text[], $10::bytea[], \
                   $11::text[], $12::bigint[], $13::bigint[]) \
                   ON CONFLICT (day, message, endpoint, number) DO UPDATE SET \
                   started_at = excluded.started_at, latency = excluded.latency, \
                   status = excluded.status, failure = excluded.failure, detail = excluded.detail, \
                   reply = excluded.reply, verdict = excluded.verdict, hint = excluded.hint, \
                   next = excluded.next";
        statement::run(
            &self.db,
            sql,
            &[
                &days,
                &messages,
                &endpoints,
                &numbers,
                &started_at,
                &latencies,
                &statuses,
                &failures,
                &details,
                &replies,
                &verdicts,
                &hints,
                &nexts,
            ],
        )
        .await?;
        Ok(())
    }

    async fn write_standings(
        &self,
        endpoint_states: &BTreeMap<EndpointId, EndpointState>,
    ) -> Result<(), DbError> {
        if endpoint_states.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = endpoint_states.keys().map(|id| *id.as_uuid()).collect();
        let documents: Vec<_> =
            endpoint_states.values().map(document::of_endpoint_state).collect::<Result<_, _>>()?;
        let sql = "UPDATE endpoint AS e SET standing = n.standing \
                   FROM unnest($1::uuid[], $2::text[]) AS n (id, standing) WHERE e.id = n.id";
        statement::run(&self.db, sql, &[&ids, &documents]).await?;
        Ok(())
    }
}
