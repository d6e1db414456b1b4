//! The processes that callers live in, and what those remember of their destination.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Ratio, Span};

use crate::plan::Stretch;

/// Processes, each with its own ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// Processes; a call belongs to one by its number. At least 1.
    pub processes: u32,
    /// The destinations that a process keeps apart.
    pub scope: Scope,
    /// The ledger of each process.
    pub ledger: LedgerModel,
    /// The connections of each process; without limit when `None`.
    pub connections: Option<Connections>,
    /// Whether open breakers wait the shortest time that their plan allows, to show what jitter does.
    pub steady_breakers: bool,
}

/// The destinations that a process keeps apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// One ledger for the whole backend.
    #[default]
    Host,
    /// One ledger for each of its shards.
    Shard,
}

/// The ledger with the budget and the breaker of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LedgerModel {
    /// The engine's own ledger, by the budget and the breaker of the policy.
    #[default]
    Engine,
    /// A budget that is paid into by calls or successes, as published by others: the engine asks
    /// for every retry, and this answers. The policy must have some budget, or it never asks.
    Deposit(Deposit),
    /// The engine's own ledger, but a window's spent retries come back with the slot they were spent
    /// in, and so in blocks.
    WindowBlock,
    /// No retry while more than this share of a process's attempts has failed, ever since it began.
    Lifetime(Ratio),
    /// A budget in a store that all processes share, out of which each takes leases.
    Shared(SharedBudget),
}

/// A bucket that is paid into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deposit {
    /// The events that pay in.
    pub paying: Paying,
    /// The amount of one payment, in retries.
    pub amount: Ratio,
    /// The most that it holds, in retries, and what is in it at first.
    pub bucket: u32,
}

/// The events that pay into a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paying {
    /// Every call, by its first attempt.
    Calls,
    /// Every attempt that succeeds.
    Successes,
}

/// A budget in a store, as nodes see it: permits are leased in the background, so that no call ever
/// waits for the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBudget {
    /// The budget of the whole fleet.
    pub budget: BudgetPlan,
    /// Permits that a node asks for at once. At least 1.
    pub lease: u32,
    /// The way to the store, one direction.
    pub latency: Span,
    /// The share of requests that get no answer.
    pub loss: Ratio,
    /// The time after which a node that got no answer, or too few permits, asks again. Longer than the
    /// way to the store and back: after that time the node takes the store for down.
    pub again: Span,
    /// The stretch in which the store is down.
    pub down: Option<Stretch>,
    /// The fallback of a node without the store.
    pub away: Away,
}

/// The fallback of a node that has no permit left and gets no answer from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// It falls back to a budget of its own, the fleet's divided by so many nodes. At least 1.
    Local {
        /// The nodes that are expected.
        nodes: u32,
    },
    /// It refuses.
    Refuse,
}

/// A pool of connections, per process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Attempts of a process that may be under way at once; the others wait their turn, and
    /// their timeout runs meanwhile. At least 1.
    pub count: u32,
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            processes: 1,
            scope: Scope::Host,
            ledger: LedgerModel::Engine,
            connections: None,
            steady_breakers: false,
        }
    }
}
