//! Commands to the leader of an endpoint, sent through the store.

use stagger::{Instant, Sleep, Span, TokioTime};

use super::settings_sync::sync_settings;
use crate::Error;
use crate::model::{Disabled, EndpointId, EndpointState};
use crate::node::parts::Parts;
use crate::node::runner::Runner;
use crate::node::settling::Receipt;
use crate::scheduler::Scheduler;
use crate::store::{Cluster, EndpointCommand, Notification, ShardId, Shards};

/// The first and the longest pause between two checks whether a command is done.
const FIRST_LOOK: Span = Span::from_millis(5);
const LOOK: Span = Span::from_millis(100);
/// The time for which a caller waits for a command: longer than the default time in which a dead
/// leader is replaced. The command is executed later all the same.
const COMMAND_TIMEOUT: Span = Span::from_secs(15);

/// Orders it of the endpoint's leader, and waits until it is done.
pub(in crate::node) async fn send_command(
    parts: &Parts,
    cluster: &dyn Cluster,
    endpoint: EndpointId,
    command: EndpointCommand,
) -> Result<(), Error> {
    let number = cluster.send_command(endpoint, command).await?;
    cluster.notify(Notification::Work(Shards::of(ShardId::of(endpoint)))).await;
    let until = parts.clock.now() + COMMAND_TIMEOUT;
    let mut pause = FIRST_LOOK;
    while !cluster.is_command_done(number).await? {
        if parts.clock.now() >= until {
            return Err(Error::busy(
                "the endpoint's leader has not executed the command yet; it will",
            ));
        }
        TokioTime.sleep(pause).await;
        pause = (pause + pause).min(LOOK);
    }
    Ok(())
}

/// Executes the commands for this node.
pub(super) async fn execute(
    parts: &Parts,
    cluster: &dyn Cluster,
    shards: Shards,
) -> Result<(), Error> {
    let commands = cluster.commands(shards).await?;
    if commands.iter().any(|(_, endpoint, _)| parts.directory.endpoint(*endpoint).is_none()) {
        sync_settings(parts).await?;
    }
    for (number, endpoint, command) in commands {
        match parts.scheduler.ask(move |runner| apply(runner, endpoint, command)).await.flatten() {
            Some(receipt) => receipt.wait().await?,
            None if is_coming(parts, endpoint, command).await? => continue,
            None => {}
        }
        cluster.complete_commands(&[number]).await?;
    }
    Ok(())
}

/// Whether the delivery to cancel is open, and has not reached the scheduler yet.
async fn is_coming(
    parts: &Parts,
    endpoint: EndpointId,
    command: EndpointCommand,
) -> Result<bool, Error> {
    let EndpointCommand::Cancel(message) = command else { return Ok(false) };
    let delivery = parts.store.delivery(message, endpoint).await?;
    Ok(delivery.is_some_and(|delivery| delivery.state.is_open()))
}

/// Nothing where it has no effect: the endpoint is gone, the delivery has ended.
fn apply(runner: &mut Runner, endpoint: EndpointId, command: EndpointCommand) -> Option<Receipt> {
    match command {
        EndpointCommand::Cancel(message) => {
            runner.cancel(message, endpoint).map(|(_, receipt)| receipt)
        }
        EndpointCommand::Enable => {
            runner.change(endpoint, |scheduler, now| scheduler.enable(now, endpoint))
        }
        EndpointCommand::Disable => {
            runner.change(endpoint, |scheduler, now| disable(scheduler, now, endpoint))
        }
        EndpointCommand::Recover => {
            runner.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint))
        }
    }
}

fn disable(scheduler: &mut Scheduler, now: Instant, endpoint: EndpointId) -> Option<EndpointState> {
    scheduler.disable(now, endpoint, Disabled::ByHand)
}
