//! The ledgers of all processes.

use stagger_core::Policy;
use stagger_core::breaker::Breaker;
use stagger_core::budget::BudgetPlan;
use stagger_core::retry::PlainLedger;

use super::book::{Book, Kind};
use super::deposit::Bucket;
use super::leased::Leased;
use super::lifetime::Lifetime;
use super::store::Store;
use crate::plan::{self, Plan, Scope};
use crate::streams::{Purpose, Stream};

/// One ledger for each layer, process and, where they are kept apart, shard.
#[derive(Debug)]
pub(crate) struct Shelf {
    books: Vec<Book>,
    processes: u32,
    shards: u32,
    store: Option<Store>,
}

impl Shelf {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Self {
        let fleet = &plan.fleet;
        let processes = fleet.processes.max(1);
        let shards = if fleet.scope == Scope::Shard { plan.backend.shard_count() } else { 1 };
        let draws = Stream::new(seed, Purpose::Breaker);
        let layers = plan.everybody();
        let kinds = layers.flat_map(|caller| {
            let kind = kind(fleet.book, &caller.policy);
            let breaker = match kind {
                Kind::Engine(_) => None,
                _ => caller.policy.breaker().copied().map(Breaker::new).map(Box::new),
            };
            (0..processes * shards).map(move |_| (kind.clone(), breaker.clone()))
        });
        let books = (0..)
            .zip(kinds)
            .map(|(number, (kind, breaker))| Book::new(kind, breaker, draws, number))
            .collect();
        let store = match fleet.book {
            plan::Book::Shared(rule) => Some(Store::new(rule, seed)),
            _ => None,
        };
        Self { books, processes, shards, store }
    }

    /// The number of the ledger for this call.
    #[inline]
    pub(crate) const fn number(&self, layer: u8, id: u32, shard: u32) -> u32 {
        let shard = if self.shards > 1 { shard } else { 0 };
        (layer as u32 * self.processes + id % self.processes) * self.shards + shard
    }

    #[inline]
    pub(crate) fn book(&mut self, number: u32) -> &mut Book {
        &mut self.books[number as usize]
    }

    /// The store that ledgers lease from.
    pub(crate) const fn store(&mut self) -> Option<&mut Store> {
        self.store.as_mut()
    }
}

fn kind(book: plan::Book, policy: &Policy) -> Kind {
    match book {
        plan::Book::Engine if policy.breaker().is_none() && is_free(policy) => Kind::Free,
        plan::Book::Engine => Kind::Engine(PlainLedger::new(policy)),
        plan::Book::Deposit(rule) => Kind::Deposit(Bucket::new(rule)),
        plan::Book::Lifetime(most) => Kind::Lifetime(Lifetime::new(most)),
        plan::Book::Shared(rule) => Kind::Leased(Box::new(Leased::new(&rule))),
    }
}

fn is_free(policy: &Policy) -> bool {
    *policy.budget() == BudgetPlan::Unlimited
}
