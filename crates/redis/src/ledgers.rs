//! One shared ledger a destination: bounded, with idle expiry, and no timer.

use std::sync::Arc;

use stagger::{ConfigError, Instant, Ledgers, Policy};

use crate::ledger::SharedLedger;
use crate::options::part_of_key;
use crate::stats::SharedStats;
use crate::store::SharedStore;

/// The shared ledgers of all destinations under one policy, over one connection; clones share them.
///
/// Kept and forgotten as [`Ledgers`] keeps local ones: at most 10 000, each for 10 min without use, or as
/// long as the budget's interval. A forgotten one gives back its lease; the fleet's budget stays as it is.
///
/// ```no_run
/// use stagger::{Clock, Policy, TokioTime};
/// use stagger_redis::{SharedLedgers, SharedOptions, SharedStore};
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SharedStore::connect("redis://10.0.0.7", SharedOptions::new(40)?).await?;
/// let ledgers = SharedLedgers::new(&store, &Policy::default());
/// let ledger = ledgers.ledger(TokioTime.now(), "https://a.example:443")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SharedLedgers {
    store: SharedStore,
    ledgers: Ledgers<String, SharedLedger>,
}

impl SharedLedgers {
    /// No ledgers yet; each will lease from `store` and follow `policy`.
    #[must_use]
    pub fn new(store: &SharedStore, policy: &Policy) -> Self {
        Self { store: store.clone(), ledgers: Ledgers::of_kind(policy) }
    }

    /// An empty registry like this one, for at most `bound` ledgers.
    ///
    /// # Errors
    /// `ledgers.bound` outside 1..=1000000.
    pub fn with_bound(&self, bound: usize) -> Result<Self, ConfigError> {
        Ok(Self { store: self.store.clone(), ledgers: self.ledgers.with_bound(bound)? })
    }

    /// The ledger of the budget that the fleet calls `name`, made when there is none. Made, it must
    /// be on a tokio runtime, on which its task then runs.
    ///
    /// # Errors
    /// As [`SharedStore::ledger`].
    pub fn ledger(&self, now: Instant, name: &str) -> Result<Arc<SharedLedger>, ConfigError> {
        part_of_key("shared.name", name)?;
        self.ledgers.try_ledger(now, name, || self.store.ledger(name, self.ledgers.policy()))
    }

    /// The number of ledgers: never more than the bound.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ledgers.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ledgers.is_empty()
    }

    /// The figures of all ledgers, in no particular order, without counting as a use.
    #[must_use]
    pub fn all_stats(&self, now: Instant) -> Vec<(String, SharedStats)> {
        self.ledgers.map_all(|ledger| ledger.stats(now))
    }
}
