//! What only an endpoint's leader can do, asked of it through the store.

use stagger::{Instant, Sleep, Span, TokioTime};

use super::follow::follow;
use crate::Error;
use crate::lane::Floor;
use crate::model::{Disabled, EndpointId, Standing};
use crate::node::parts::Parts;
use crate::node::runner::Runner;
use crate::node::settling::Receipt;
use crate::store::{Cluster, Hint, Order, Shard, Shards};

/// How soon, and how often at most, it is asked whether an order was carried out.
const FIRST_LOOK: Span = Span::from_millis(5);
const LOOK: Span = Span::from_millis(100);
/// How long that is waited for: longer than a leader takes to be replaced, by default. It is done later
/// all the same.
const PATIENCE: Span = Span::from_secs(15);

/// Orders it of the endpoint's leader, and waits until it is done.
pub(in crate::node) async fn order(
    parts: &Parts,
    cluster: &dyn Cluster,
    endpoint: EndpointId,
    order: Order,
) -> Result<(), Error> {
    let number = cluster.order(endpoint, order).await?;
    cluster.hint(Hint::Work(Shards::of(Shard::of(endpoint)))).await;
    let until = parts.clock.now() + PATIENCE;
    let mut pause = FIRST_LOOK;
    while !cluster.is_carried_out(number).await? {
        if parts.clock.now() >= until {
            return Err(Error::busy("the endpoint's leader has not done it yet, but will"));
        }
        TokioTime.sleep(pause).await;
        pause = (pause + pause).min(LOOK);
    }
    Ok(())
}

/// Carries out what was ordered of this node.
pub(super) async fn carry_out(
    parts: &Parts,
    cluster: &dyn Cluster,
    shards: Shards,
) -> Result<(), Error> {
    let orders = cluster.orders(shards).await?;
    if orders.iter().any(|(_, endpoint, _)| parts.directory.endpoint(*endpoint).is_none()) {
        follow(parts).await?;
    }
    for (number, endpoint, order) in orders {
        match parts.floor.ask(move |runner| obey(runner, endpoint, order)).await.flatten() {
            Some(receipt) => receipt.wait().await?,
            None if is_coming(parts, endpoint, order).await? => continue,
            None => {}
        }
        cluster.carried_out(&[number]).await?;
    }
    Ok(())
}

/// Whether what is ordered to be cancelled is open, and has not reached the floor yet.
async fn is_coming(parts: &Parts, endpoint: EndpointId, order: Order) -> Result<bool, Error> {
    let Order::Cancel(message) = order else { return Ok(false) };
    let delivery = parts.store.delivery(message, endpoint).await?;
    Ok(delivery.is_some_and(|delivery| delivery.state.is_open()))
}

/// Nothing where it has no effect: the endpoint is gone, the delivery has ended.
fn obey(runner: &mut Runner, endpoint: EndpointId, order: Order) -> Option<Receipt> {
    match order {
        Order::Cancel(message) => runner.cancel(message, endpoint).map(|(_, receipt)| receipt),
        Order::Enable => runner.change(endpoint, |floor, now| floor.enable(now, endpoint)),
        Order::Disable => runner.change(endpoint, |floor, now| disable(floor, now, endpoint)),
        Order::Recover => runner.change(endpoint, |floor, now| floor.recover(now, endpoint)),
    }
}

fn disable(floor: &mut Floor, now: Instant, endpoint: EndpointId) -> Option<Standing> {
    floor.disable(now, endpoint, Disabled::ByHand)
}
