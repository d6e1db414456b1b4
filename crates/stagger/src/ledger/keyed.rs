//! One ledger a destination: bounded, with idle expiry, and no timer.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagger_core::breaker::Destination;
use stagger_core::budget::BudgetPlan;
use stagger_core::{ConfigError, Instant, Policy, Span};

use super::ledger_shard::{KeptLedger, LedgerShard};
use super::local::{LedgerStats, LocalLedger};

/// Ledgers kept by default: about 2 KB each, and more destinations than one process
/// talks to.
const DEFAULT_BOUND: usize = 10_000;
/// The most that may be asked for: about 2 GB.
const MAX_BOUND: usize = 1_000_000;
/// The time for which an unused ledger is kept by default: ten times the longest window, and ten times the
/// default cap of an open time.
const DEFAULT_IDLE: Span = Span::from_secs(600);
/// The most parts with a lock of their own: with more than this many threads in one instant, a look
/// at a map would still take far less time than the call it is for.
const MAX_SHARDS: usize = 16;
/// The fewest ledgers that are worth a part of their own. So a small registry is one part, and gives
/// up exactly the one that is worth least.
const SHARD_LEAST: usize = 64;

/// The ledgers of all destinations under one policy; clones share them.
///
/// A ledger that was not held or looked up for the idle time is forgotten. When there are too many,
/// the ones looked up longest ago go first: closed before half-open, unused before held, and those
/// whose breaker is open last of all. A forgotten destination starts over; calls that still hold
/// its ledger finish with it.
///
/// ```
/// use stagger::engine::budget::Charge;
/// use stagger::engine::breaker::Destination;
/// use stagger::engine::Ledger;
/// use stagger::{Instant, Ledgers, Policy};
///
/// let ledgers = Ledgers::new(&Policy::default());
/// let one = Destination::of_url("https://a.example/orders")?;
/// let other = Destination::of_url("https://b.example/")?;
/// let now = Instant::ORIGIN;
///
/// let exhausted = ledgers.clone().ledger(now, &one);
/// while (&*exhausted).ask(now, Charge::Retry).is_some() {}
/// assert_eq!(ledgers.ledger(now, &one).stats(now).level.retries, 0);
/// assert_eq!(ledgers.ledger(now, &other).stats(now).level.retries, 2);
/// # Ok::<(), stagger::ConfigError>(())
/// ```
///
/// It keeps ledgers of other kinds too, which [`try_ledger`](Self::try_ledger) makes.
pub struct Ledgers<K = Destination, L = LocalLedger> {
    inner: Arc<LedgersInner<K, L>>,
}

struct LedgersInner<K, L> {
    policy: Policy,
    bound: usize,
    idle: Span,
    shards: Box<[Mutex<LedgerShard<K, L>>]>,
    /// Chooses the shard: the same on every run, unlike the maps within the shards, so that it never
    /// depends on chance who makes room for whom.
    chooser: BuildHasherDefault<DefaultHasher>,
}

impl<K> Ledgers<K> {
    /// No ledgers yet; each will follow `policy`. At most 10 000, each kept for 10 min without use,
    /// or as long as the budget's interval when that is longer.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self::of_kind(policy)
    }
}

impl<K, L: KeptLedger> Ledgers<K, L> {
    /// As [`new`](Ledgers::new), for ledgers of any kind.
    #[must_use]
    pub fn of_kind(policy: &Policy) -> Self {
        Self::of(*policy, DEFAULT_BOUND, DEFAULT_IDLE.max(memory(policy.budget())))
    }

    /// An empty registry like this one, for at most `bound` ledgers. Large ones have up to 16
    /// parts, each with its share of the bound, so room may run out at a little below it.
    ///
    /// # Errors
    /// `ledgers.bound` outside 1..=1000000.
    pub fn with_bound(&self, bound: usize) -> Result<Self, ConfigError> {
        if !(1..=MAX_BOUND).contains(&bound) {
            return Err(ConfigError::new("ledgers.bound", bound, "from 1 to 1000000"));
        }
        Ok(Self::of(self.inner.policy, bound, self.inner.idle))
    }

    /// An empty registry like this one, that forgets a ledger after `idle` without use.
    ///
    /// # Errors
    /// `ledgers.idle` below the budget's window or interval, or zero: a budget forgotten earlier
    /// would grant twice.
    pub fn with_idle(&self, idle: impl Into<Span>) -> Result<Self, ConfigError> {
        let idle = idle.into();
        let least = memory(self.inner.policy.budget()).max(Span::from_nanos(1));
        if idle < least {
            let bound = format!("at least the budget's window or interval ({least})");
            return Err(ConfigError::new("ledgers.idle", idle, bound));
        }
        Ok(Self::of(self.inner.policy, self.inner.bound, idle))
    }

    /// The policy that all follow.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// The number of ledgers: never more than the bound.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the ledgers that were not used lately, unless their breaker is inside its open time.
    ///
    /// Happens by itself on insertion; worth calling only to give memory back in a quiet time.
    pub fn expire(&self, now: Instant) {
        for shard in &self.inner.shards {
            lock(shard).expire(now, self.inner.idle);
        }
    }

    fn of(policy: Policy, bound: usize, idle: Span) -> Self {
        let count = (bound / SHARD_LEAST).clamp(1, MAX_SHARDS);
        let shards = (0..count).map(|_| Mutex::new(LedgerShard::new(bound / count))).collect();
        let chooser = BuildHasherDefault::new();
        Self { inner: Arc::new(LedgersInner { policy, bound, idle, shards, chooser }) }
    }
}

impl<K: Hash + Eq> Ledgers<K> {
    /// The ledger of `key`, made when there is none.
    pub fn ledger<Q>(&self, now: Instant, key: &Q) -> Arc<LocalLedger>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let make = || Ok::<_, Infallible>(Arc::new(LocalLedger::new(&self.inner.policy)));
        self.try_ledger(now, key, make).unwrap_or_else(|never| match never {})
    }

    /// The figures of the ledger of `key`, if there is one, without counting as a use.
    #[must_use]
    pub fn stats<Q>(&self, now: Instant, key: &Q) -> Option<LedgerStats>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let ledger = lock(self.shard(key)).peek(key)?;
        Some(ledger.stats(now))
    }

    /// The figures of all ledgers, in no particular order, without counting as a use.
    #[must_use]
    pub fn all_stats(&self, now: Instant) -> Vec<(K, LedgerStats)>
    where
        K: Clone,
    {
        self.map_all(|ledger| ledger.stats(now))
    }
}

impl<K: Hash + Eq, L: KeptLedger> Ledgers<K, L> {
    /// The ledger of `key`, made by `make` when there is none.
    ///
    /// # Errors
    /// The error of `make`; then nothing is kept.
    pub fn try_ledger<Q, E>(
        &self,
        now: Instant,
        key: &Q,
        make: impl FnOnce() -> Result<Arc<L>, E>,
    ) -> Result<Arc<L>, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut shard = lock(self.shard(key));
        if let Some(known) = shard.find(now, key) {
            return Ok(known);
        }
        let made = make()?;
        shard.make_room(now, self.inner.idle);
        Ok(shard.insert(now, key.to_owned(), made))
    }

    /// The ledger of `key`, if there is one, by anything that is equal to the key.
    #[cfg(any(feature = "reqwest", all(feature = "http", feature = "tower")))]
    pub(crate) fn find<Q>(&self, now: Instant, key: &Q) -> Option<Arc<L>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        lock(self.shard(key)).find(now, key)
    }

    /// The answers of `figures` for each ledger, in no particular order, without counting as a use.
    pub fn map_all<T>(&self, figures: impl Fn(&L) -> T) -> Vec<(K, T)>
    where
        K: Clone,
    {
        self.inner.shards.iter().flat_map(|shard| lock(shard).all(&figures)).collect()
    }

    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> &Mutex<LedgerShard<K, L>> {
        let shards = &self.inner.shards;
        // OK because the remainder is below the number of shards, which is at most MAX_SHARDS.
        #[expect(clippy::cast_possible_truncation, reason = "below MAX_SHARDS")]
        &shards[(self.inner.chooser.hash_one(key) % shards.len() as u64) as usize]
    }
}

impl<K, L> Clone for Ledgers<K, L> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<K, L> fmt::Debug for Ledgers<K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledgers")
            .field("policy", &self.inner.policy)
            .field("bound", &self.inner.bound)
            .field("idle", &self.inner.idle)
            .finish_non_exhaustive()
    }
}

/// The time for which the grants of a budget still count.
fn memory(plan: &BudgetPlan) -> Span {
    match plan {
        BudgetPlan::Window(plan) => plan.window(),
        BudgetPlan::Interval(plan) => plan.interval(),
        _ => Span::ZERO,
    }
}

fn lock<K, L>(shard: &Mutex<LedgerShard<K, L>>) -> MutexGuard<'_, LedgerShard<K, L>> {
    // Only a key's own `Hash` or `Eq` could panic in there, and a map is whole after that.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
