//! The settings of a node, and the budgets that it shares with other nodes.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::budget::WindowPlan;
use stagger::engine::Ledger;
use stagger::engine::budget::{Charge, Level, Paid, Settled};
use stagger::{Clock, Instant, Policy, Rate, Ratio, Span, TokioTime, Verdict, budget};
use stagger_redis::{SharedLedger, SharedLedgers, SharedOptions, SharedStore};
use stagger_scheduler::Launch;
use stagger_scheduler::model::{ApplicationId, EndpointId, EventValidation, MessageId};
use stagger_store::NodeIdentity;

use super::directory::Directory;
use crate::Error;

/// One budget of retries for each destination (scheme, host and port), in Redis or Valkey.
///
/// Its name there is the destination's origin, such as `https://a.example`, with the prefix of
/// [`SharedOptions`]. Nothing waits for the store: while it is away, this process has its own share.
#[derive(Clone)]
pub struct SharedBudgets {
    ledgers: SharedLedgers,
    place: String,
}

impl SharedBudgets {
    /// Budgets of `share` of the first attempts to each destination, plus one retry a second, in the store at
    /// `url`; `processes` share them. For a tokio runtime.
    ///
    /// # Errors
    /// A URL that names no store; a store that refuses us. One that is away is no error.
    pub async fn connect(url: &str, share: Ratio, processes: NonZeroU32) -> Result<Self, Error> {
        // For `rediss://`; it may be there already.
        _ = rustls::crypto::ring::default_provider().install_default();
        let store = SharedStore::connect(url, SharedOptions::new(processes.get())?).await;
        let store = store.map_err(|error| Error::store(error.to_string()))?;
        // One floor for the whole fleet: retries that it holds back wait for it.
        let plan = WindowPlan::new(share)?.with_floor(budget::FloorRate::Add(Rate::per_second(1)));
        let policy = Policy::builder().budget(plan).build()?;
        let place = store.place().to_owned();
        Ok(Self { ledgers: SharedLedgers::new(&store, &policy), place })
    }

    /// The ledger of a destination; `None` where there can be none, and then nothing is held back.
    fn ledger(&self, origin: &str) -> Option<Arc<SharedLedger>> {
        self.ledgers.ledger(TokioTime.now(), origin).ok()
    }
}

impl fmt::Debug for SharedBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBudgets").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The time for which retries of an endpoint wait when the budget is used up: its store is asked
/// twice a second.
const REFUSED: Span = Span::from_millis(100);
/// The same when the budget has room, and only this process's lease of it is used up: the next one takes a
/// round trip.
const ON_ITS_WAY: Span = Span::from_millis(5);

/// The charges of attempts in flight to shared budgets.
#[derive(Debug)]
pub(super) struct SharedCharges {
    budgets: Option<SharedBudgets>,
    directory: Arc<Directory>,
    paid: HashMap<(MessageId, EndpointId), Paid>,
}

impl SharedCharges {
    pub(super) fn new(budgets: Option<SharedBudgets>, directory: Arc<Directory>) -> Self {
        Self { budgets, directory, paid: HashMap::new() }
    }

    /// Charges an attempt to its budget; the error is the time for which retries of its endpoint
    /// have to wait. A probe is always allowed, because it ends an outage.
    pub(super) fn ask(&mut self, launch: &Launch) -> Result<(), Span> {
        let Some(ledger) = self.ledger(launch) else { return Ok(()) };
        let now = TokioTime.now();
        if !launch.retry {
            (&*ledger).on_first(now);
            return Ok(());
        }
        if let Some(paid) = (&*ledger).ask(now, Charge::Retry) {
            self.paid.insert((launch.message, launch.endpoint), paid);
            return Ok(());
        }
        if launch.probe { Ok(()) } else { Err(wait(&ledger.stats(now).ledger.level)) }
    }

    /// Settles the charge of an attempt with its `verdict`, `None` if it counts as not made. An
    /// attempt that was `written` stays paid: the receiver may have seen it.
    pub(super) fn settle(&mut self, launch: &Launch, (verdict, written): (Option<Verdict>, bool)) {
        let paid = self.paid.remove(&(launch.message, launch.endpoint));
        let Some(ledger) = self.ledger(launch) else { return };
        let now = TokioTime.now();
        match (verdict, paid) {
            (None | Some(Verdict::Cancelled), Some(paid)) if !written => {
                (&*ledger).refund(now, paid);
            }
            (Some(Verdict::Ok), Some(paid)) => {
                (&*ledger).on_settled(now, Settled::AfterRetry(paid));
            }
            // A probe that was made although the budget refused it.
            (Some(Verdict::Ok), None) if launch.retry => {
                (&*ledger).on_settled(now, Settled::AfterRetry(Paid::FREE));
            }
            (Some(Verdict::Ok), None) => (&*ledger).on_settled(now, Settled::FirstTry),
            (Some(verdict), _) if verdict.is_retryable() => {
                (&*ledger).on_settled(now, Settled::Failed);
            }
            _ => {}
        }
    }

    fn ledger(&self, launch: &Launch) -> Option<Arc<SharedLedger>> {
        let budgets = self.budgets.as_ref()?;
        budgets.ledger(self.directory.target(launch.endpoint)?.origin()?)
    }
}

/// The time for which refused retries wait at this level of the budget.
fn wait(level: &Level) -> Span {
    if level.retries > 0 { ON_ITS_WAY } else { REFUSED }
}

/// The settings of a node; its bounds against memory and load.
#[derive(Clone, Copy, Debug)]
pub struct NodeOptions {
    /// The most attempts in flight, of all applications together: default 1024.
    pub slots: NonZeroU32,
    /// Open deliveries in memory at which no more messages are accepted: default 5 000 000.
    pub max_open: usize,
    /// Open deliveries of one application, of the endpoints that this node leads, at which no more of its
    /// messages are accepted: default a quarter of `max_open`.
    pub app_max_open: Option<usize>,
    /// Payload bytes kept in memory for attempts that are due: default 64 MiB; more are read back
    /// from the store.
    pub payload_memory: usize,
    /// The time for which finished messages are kept: default 30 days.
    pub retention: Span,
    /// With a store of several nodes: within which time a node that died is replaced. Default 10 s; the
    /// nodes of a store should agree.
    pub lease: Span,
    /// Whether applications may set brokers as the destinations of their endpoints, with a key or in the portal: default no.
    pub tenant_destinations: bool,
    /// The address on which this node listens: its name for other nodes and for people.
    pub address: Option<SocketAddr>,
    /// The application whose endpoints are told what happens to all others: default none.
    pub operational_events: Option<ApplicationId>,
    /// The checks of messages against the catalogue of event types, unless their application has its own setting: default
    /// none. The nodes of a store should agree.
    pub event_validation: EventValidation,
}

impl NodeOptions {
    /// The most open deliveries of one application.
    pub(super) fn app_max_open(&self) -> usize {
        self.app_max_open.unwrap_or(self.max_open / 4).clamp(1, self.max_open)
    }

    /// The name of this node, which was started at `now`.
    pub(super) fn name(&self, now: Instant) -> NodeIdentity {
        let address = self.address.map(|address| address.to_string());
        NodeIdentity {
            address: address.unwrap_or_else(|| "unnamed".to_owned()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            started_at: Some(now),
        }
    }
}

impl Default for NodeOptions {
    fn default() -> Self {
        let slots = const { NonZeroU32::new(1024).expect("above zero") };
        let retention = Span::from_secs(30 * 24 * 60 * 60);
        Self {
            slots,
            max_open: 5_000_000,
            app_max_open: None,
            payload_memory: 64 << 20,
            retention,
            lease: Span::from_secs(10),
            tenant_destinations: false,
            address: None,
            operational_events: None,
            event_validation: EventValidation::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use stagger::budget::BudgetPlan;
    use stagger::engine::budget::Budget;

    use super::*;

    #[test]
    fn a_lease_that_is_on_its_way_is_not_waited_for_as_a_budget_that_is_used_up() {
        let level = |plan| Budget::new(plan).level(Instant::ORIGIN);
        assert_eq!(wait(&level(BudgetPlan::Unlimited)), ON_ITS_WAY);
        assert_eq!(wait(&level(BudgetPlan::None)), REFUSED);
    }
}
