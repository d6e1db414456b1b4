//! The contract of a store that several nodes work on, kept in memory.

use async_trait::async_trait;

use super::MemoryStore;
use super::tables::Tables;
use crate::Error;
use crate::model::{Delivery, EndpointId, NewMessage, Standing};
use crate::store::{
    Arrival, Cluster, Entry, Fence, Hint, Joined, Lead, News, Order, Roll, Shard, Shards,
};

/// Deliveries in a page of [`Cluster::load`]: as few as the smallest tests fill.
const PAGE: usize = 100;

#[async_trait]
impl Cluster for MemoryStore {
    async fn join(&self, name: &str) -> Result<Joined, Error> {
        let fence = self.call(|tables| Ok(tables.members.join(name))).await?;
        self.fences().insert(fence);
        Ok(Joined { fence, hints: self.hints.listen(&self.line) })
    }

    async fn beat(&self, fence: Fence, leaving: bool) -> Result<Roll, Error> {
        self.call(|tables| tables.beat(fence, leaving)).await
    }

    async fn evict(&self, fence: Fence, beat: u64) -> Result<bool, Error> {
        self.call(|tables| Ok(tables.members.evict(fence, beat))).await
    }

    async fn take(&self, fence: Fence, most: usize) -> Result<Shards, Error> {
        self.call(|tables| tables.members.take(fence, most)).await
    }

    async fn give_up(&self, fence: Fence, shards: Shards) -> Result<(), Error> {
        self.call(|tables| {
            tables.members.give_up(fence, shards);
            Ok(())
        })
        .await
    }

    async fn leave(&self, fence: Fence) -> Result<(), Error> {
        self.call(|tables| {
            tables.members.leave(fence);
            Ok(())
        })
        .await
    }

    async fn load(
        &self,
        shards: Shards,
        page: &mut (dyn FnMut(Vec<Delivery>) + Send),
    ) -> Result<Vec<u64>, Error> {
        let (open, covered) = self.call(|tables| Ok(tables.load(shards))).await?;
        open.chunks(PAGE).for_each(|some| page(some.to_vec()));
        Ok(covered)
    }

    async fn accept(
        &self,
        lead: Lead,
        followed: u64,
        messages: Vec<NewMessage>,
    ) -> Result<Entry, Error> {
        self.call_to_the_end(|tables| tables.enter(lead, followed, messages)).await
    }

    async fn arrivals(
        &self,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Result<Vec<Arrival>, Error> {
        self.call(|tables| Ok(tables.arrivals(&self.fences(), shards, done, limit))).await
    }

    async fn news(&self, after: u64) -> Result<News, Error> {
        self.call(|tables| Ok(tables.news(after))).await
    }

    async fn order(&self, endpoint: EndpointId, order: Order) -> Result<u64, Error> {
        self.call(|tables| tables.order(endpoint, order)).await
    }

    async fn orders(&self, shards: Shards) -> Result<Vec<(u64, EndpointId, Order)>, Error> {
        self.call(|tables| Ok(tables.orders.of(shards))).await
    }

    async fn carried_out(&self, orders: &[u64]) -> Result<(), Error> {
        self.call(|tables| {
            tables.orders.carried_out(orders);
            Ok(())
        })
        .await
    }

    async fn is_carried_out(&self, order: u64) -> Result<bool, Error> {
        self.call(|tables| Ok(tables.orders.is_carried_out(order))).await
    }

    async fn standing(&self, endpoint: EndpointId) -> Result<Option<Standing>, Error> {
        self.call(|tables| Ok(tables.endpoints.get(&endpoint).map(|(_, standing)| *standing))).await
    }

    async fn hint(&self, hint: Hint) {
        if self.line.is_whole() {
            self.hints.tell(hint);
        }
    }
}

impl Tables {
    fn beat(&mut self, fence: Fence, leaving: bool) -> Result<Roll, Error> {
        self.members.beat(fence, leaving)?;
        Ok(self.members.roll(self.log.last(), self.open.len()))
    }

    fn enter(
        &mut self,
        lead: Lead,
        followed: u64,
        messages: Vec<NewMessage>,
    ) -> Result<Entry, Error> {
        let mut endpoints = messages.iter().flat_map(|new| &new.endpoints);
        // Without a delivery of its own it does not matter whether it leads.
        let leads = endpoints.any(|endpoint| lead.shards.contains(Shard::of(*endpoint)));
        if leads && !self.members.is_member(lead.fence) {
            return Ok(Entry::NotLeading);
        }
        if followed < self.log.last() {
            return Ok(Entry::Outdated);
        }
        self.accept(messages, lead.shards).map(Entry::Stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::conformance::cluster_suite;
    use crate::store::fixture::{furnish, message};

    cluster_suite!(Box::new(MemoryStore::shared()));

    #[tokio::test]
    async fn who_was_evicted_takes_no_arrivals_from_the_next_leader() {
        let ann = MemoryStore::shared();
        furnish(&ann).await;
        let bob = ann.handle();
        let first = ann.join("ann").await.unwrap().fence;
        ann.take(first, Shards::COUNT).await.unwrap();
        let second = bob.join("bob").await.unwrap().fence;
        ann.evict(first, 0).await.unwrap();
        bob.take(second, Shards::COUNT).await.unwrap();
        bob.accept(Lead::default(), 9, vec![message(1, 1, &[1])]).await.unwrap();
        assert_eq!(ann.arrivals(Shards::ALL, &[1], 9).await.unwrap(), []);
        let found = bob.arrivals(Shards::ALL, &[], 9).await.unwrap();
        assert_eq!(found.iter().map(|it| it.number).collect::<Vec<_>>(), [1]);
        assert_eq!(bob.arrivals(Shards::ALL, &[1], 9).await.unwrap(), []);
    }
}
