//! A part of a registry: some ledgers behind one lock, at most as many as its bound.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use stagger_core::breaker::StateKind;
use stagger_core::{Instant, Span};

/// The share of the ledgers that is evicted in one sweep when the bound is reached, so a sweep over all of
/// them is paid for by that many insertions.
const SWEPT_SHARE: usize = 16;

pub(super) struct LedgerShard<K, L> {
    bound: usize,
    entries: HashMap<K, KeyedLedger<L>>,
    next_sweep: Instant,
    /// Entries made so far.
    made: u64,
}

/// A ledger that [`Ledgers`](crate::Ledgers) can keep: its breaker decides how long.
pub trait KeptLedger {
    /// The state of its breaker, if there is one.
    fn breaker_state(&self, now: Instant) -> Option<StateKind>;
}

struct KeyedLedger<L> {
    ledger: Arc<L>,
    used: Instant,
    /// Tells entries apart that are otherwise worth the same.
    number: u64,
}

/// In which order entries are given up: the least first. State of the breaker, held by anybody,
/// last use, age.
type Worth = (u8, bool, Instant, u64);

impl<K, L: KeptLedger> LedgerShard<K, L> {
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, entries: HashMap::new(), next_sweep: Instant::ORIGIN, made: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Drops what is neither held, nor open, nor was used for `idle`.
    pub(super) fn expire(&mut self, now: Instant, idle: Span) {
        self.entries.retain(|_, entry| {
            now - entry.used < idle || entry.is_held() || entry.rank(now) == OPEN
        });
        self.next_sweep = now + idle;
    }

    /// Makes room for one more.
    pub(super) fn make_room(&mut self, now: Instant, idle: Span) {
        if now >= self.next_sweep || self.entries.len() >= self.bound {
            self.expire(now, idle);
        }
        if self.entries.len() >= self.bound {
            self.evict(now, self.entries.len() - self.bound + 1 + self.bound / SWEPT_SHARE);
        }
    }

    /// Gives up the `count` entries of least worth.
    fn evict(&mut self, now: Instant, count: usize) {
        let mut worths: Vec<Worth> = self.entries.values().map(|entry| entry.worth(now)).collect();
        worths.sort_unstable();
        let gone: HashSet<u64> = worths.iter().take(count).map(|worth| worth.3).collect();
        self.entries.retain(|_, entry| !gone.contains(&entry.number));
    }
}

impl<K: Hash + Eq, L: KeptLedger> LedgerShard<K, L> {
    pub(super) fn find<Q>(&mut self, now: Instant, key: &Q) -> Option<Arc<L>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entry = self.entries.get_mut(key)?;
        entry.used = entry.used.max(now);
        Some(Arc::clone(&entry.ledger))
    }

    pub(super) fn peek<Q>(&self, key: &Q) -> Option<Arc<L>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.get(key).map(|entry| Arc::clone(&entry.ledger))
    }

    pub(super) fn insert(&mut self, now: Instant, key: K, ledger: Arc<L>) -> Arc<L> {
        self.made += 1;
        let entry = KeyedLedger { ledger: Arc::clone(&ledger), used: now, number: self.made };
        self.entries.insert(key, entry);
        ledger
    }

    pub(super) fn all<T>(&self, figures: impl Fn(&L) -> T) -> Vec<(K, T)>
    where
        K: Clone,
    {
        self.entries.iter().map(|(key, entry)| (key.clone(), figures(&entry.ledger))).collect()
    }
}

/// The rank of an open breaker.
const OPEN: u8 = 2;

impl<L: KeptLedger> KeyedLedger<L> {
    /// A call holds it: a second one beside it would grant the same retries again.
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.ledger) > 1
    }

    fn rank(&self, now: Instant) -> u8 {
        match self.ledger.breaker_state(now) {
            None | Some(StateKind::Closed) => 0,
            Some(StateKind::HalfOpen | StateKind::Ramp) => 1,
            Some(StateKind::Open) => OPEN,
        }
    }

    fn worth(&self, now: Instant) -> Worth {
        (self.rank(now), self.is_held(), self.used, self.number)
    }
}
