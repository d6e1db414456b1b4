//! The contract for several nodes, kept by the database.

use async_trait::async_trait;

use super::super::accept::Choice;
use super::super::store::PostgresStore;
use super::super::tenants;
use super::super::writer::SELDOM;
use super::arrivals::{Claim, FORGOTTEN};
use super::members::{End, Join, beat};
use super::news;
use super::orders::{CarriedOut, Leave, is_gone, orders};
use super::shards::{GiveUp, Take, load};
use crate::Error;
use crate::model::{Delivery, EndpointId, NewMessage, Standing};
use crate::store::{Arrival, Cluster, Entry, Fence, Hint, Joined, Lead, News, Order, Roll, Shards};

#[async_trait]
impl Cluster for PostgresStore {
    async fn join(&self, name: &str) -> Result<Joined, Error> {
        let hints = self.hints.hear().await;
        let (fence, slot) = self.roll.write(SELDOM, &Join(name)).await?;
        self.writer.count_in(slot);
        self.memberships().insert(fence);
        Ok(Joined { fence, hints })
    }

    async fn beat(&self, fence: Fence, leaving: bool) -> Result<Roll, Error> {
        let told = self.roll.read(async |db| beat(&**db, fence, leaving).await).await;
        if told.as_ref().is_err_and(Error::is_conflict) {
            self.memberships().remove(&fence);
        }
        told
    }

    async fn evict(&self, fence: Fence, beat: u64) -> Result<bool, Error> {
        self.roll.write(SELDOM, &End { fence, beat: Some(beat) }).await
    }

    async fn take(&self, fence: Fence, most: usize) -> Result<Shards, Error> {
        self.roll.write(SELDOM, &Take { fence, most }).await
    }

    async fn give_up(&self, fence: Fence, shards: Shards) -> Result<(), Error> {
        self.roll.write(SELDOM, &GiveUp { fence, shards }).await
    }

    async fn leave(&self, fence: Fence) -> Result<(), Error> {
        self.roll.write(SELDOM, &End { fence, beat: None }).await?;
        self.memberships().remove(&fence);
        Ok(())
    }

    async fn load(
        &self,
        shards: Shards,
        page: &mut (dyn FnMut(Vec<Delivery>) + Send),
    ) -> Result<Vec<u64>, Error> {
        Ok(load(&self.pool, shards, page).await?)
    }

    async fn accept(
        &self,
        lead: Lead,
        followed: u64,
        messages: Vec<NewMessage>,
    ) -> Result<Entry, Error> {
        self.intake.accept(messages, Some(Choice { lead, followed })).await
    }

    async fn arrivals(
        &self,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Result<Vec<Arrival>, Error> {
        let members: Vec<_> = self.memberships().iter().copied().collect();
        let members = &members[..];
        if done.is_empty() {
            let claim = Claim { members, shards, done, limit };
            return self.read(async |db| claim.find(&**db).await).await;
        }
        let mut found = Vec::new();
        for done in done.chunks(FORGOTTEN) {
            let claim = Claim { members, shards, done, limit };
            found = self.writer.write(SELDOM, &claim).await?;
        }
        Ok(found)
    }

    async fn news(&self, after: u64) -> Result<News, Error> {
        let mut loan = self.pool.lend().await?;
        let told = self.pool.bounded(news::since(&mut loan, after)).await;
        Ok(loan.end(told)?)
    }

    async fn order(&self, endpoint: EndpointId, order: Order) -> Result<u64, Error> {
        self.writer.write(SELDOM, &Leave(endpoint, order)).await
    }

    async fn orders(&self, shards: Shards) -> Result<Vec<(u64, EndpointId, Order)>, Error> {
        self.read(async |db| orders(&**db, shards).await).await
    }

    async fn carried_out(&self, orders: &[u64]) -> Result<(), Error> {
        self.writer.write(SELDOM, &CarriedOut(orders)).await
    }

    async fn is_carried_out(&self, order: u64) -> Result<bool, Error> {
        self.read(async |db| is_gone(&**db, order).await).await
    }

    async fn standing(&self, endpoint: EndpointId) -> Result<Option<Standing>, Error> {
        self.read(async |db| tenants::standing(&**db, endpoint).await).await
    }

    async fn hint(&self, hint: Hint) {
        self.hints.tell(hint);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scratch::Scratch;
    use crate::store::conformance::cluster_suite;

    cluster_suite!(match Scratch::new().await {
        Some(store) => store,
        None => return,
    });
}
