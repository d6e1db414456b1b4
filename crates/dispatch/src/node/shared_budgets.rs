//! Retries to one destination, within one budget for all processes that call it: other nodes, and
//! other services that use the library on the same store.
//!
//! It comes on top of each endpoint's own budget, which its leader alone keeps. A thousand endpoints on one
//! host, each within its budget, are still one host.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::budget::{self, Charge, Level, Paid, Settled, WindowPlan};
use stagger::retry::Ledger;
use stagger::{
    Clock, Policy, Rate, Ratio, SharedLedger, SharedLedgers, SharedOptions, SharedStore, Span,
    TokioTime, Verdict,
};

use super::directory::Directory;
use crate::Error;
use crate::model::{EndpointId, MessageId};
use crate::scheduler::Launch;

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

#[cfg(test)]
mod tests {
    use stagger::Instant;
    use stagger::budget::{Budget, BudgetPlan};

    use super::*;

    #[test]
    fn a_lease_that_is_on_its_way_is_not_waited_for_as_a_budget_that_is_used_up() {
        let level = |plan| Budget::new(plan).level(Instant::ORIGIN);
        assert_eq!(wait(&level(BudgetPlan::Unlimited)), ON_ITS_WAY);
        assert_eq!(wait(&level(BudgetPlan::None)), REFUSED);
    }
}
