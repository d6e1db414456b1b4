//! Commands to endpoints: executed here if this node leads the endpoint, or else sent to its leader.

use std::sync::Arc;

use stagger::{Sleep, Span, TokioTime};

use super::clock::EngineClock;
use super::fleet::{Leadership, apply};
use super::health::NodeHealth;
use super::inbox::Inbox;
use crate::Error;
use crate::model::{Delivery, DeliveryState, EndpointId, MessageId};
use crate::store::{ClusterHandle, DeliveryStore, EndpointCommand, Notification, ShardId, Shards};

/// The first and the longest pause between two checks whether a command is done.
const FIRST_LOOK: Span = Span::from_millis(5);
const LOOK: Span = Span::from_millis(100);
/// The time for which a caller waits for a command: longer than the default time in which a dead
/// leader is replaced. The command is executed later all the same.
const COMMAND_TIMEOUT: Span = Span::from_secs(15);

/// Enables and disables endpoints, and cancels deliveries.
#[derive(Debug)]
pub(super) struct EndpointControl {
    pub(super) store: Arc<dyn DeliveryStore>,
    pub(super) cluster: ClusterHandle,
    pub(super) leadership: Arc<Leadership>,
    pub(super) health: Arc<NodeHealth>,
    pub(super) inbox: Inbox,
    pub(super) clock: EngineClock,
}

impl EndpointControl {
    /// Executes a command here, or by the endpoint's leader.
    pub(super) async fn execute(
        &self,
        id: EndpointId,
        command: EndpointCommand,
    ) -> Result<(), Error> {
        if !self.leadership.leads(id) {
            return self.send(id, command).await;
        }
        self.health.check()?;
        let commit = self.inbox.ask(move |state| apply(state, id, command)).await;
        let stopped = || Error::busy("the dispatcher has stopped");
        let commit = commit.ok_or_else(stopped)?.ok_or_else(|| Error::not_found("endpoint"))?;
        commit.wait().await
    }

    pub(super) async fn cancel(
        &self,
        message: MessageId,
        endpoint: EndpointId,
    ) -> Result<Delivery, Error> {
        self.health.check()?;
        let cancelled = self.inbox.ask(move |state| state.cancel(message, endpoint)).await;
        if let Some((delivery, commit)) = cancelled.flatten() {
            commit.wait().await?;
            return Ok(delivery);
        }
        let known = self.store.delivery(message, endpoint).await?;
        if !known.is_some_and(|delivery| delivery.state.is_open()) {
            return Err(not_open(known));
        }
        // Another node leads it, or it has not arrived here yet.
        self.send(endpoint, EndpointCommand::Cancel(message)).await?;
        match self.store.delivery(message, endpoint).await? {
            Some(delivery) if delivery.state == DeliveryState::Cancelled => Ok(delivery),
            other => Err(not_open(other)),
        }
    }

    /// Sends a command to the endpoint's leader, and waits until it is done.
    async fn send(&self, endpoint: EndpointId, command: EndpointCommand) -> Result<(), Error> {
        let number = self.cluster.send_command(endpoint, command).await?;
        let shards = Shards::of(ShardId::of(endpoint));
        self.cluster.notify(Notification::Work(shards)).await;
        let until = self.clock.now() + COMMAND_TIMEOUT;
        let mut pause = FIRST_LOOK;
        while !self.cluster.is_command_done(number).await? {
            if self.clock.now() >= until {
                return Err(Error::busy(
                    "the endpoint's leader has not executed the command yet; it will",
                ));
            }
            TokioTime.sleep(pause).await;
            pause = (pause + pause).min(LOOK);
        }
        Ok(())
    }
}

/// The reason for which a delivery that is not scheduled cannot be cancelled.
fn not_open(delivery: Option<Delivery>) -> Error {
    delivery.map_or_else(
        || Error::not_found("delivery"),
        |delivery| Error::conflict(format!("the delivery is already {}", delivery.state.name())),
    )
}
