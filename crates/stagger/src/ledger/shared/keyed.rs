//! One shared ledger a destination: bounded, with idle expiry, and no timer.

use std::fmt;
use std::sync::{Arc, Mutex};

use stagger_core::{ConfigError, Instant, Policy, Span};

use super::options::part_of_key;
use super::{SharedLedger, SharedStats, SharedStore};
use crate::ledger::keyed::{DEFAULT_BOUND, DEFAULT_IDLE, MAX_BOUND, lock, memory};
use crate::ledger::ledger_shard::LedgerShard;

/// The shared ledgers of all destinations under one policy, over one connection; clones share them.
///
/// Kept and forgotten as [`Ledgers`](crate::Ledgers) keeps local ones: at most 10 000, each for
/// 10 min without use, or as long as the budget's interval. A forgotten one gives back its lease; the
/// fleet's budget stays as it is.
///
/// ```no_run
/// use stagger::{Clock, Policy, SharedLedgers, SharedOptions, SharedStore, TokioTime};
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SharedStore::connect("redis://10.0.0.7", SharedOptions::new(40)?).await?;
/// let ledgers = SharedLedgers::new(&store, &Policy::default());
/// let ledger = ledgers.ledger(TokioTime.now(), "https://a.example:443")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedLedgers {
    inner: Arc<SharedLedgersInner>,
}

struct SharedLedgersInner {
    store: SharedStore,
    policy: Policy,
    bound: usize,
    idle: Span,
    shard: Mutex<LedgerShard<String, SharedLedger>>,
}

impl SharedLedgers {
    /// No ledgers yet; each will lease from `store` and follow `policy`.
    #[must_use]
    pub fn new(store: &SharedStore, policy: &Policy) -> Self {
        Self::of(store.clone(), *policy, DEFAULT_BOUND)
    }

    /// An empty registry like this one, for at most `bound` ledgers.
    ///
    /// # Errors
    /// `ledgers.bound` outside 1..=1000000.
    pub fn with_bound(&self, bound: usize) -> Result<Self, ConfigError> {
        if !(1..=MAX_BOUND).contains(&bound) {
            return Err(ConfigError::new("ledgers.bound", bound, "from 1 to 1000000"));
        }
        Ok(Self::of(self.inner.store.clone(), self.inner.policy, bound))
    }

    /// The ledger of the budget that the fleet calls `name`, made when there is none. Made, it must
    /// be on a tokio runtime, on which its task then runs.
    ///
    /// # Errors
    /// As [`SharedStore::ledger`].
    pub fn ledger(&self, now: Instant, name: &str) -> Result<Arc<SharedLedger>, ConfigError> {
        part_of_key("shared.name", name)?;
        let mut shard = lock(&self.inner.shard);
        if let Some(known) = shard.find(now, name) {
            return Ok(known);
        }
        let made = self.inner.store.ledger(name, &self.inner.policy)?;
        shard.make_room(now, self.inner.idle);
        Ok(shard.insert(now, name.to_owned(), made))
    }

    /// The number of ledgers: never more than the bound.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.inner.shard).len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The figures of all ledgers, in no particular order, without counting as a use.
    #[must_use]
    pub fn all_stats(&self, now: Instant) -> Vec<(String, SharedStats)> {
        lock(&self.inner.shard).all(|ledger| ledger.stats(now))
    }

    fn of(store: SharedStore, policy: Policy, bound: usize) -> Self {
        let idle = DEFAULT_IDLE.max(memory(policy.budget()));
        let shard = Mutex::new(LedgerShard::new(bound));
        Self { inner: Arc::new(SharedLedgersInner { store, policy, bound, idle, shard }) }
    }
}

impl fmt::Debug for SharedLedgers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLedgers")
            .field("store", &self.inner.store)
            .field("bound", &self.inner.bound)
            .finish_non_exhaustive()
    }
}
