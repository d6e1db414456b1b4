//! Executes commands to the endpoints that this node leads.

use std::sync::Arc;

use stagger::Instant;

use super::settings_sync::SettingsSync;
use crate::Error;
use crate::model::{Disabled, EndpointId, EndpointState};
use crate::node::directory::Directory;
use crate::node::inbox::Inbox;
use crate::node::scheduler_state::SchedulerState;
use crate::node::settle_queue::PendingCommit;
use crate::scheduler::Scheduler;
use crate::store::{ClusterHandle, DeliveryStore, EndpointCommand, Shards};

/// Executes the commands of the store.
#[derive(Debug)]
pub(in crate::node) struct CommandExecutor {
    pub(in crate::node) store: Arc<dyn DeliveryStore>,
    pub(in crate::node) cluster: ClusterHandle,
    pub(in crate::node) settings: Arc<SettingsSync>,
    pub(in crate::node) directory: Arc<Directory>,
    pub(in crate::node) inbox: Inbox,
}

impl CommandExecutor {
    /// Executes the commands for this node; returns whether some have to wait.
    pub(super) async fn execute(&self, shards: Shards) -> Result<bool, Error> {
        let commands = self.cluster.commands(shards).await?;
        if commands.iter().any(|(_, endpoint, _)| self.directory.endpoint(*endpoint).is_none()) {
            self.settings.sync().await?;
        }
        let mut some_wait = false;
        for (number, endpoint, command) in commands {
            match self.inbox.ask(move |state| apply(state, endpoint, command)).await.flatten() {
                Some(commit) => commit.wait().await?,
                None if self.is_coming(endpoint, command).await? => {
                    some_wait = true;
                    continue;
                }
                None => {}
            }
            self.cluster.complete_commands(&[number]).await?;
        }
        Ok(some_wait)
    }

    /// Whether the delivery to cancel is open, and has not reached the scheduler yet.
    async fn is_coming(
        &self,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<bool, Error> {
        let EndpointCommand::Cancel(message) = command else { return Ok(false) };
        let delivery = self.store.delivery(message, endpoint).await?;
        Ok(delivery.is_some_and(|delivery| delivery.state.is_open()))
    }
}

/// Executes a command in the scheduler. `None` where it has no effect: the endpoint is gone, the
/// delivery has ended.
pub(in crate::node) fn apply(
    state: &mut SchedulerState,
    endpoint: EndpointId,
    command: EndpointCommand,
) -> Option<PendingCommit> {
    match command {
        EndpointCommand::Cancel(message) => {
            state.cancel(message, endpoint).map(|(_, commit)| commit)
        }
        EndpointCommand::Enable => {
            state.change(endpoint, |scheduler, now| scheduler.enable(now, endpoint))
        }
        EndpointCommand::Disable => {
            state.change(endpoint, |scheduler, now| disable(scheduler, now, endpoint))
        }
        EndpointCommand::Recover => {
            state.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint))
        }
    }
}

fn disable(scheduler: &mut Scheduler, now: Instant, endpoint: EndpointId) -> Option<EndpointState> {
    scheduler.disable(now, endpoint, Disabled::ByHand)
}
