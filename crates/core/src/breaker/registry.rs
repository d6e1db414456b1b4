//! A breaker for each key, bounded in number.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::borrow::Borrow;

use super::machine::Breaker;
use super::plan::BreakerPlan;
use super::report::Report;
use super::state::{StateKind, Transition};
use super::ticket::{Admission, Ticket};
use crate::entropy::Entropy;
use crate::error::ConfigError;
use crate::time::{Instant, Span};

/// Breakers kept unless told otherwise: a few hundred bytes each, so some megabytes at most.
const DEFAULT_BOUND: usize = 10_000;
/// A breaker that nobody asked for so long is dropped: ten times the default cap of the open time.
const DEFAULT_IDLE: Span = Span::from_secs(600);
/// At the bound one sweep evicts this share of the entries, so a sweep over all of
/// them is paid for by that many insertions.
const SWEPT_SHARE: usize = 16;

/// Breakers by key, at most as many as its bound.
///
/// There is no timer: whoever inserts pays a small part of the next sweep. When there are too
/// many, those that were not used for longest go first, closed ones before others, and one inside
/// its open time last of all. A call whose breaker has gone reports to nobody.
///
/// ```
/// use stagger_core::breaker::{BreakerPlan, Registry, StateKind};
/// use stagger_core::Instant;
/// let mut registry: Registry<String> = Registry::new(BreakerPlan::default());
/// assert!(registry.admit(Instant::ORIGIN, "https://a.example:443").ticket().is_some());
/// assert_eq!(registry.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Registry<K> {
    plan: BreakerPlan,
    bound: usize,
    idle: Span,
    entries: BTreeMap<K, BreakerEntry>,
    /// Entries made so far: the upper half of their first generation, so that a ticket from before
    /// an eviction is stale for the breaker made after it.
    made: u32,
    next_sweep: Instant,
}

#[derive(Clone, Debug)]
struct BreakerEntry {
    breaker: Breaker,
    used: Instant,
}

/// In which order entries are given up: the least first.
type Worth = (u8, Instant);

impl<K: Ord> Registry<K> {
    /// No breakers yet; each will follow `plan`. At most 10 000, dropped after 10 min without use.
    #[must_use]
    pub const fn new(plan: BreakerPlan) -> Self {
        Self {
            plan,
            bound: DEFAULT_BOUND,
            idle: DEFAULT_IDLE,
            entries: BTreeMap::new(),
            made: 0,
            next_sweep: Instant::ORIGIN,
        }
    }

    /// The same registry with room for `bound` breakers.
    ///
    /// # Errors
    /// `breaker.bound` when it is zero.
    pub fn with_bound(mut self, bound: usize) -> Result<Self, ConfigError> {
        if bound == 0 {
            return Err(ConfigError::new("breaker.bound", bound, "at least 1"));
        }
        self.bound = bound;
        Ok(self)
    }

    /// The same registry dropping breakers after `idle` without use.
    ///
    /// # Errors
    /// `breaker.idle` when it is zero.
    pub fn with_idle(mut self, idle: Span) -> Result<Self, ConfigError> {
        if idle.is_zero() {
            return Err(ConfigError::new("breaker.idle", idle, "above 0s"));
        }
        self.idle = idle;
        Ok(self)
    }

    /// Whether `key` may be called at `now`; makes its breaker when there is none.
    pub fn admit<Q>(&mut self, now: Instant, key: &Q) -> Admission
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.used = entry.used.max(now);
            return entry.breaker.admit(now);
        }
        self.make_room(now);
        self.made = self.made.wrapping_add(1);
        let mut breaker = Breaker::from_generation(self.plan, u64::from(self.made) << 32);
        let admission = breaker.admit(now);
        self.entries.insert(key.to_owned(), BreakerEntry { breaker, used: now });
        admission
    }

    /// Takes the result of a call that was admitted for `key`.
    pub fn report<Q, E>(
        &mut self,
        now: Instant,
        key: &Q,
        ticket: Ticket,
        report: Report,
        entropy: &mut E,
    ) -> Option<Transition>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
        E: Entropy,
    {
        let entry = self.entries.get_mut(key)?;
        entry.breaker.report(now, ticket, report, entropy)
    }

    /// The breaker of `key`, if it has one.
    #[must_use]
    pub fn get<Q>(&self, key: &Q) -> Option<&Breaker>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.entries.get(key).map(|entry| &entry.breaker)
    }

    /// All breakers, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &Breaker)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.breaker))
    }

    /// The number of breakers: never more than the bound.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Drops the breakers that were not used lately, unless they are inside their open time.
    ///
    /// Happens by itself on insertion; worth calling only to give memory back in a quiet time.
    pub fn expire(&mut self, now: Instant) {
        let idle = self.idle;
        self.entries.retain(|_, entry| {
            entry.breaker.state(now) == StateKind::Open || now - entry.used < idle
        });
        self.next_sweep = now + idle;
    }

    fn make_room(&mut self, now: Instant) {
        if now >= self.next_sweep || self.entries.len() >= self.bound {
            self.expire(now);
        }
        if self.entries.len() >= self.bound {
            self.evict(now, self.entries.len() - self.bound + 1 + self.bound / SWEPT_SHARE);
        }
    }

    /// Gives up the `count` entries of least worth.
    fn evict(&mut self, now: Instant, count: usize) {
        let count = count.min(self.entries.len());
        if count == 0 {
            return;
        }
        let mut worths: Vec<Worth> = self.entries.values().map(|entry| entry.worth(now)).collect();
        let (below, &mut highest, _) = worths.select_nth_unstable(count - 1);
        // Several entries may be worth the same; only as many go as were asked for.
        let mut ties = count - below.iter().filter(|worth| **worth < highest).count();
        self.entries.retain(|_, entry| match entry.worth(now).cmp(&highest) {
            core::cmp::Ordering::Less => false,
            core::cmp::Ordering::Equal if ties > 0 => {
                ties -= 1;
                false
            }
            _ => true,
        });
    }
}

impl BreakerEntry {
    fn worth(&self, now: Instant) -> Worth {
        let rank = match self.breaker.state(now) {
            StateKind::Closed => 0,
            StateKind::HalfOpen | StateKind::Ramp => 1,
            StateKind::Open => 2,
        };
        (rank, self.used)
    }
}
