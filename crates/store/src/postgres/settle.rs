//! Settlements: writes deliveries, attempts and endpoint states.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Client;
use stagger_scheduler::model::{
    Delivery, DeliveryAttempt, DeliveryId, DeliveryState, EndpointId, EndpointState, NewMessage,
};

use super::statement::DbError;
use super::writer::{Change, Changes, Memory};
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
    const AT_ONCE: bool = true;

    async fn make_at_once(
        &self,
        db: &Client,
        memory: &Memory,
        counter: i16,
    ) -> Result<Option<()>, DbError> {
        self.write_at_once(db, memory, counter).await
    }

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
