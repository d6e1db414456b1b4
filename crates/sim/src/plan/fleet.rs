//! The processes that callers live in, and what those remember of their destination.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Ratio, Span};

use crate::probe::Stretch;

/// Processes, each with its own ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// How many; a call belongs to one by its number. At least 1.
    pub processes: u32,
    /// What a process keeps apart.
    pub scope: Scope,
    /// What is kept.
    pub ledger: LedgerModel,
    /// The connections of each process; without limit when `None`.
    pub connections: Option<Connections>,
    /// Whether open breakers wait the shortest time that their plan allows, to show what jitter does.
    pub steady_breakers: bool,
}

/// What a process keeps apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// One ledger for the whole backend.
    #[default]
    Host,
    /// One ledger for each of its shards.
    Shard,
}

/// Where budget and breaker of a process remember.
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
    Shared(Shared),
}

/// A bucket that is paid into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deposit {
    /// Who pays.
    pub paying: Paying,
    /// What is paid, in retries.
    pub amount: Ratio,
    /// The most that it holds, in retries, and what is in it at first.
    pub bucket: u32,
}

/// Who pays into a bucket.
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
pub struct Shared {
    /// The budget of the whole fleet.
    pub budget: BudgetPlan,
    /// How many permits a node asks for at once. At least 1.
    pub lease: u32,
    /// The way to the store, one direction.
    pub latency: Span,
    /// The share of requests that get no answer.
    pub loss: Ratio,
    /// When a node asks again that got no answer, or not all it asked for. Longer than the way to
    /// the store and back: a node takes a store that has not answered by then for away.
    pub again: Span,
    /// When the store is down and hears nothing.
    pub down: Option<Stretch>,
    /// What a node does without it.
    pub away: Away,
}

/// What a node does that has no permit left and gets no answer from the store.
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
    /// How many attempts of a process may be under way at once; the others wait their turn, and
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
