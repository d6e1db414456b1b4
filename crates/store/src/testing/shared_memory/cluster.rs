//! The contract of a store that several nodes work on, kept in memory.

use std::collections::BTreeSet;

use async_trait::async_trait;
use stagger::Instant;
use stagger_scheduler::model::{Delivery, DeliveryId, EndpointId, EndpointState, NewMessage};

use super::SharedMemoryStore;
use super::change_log::Changed;
use super::store::SharedState;
use crate::memory::Tables;
use crate::{
    Arrival, ChangeLog, Cluster, ClusterAccept, ClusterView, DeliveryStore, EndpointCommand, Error,
    Fence, Joined, Lead, NodeIdentity, Notification, ReplayRequest, SettingChange, SettingWrite,
    Settlement, ShardId, Shards,
};

/// Deliveries in a page of [`Cluster::load`]: as few as the smallest tests fill.
const PAGE: usize = 100;

/// Payloads up to this many bytes come with the arrival: a leader has to read larger ones by themselves.
const SMALL: usize = 8 * 1024;

#[async_trait]
impl Cluster for SharedMemoryStore {
    async fn join(&self, node: &NodeIdentity) -> Result<Joined, Error> {
        let fence = self.state().members.join(node);
        self.fences().insert(fence);
        let notifications = self.notifications.listen();
        Ok(Joined { fence, shards: Shards::NONE, heartbeats: true, notifications })
    }

    async fn heartbeat(&self, fence: Fence, leaving: bool) -> Result<ClusterView, Error> {
        self.state().heartbeat(&self.tables(), fence, leaving)
    }

    async fn evict(&self, fence: Fence, heartbeat: u64) -> Result<bool, Error> {
        Ok(self.state().members.evict(fence, heartbeat))
    }

    async fn acquire(&self, fence: Fence, most: usize) -> Result<Shards, Error> {
        self.state().members.acquire(fence, most)
    }

    async fn release(&self, fence: Fence, shards: Shards) -> Result<(), Error> {
        self.state().members.release(fence, shards);
        Ok(())
    }

    async fn leave(&self, fence: Fence) -> Result<(), Error> {
        self.state().members.leave(fence);
        Ok(())
    }

    async fn load(
        &self,
        shards: Shards,
        page: &mut (dyn FnMut(Vec<Delivery>) + Send),
    ) -> Result<Vec<u64>, Error> {
        let (open, covered) = self.state().load(&self.tables(), shards);
        open.chunks(PAGE).for_each(|some| page(some.to_vec()));
        Ok(covered)
    }

    async fn accept(
        &self,
        lead: Lead,
        settings_version: u64,
        messages: Vec<NewMessage>,
    ) -> Result<ClusterAccept, Error> {
        self.state().enter(&mut self.tables(), lead, settings_version, messages)
    }

    async fn settle_as_leader(
        &self,
        fence: Fence,
        settlements: Vec<Settlement>,
    ) -> Result<(), Error> {
        self.settle(fence, settlements).await
    }

    async fn replay_to_leaders(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        self.replay(request, now, limit).await
    }

    async fn change_setting(&self, write: SettingWrite) -> Result<(), Error> {
        self.write_setting(write).await
    }

    async fn arrivals(
        &self,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Result<Vec<Arrival>, Error> {
        Ok(self.state().arrivals(&self.tables(), &self.fences(), shards, done, limit))
    }

    async fn changes_since(&self, after: u64) -> Result<ChangeLog, Error> {
        Ok(self.state().changes_since(&self.tables(), after))
    }

    async fn send_command(
        &self,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<u64, Error> {
        self.state().send_command(&self.tables(), endpoint, command)
    }

    async fn commands(
        &self,
        shards: Shards,
    ) -> Result<Vec<(u64, EndpointId, EndpointCommand)>, Error> {
        Ok(self.state().commands.of(shards))
    }

    async fn complete_commands(&self, commands: &[u64]) -> Result<(), Error> {
        self.state().commands.complete_commands(commands);
        Ok(())
    }

    async fn is_command_done(&self, command: u64) -> Result<bool, Error> {
        Ok(self.state().commands.is_command_done(command))
    }

    async fn endpoint_state(&self, endpoint: EndpointId) -> Result<Option<EndpointState>, Error> {
        let tables = self.tables();
        Ok(tables.endpoints.get(&endpoint).map(|(_, endpoint_state)| *endpoint_state))
    }

    async fn notify(&self, notification: Notification) {
        self.notifications.tell(notification);
    }
}

impl SharedState {
    fn heartbeat(
        &mut self,
        tables: &Tables,
        fence: Fence,
        leaving: bool,
    ) -> Result<ClusterView, Error> {
        self.members.heartbeat(fence, leaving)?;
        Ok(self.members.cluster_view(self.change_log.last(), tables.open.len()))
    }

    fn enter(
        &mut self,
        tables: &mut Tables,
        lead: Lead,
        settings_version: u64,
        messages: Vec<NewMessage>,
    ) -> Result<ClusterAccept, Error> {
        let mut endpoints = messages.iter().flat_map(|new| &new.endpoints);
        // Without a delivery of its own it does not matter whether it leads.
        let leads = endpoints.any(|endpoint| lead.shards.contains(ShardId::of(*endpoint)));
        if leads && !self.members.is_member(lead.fence) {
            return Ok(ClusterAccept::NotLeading);
        }
        if settings_version < self.change_log.last() {
            return Ok(ClusterAccept::Outdated);
        }
        self.accept(tables, messages, lead.shards).map(ClusterAccept::Stored)
    }

    /// Deletes the finished arrivals of a node with these memberships and returns others, except
    /// those of shards that another member leads: an evicted node that has not noticed would
    /// otherwise take arrivals that the next leader has not seen.
    fn arrivals(
        &mut self,
        tables: &Tables,
        node: &BTreeSet<Fence>,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Vec<Arrival> {
        let left = self.members.left_to(node);
        done.iter().for_each(|number| self.arrivals.forget(*number, left));
        let found = self.arrivals.of(shards.common(left)).take(limit);
        found.map(|(number, name)| arrival(tables, number, name)).collect()
    }

    /// The open deliveries of `shards`, oldest first, and the numbers of all their arrivals.
    fn load(&self, tables: &Tables, shards: Shards) -> (Vec<Delivery>, Vec<u64>) {
        let wanted = |(_, to): &&DeliveryId| shards.contains(ShardId::of(*to));
        let open = tables.open.iter().filter(wanted).map(|name| tables.deliveries[name]).collect();
        (open, self.arrivals.of(shards).map(|(number, _)| number).collect())
    }

    fn changes_since(&self, tables: &Tables, after: u64) -> ChangeLog {
        let changed = self.change_log.since(after);
        let changes = changed.map(|all| all.into_iter().map(|one| setting(tables, one)).collect());
        ChangeLog { to: self.change_log.last(), changes }
    }

    fn send_command(
        &mut self,
        tables: &Tables,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<u64, Error> {
        if !tables.endpoints.contains_key(&endpoint) {
            return Err(Error::not_found("endpoint"));
        }
        Ok(self.commands.add(endpoint, command))
    }
}

fn arrival(tables: &Tables, number: u64, (message, endpoint): DeliveryId) -> Arrival {
    let delivery = tables.delivery(message, endpoint).filter(|it| it.state.is_open());
    let content = delivery.and_then(|_| tables.messages.get(&message).cloned());
    let content = content.and_then(|(message, payload)| Some((message, payload?)));
    let content = content.filter(|(_, payload)| payload.len() <= SMALL);
    Arrival { number, delivery, content }
}

fn setting(tables: &Tables, changed: Changed) -> SettingChange {
    match changed {
        Changed::Application(id) => {
            SettingChange::Application(id, tables.applications.get(&id).cloned())
        }
        Changed::Endpoint(id) => SettingChange::Endpoint(id, tables.endpoints.get(&id).cloned()),
        Changed::Document(key) => {
            let text = tables.documents.get(&key).map(|document| document.text.clone());
            SettingChange::Document(key, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conformance::cluster_suite;
    use crate::testing::fixture::{furnish, message};

    cluster_suite!(Box::new(SharedMemoryStore::default()));

    #[tokio::test]
    async fn an_evicted_member_takes_no_arrivals_from_the_next_leader() {
        let ann = SharedMemoryStore::default();
        furnish(&ann).await;
        let bob = ann.handle();
        let first = ann.join(&"ann".into()).await.unwrap().fence;
        ann.acquire(first, Shards::COUNT).await.unwrap();
        let second = bob.join(&"bob".into()).await.unwrap().fence;
        ann.evict(first, 0).await.unwrap();
        bob.acquire(second, Shards::COUNT).await.unwrap();
        Cluster::accept(&bob, Lead::default(), 9, vec![message(1, 1, &[1])]).await.unwrap();
        assert_eq!(ann.arrivals(Shards::ALL, &[1], 9).await.unwrap(), []);
        let found = bob.arrivals(Shards::ALL, &[], 9).await.unwrap();
        assert_eq!(found.iter().map(|it| it.number).collect::<Vec<_>>(), [1]);
        assert_eq!(bob.arrivals(Shards::ALL, &[1], 9).await.unwrap(), []);
    }
}
