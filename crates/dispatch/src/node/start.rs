//! The start of a node: it loads open deliveries from the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::NodeOptions;
use super::inbox::Inbox;
use super::parts::Parts;
use super::runner::Runner;
use super::settling::{SettleQueue, Settler};
use super::shared_budgets::SharedBudgets;
use crate::Error;
use crate::model::EndpointId;
use crate::send::Sender;
use crate::store::{Cursor, DeliveryStore, Fence};

/// Deliveries loaded in one call of the store: 2 MB.
const PAGE: usize = 10_000;
/// The number of overdue deliveries from which on an endpoint recovers slowly: deliveries missed
/// while the dispatcher was stopped are a backlog like any other. This many are a second's worth of
/// a recovery.
pub(super) const BACKLOG: u32 = 100;

/// A node that is loaded and does not run yet.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) parts: Arc<Parts>,
    pub(super) runner: Runner,
    pub(super) settler: Settler,
}

/// Takes the store over from any earlier run, and loads open deliveries. In a cluster nothing is
/// loaded yet: deliveries are loaded with their shards.
pub(super) async fn load(
    store: Arc<dyn DeliveryStore>,
    way: (Sender, Option<SharedBudgets>),
    options: NodeOptions,
) -> Result<Loaded, Error> {
    let shared = store.cluster().is_some();
    let fence = if shared { Fence::default() } else { store.begin_run().await? };
    let (inbox, commands) = Inbox::new();
    let parts = Arc::new(Parts::new(store, way, options, inbox));
    let (settling, settler) = SettleQueue::new(Arc::clone(&parts), fence);
    let mut runner = Runner::new(Arc::clone(&parts), commands, settling);
    if !shared {
        load_settings(&parts, &mut runner).await?;
        load_deliveries(&parts, &mut runner).await?;
        parts.health.set_open(runner.scheduler.len());
    }
    Ok(Loaded { parts, runner, settler })
}

async fn load_settings(parts: &Parts, runner: &mut Runner) -> Result<(), Error> {
    for application in parts.store.applications().await? {
        runner.scheduler.put_application(application.id, application.slots);
        parts.directory.put_application(application);
    }
    let now = parts.clock.now();
    for (endpoint, endpoint_state) in parts.store.endpoints().await? {
        runner.scheduler.put_endpoint(now, &endpoint, Some(endpoint_state));
        runner.remember(endpoint.id, endpoint_state);
        parts.know(Arc::new(endpoint));
    }
    Ok(())
}

async fn load_deliveries(parts: &Parts, runner: &mut Runner) -> Result<(), Error> {
    let now = parts.clock.now();
    let (mut after, mut overdue) = (None, BTreeMap::<EndpointId, u32>::new());
    loop {
        let page = parts.store.open_deliveries(after, PAGE).await?;
        runner.add(&page);
        for delivery in page.iter().filter(|delivery| delivery.due <= now) {
            *overdue.entry(delivery.endpoint).or_default() += 1;
        }
        after = page.last().map(Cursor::of_delivery);
        if page.len() < PAGE {
            break;
        }
    }
    for (endpoint, _) in overdue.into_iter().filter(|(_, count)| *count >= BACKLOG) {
        runner.change(endpoint, |scheduler, now| scheduler.recover(now, endpoint));
    }
    Ok(())
}
