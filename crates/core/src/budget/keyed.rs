//! One budget a key: bounded, with idle expiry, and no timer.

use alloc::collections::BTreeMap;

use super::{Budget, BudgetPlan};
use crate::{ConfigError, Instant, Span};

/// Keys held at most by default: about 3 MB, and more destinations than one process talks to.
const DEFAULT_KEYS: usize = 10_000;
/// The most keys that may be asked for: about 300 MB.
const MAX_KEYS: usize = 1_000_000;
/// The default time for which an unused key is kept: ten of the longest windows.
const DEFAULT_IDLE: Span = Span::from_secs(600);
/// Keys whose time is over that one access removes at most: twice what it can add, so that the
/// registry shrinks and no single call pays for all.
const SWEEP: usize = 2;

/// A budget for every key (a destination, a segment), all under one plan.
///
/// A key that was not used for the idle time is forgotten, and when the bound is reached the one
/// that was idle longest makes room. A forgotten key starts over with a fresh budget.
///
/// ```
/// use stagger_core::budget::{Charge, IntervalPlan, Keyed};
/// use stagger_core::{Instant, Span};
/// let plan = IntervalPlan::new(1, Span::from_secs(30))?;
/// let mut segments = Keyed::new(plan.into());
/// let now = Instant::ORIGIN;
/// assert!(segments.budget(now, &"seg-1").ask(now, Charge::Retry).is_some());
/// assert!(segments.budget(now, &"seg-1").ask(now, Charge::Retry).is_none());
/// assert!(segments.budget(now, &"seg-2").ask(now, Charge::Retry).is_some());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Keyed<K> {
    plan: BudgetPlan,
    max_keys: usize,
    idle: Span,
    entries: BTreeMap<K, BudgetEntry>,
    /// The keys by their last use, oldest first.
    order: BTreeMap<u64, K>,
    /// Counts uses; the newest entry's stamp.
    uses: u64,
}

impl<K: Ord + Clone> Keyed<K> {
    /// An empty registry: at most 10000 keys, each kept 10 min unused, or as long as the plan's
    /// interval when that is longer.
    #[must_use]
    pub fn new(plan: BudgetPlan) -> Self {
        Self {
            plan,
            max_keys: DEFAULT_KEYS,
            idle: DEFAULT_IDLE.max(memory(&plan)),
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            uses: 0,
        }
    }

    /// The same registry for at most `n` keys.
    ///
    /// # Errors
    /// `budget.max_keys` outside 1..=1000000.
    pub fn with_max_keys(self, n: usize) -> Result<Self, ConfigError> {
        if !(1..=MAX_KEYS).contains(&n) {
            return Err(ConfigError::new("budget.max_keys", n, "from 1 to 1000000"));
        }
        Ok(Self { max_keys: n, ..self })
    }

    /// The same registry in which a key unused for `idle` is forgotten.
    ///
    /// # Errors
    /// `budget.idle` shorter than the plan's window or interval: forgetting would grant anew what
    /// still counts.
    pub fn with_idle(self, idle: Span) -> Result<Self, ConfigError> {
        let least = memory(&self.plan);
        if idle < least {
            let bound = alloc::format!("at least the plan's window or interval ({least})");
            return Err(ConfigError::new("budget.idle", idle, bound));
        }
        Ok(Self { idle, ..self })
    }

    /// The budget of `key`, made when it is new.
    ///
    /// # Panics
    /// Never: the entry is inserted before it is read.
    pub fn budget(&mut self, now: Instant, key: &K) -> &mut Budget {
        self.sweep(now);
        self.uses += 1;
        let known = self.entries.get(key).and_then(|entry| self.order.remove(&entry.stamp));
        if let Some(held) = known {
            self.order.insert(self.uses, held);
        } else {
            self.make_room();
            self.order.insert(self.uses, key.clone());
            self.entries.insert(key.clone(), BudgetEntry::new(self.plan));
        }
        let entry = self.entries.get_mut(key).expect("known, or inserted just above");
        entry.stamp = self.uses;
        entry.last = now;
        &mut entry.budget
    }

    /// The budget of `key` if it is held, without counting as a use: for metrics.
    #[must_use]
    pub fn peek(&self, key: &K) -> Option<&Budget> {
        self.entries.get(key).map(|entry| &entry.budget)
    }

    /// The number of keys held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets at most [`SWEEP`] keys that were idle for too long.
    fn sweep(&mut self, now: Instant) {
        for _ in 0..SWEEP {
            let oldest = self.order.first_key_value().and_then(|(_, key)| self.entries.get(key));
            match oldest {
                Some(entry) if now - entry.last > self.idle => self.forget_oldest(),
                _ => return,
            }
        }
    }

    /// Forgets the key that was idle longest when the bound is reached.
    fn make_room(&mut self) {
        if self.entries.len() >= self.max_keys {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first() {
            self.entries.remove(&key);
        }
    }
}

/// The time for which a plan's grants still count.
fn memory(plan: &BudgetPlan) -> Span {
    match plan {
        BudgetPlan::Window(plan) => plan.window(),
        BudgetPlan::Interval(plan) => plan.interval(),
        _ => Span::ZERO,
    }
}

#[derive(Clone, Debug)]
struct BudgetEntry {
    budget: Budget,
    /// The use that touched it last: its place in the order.
    stamp: u64,
    last: Instant,
}

impl BudgetEntry {
    fn new(plan: BudgetPlan) -> Self {
        Self { budget: Budget::new(plan), stamp: 0, last: Instant::ORIGIN }
    }
}
