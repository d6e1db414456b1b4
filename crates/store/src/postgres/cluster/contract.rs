//! The contract for several nodes, kept by the database.

use async_trait::async_trait;
use stagger::Instant;
use stagger_scheduler::model::{Delivery, EndpointId, EndpointState, NewMessage};

use super::super::accept::Choice;
use super::super::lookups;
use super::super::store::PostgresStore;
use super::super::writer::SELDOM;
use super::arrivals::{Claim, CompleteCommands, FORGOTTEN, SendCommand, commands, is_gone};
use super::change_log;
use super::members::{Acquire, EndMembership, Join, Release, heartbeat, load};
use crate::{
    Arrival, ChangeLog, Cluster, ClusterAccept, ClusterView, DeliveryStore, EndpointCommand, Error,
    Fence, Joined, Lead, NodeIdentity, Notification, ReplayRequest, SettingWrite, Settlement,
    Shards,
};

#[async_trait]
impl Cluster for PostgresStore {
    async fn join(&self, node: &NodeIdentity) -> Result<Joined, Error> {
        let notifications = self.notifications.hear().await;
        let (fence, slot) = self.membership.write(SELDOM, &Join(node)).await?;
        self.writer.count_in(slot);
        self.memberships().insert(fence);
        Ok(Joined { fence, shards: Shards::NONE, heartbeats: true, notifications })
    }

    async fn heartbeat(&self, fence: Fence, leaving: bool) -> Result<ClusterView, Error> {
        let told = self.membership.read(async |db| heartbeat(&**db, fence, leaving).await).await;
        if told.as_ref().is_err_and(Error::is_conflict) {
            self.memberships().remove(&fence);
        }
        told
    }

    async fn evict(&self, fence: Fence, heartbeat: u64) -> Result<bool, Error> {
        self.membership.write(SELDOM, &EndMembership { fence, heartbeat: Some(heartbeat) }).await
    }

    async fn acquire(&self, fence: Fence, most: usize) -> Result<Shards, Error> {
        self.membership.write(SELDOM, &Acquire { fence, most }).await
    }

    async fn release(&self, fence: Fence, shards: Shards) -> Result<(), Error> {
        self.membership.write(SELDOM, &Release { fence, shards }).await
    }

    async fn leave(&self, fence: Fence) -> Result<(), Error> {
        self.membership.write(SELDOM, &EndMembership { fence, heartbeat: None }).await?;
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
        settings_version: u64,
        messages: Vec<NewMessage>,
    ) -> Result<ClusterAccept, Error> {
        self.intake.accept(messages, Some(Choice { lead, settings_version })).await
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
        let members: Vec<_> = self.memberships().iter().copied().collect();
        let members = &members[..];
        // The last part finds what is to come.
        let mut parts = done.chunks(FORGOTTEN).peekable();
        let mut done = parts.next().unwrap_or_default();
        loop {
            let limit = if parts.peek().is_none() { limit } else { 0 };
            let claim = Claim { members, shards, done, limit };
            let found = self.read(async |db| claim.make(&**db).await).await?;
            match parts.next() {
                Some(next) => done = next,
                None => return Ok(found),
            }
        }
    }

    async fn changes_since(&self, after: u64) -> Result<ChangeLog, Error> {
        let mut loan = self.pool.lend().await?;
        let told = self.pool.bounded(change_log::since(&mut loan, after, self.writer.keys())).await;
        Ok(loan.end(told)?)
    }

    async fn send_command(
        &self,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<u64, Error> {
        self.writer.write(SELDOM, &SendCommand(endpoint, command)).await
    }

    async fn commands(
        &self,
        shards: Shards,
    ) -> Result<Vec<(u64, EndpointId, EndpointCommand)>, Error> {
        self.read(async |db| commands(&**db, shards).await).await
    }

    async fn complete_commands(&self, commands: &[u64]) -> Result<(), Error> {
        self.writer.write(SELDOM, &CompleteCommands(commands)).await
    }

    async fn is_command_done(&self, command: u64) -> Result<bool, Error> {
        self.read(async |db| is_gone(&**db, command).await).await
    }

    async fn endpoint_state(&self, endpoint: EndpointId) -> Result<Option<EndpointState>, Error> {
        self.read(async |db| lookups::endpoint_state(&**db, endpoint).await).await
    }

    async fn notify(&self, notification: Notification) {
        self.notifications.tell(notification);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_schema::ScratchSchema;
    use crate::testing::conformance::cluster_suite;

    cluster_suite!(match ScratchSchema::new().await {
        Some(store) => store,
        None => return,
    });
}
