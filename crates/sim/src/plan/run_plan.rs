//! A run as data: callers of each layer and the processes they live in, a network, a backend and what goes
//! wrong.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Instant, Policy, Ratio, Span};

use super::{ArrivalProcess, Backend, Fault, Hop, MeasurementPlan, Users};
use crate::law::{Foreign, Law, Schedule};
use crate::plan::Stretch;

/// Everything that a run is made of, except its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// The times of first attempts; several sources run side by side, at most
    /// [`MAX_SOURCES`](Self::MAX_SOURCES) with those of bystanders.
    pub arrivals: Vec<ArrivalProcess>,
    /// The way to the backend and back.
    pub hop: Hop,
    /// The callers, outermost first: each calls the next one, and the last calls the backend.
    /// Never empty.
    pub callers: Vec<CallerLayer>,
    /// The processes that the callers live in, and what those remember.
    pub fleet: Fleet,
    /// The backend.
    pub backend: Backend,
    /// The troubles of the backend.
    pub faults: Vec<Fault>,
    /// Others who call the backend meanwhile; they are in no figure but the counts in buckets.
    pub bystanders: Vec<Bystanders>,
    /// Whether the end of an outer attempt reaches the layers further in.
    pub propagation: Propagation,
    /// The people behind the calls of the outermost layer.
    pub users: Users,
    /// The measurements.
    pub watch: MeasurementPlan,
}

/// The knowledge that a call of an inner layer has of the attempt that it is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// None: it goes on when its caller has given up, as over plain HTTP.
    #[default]
    None,
    /// Its deadline and its cancellation, as in gRPC: no attempt outlives the outer one, and none is
    /// made after it.
    Deadline,
}

impl RunPlan {
    /// The most sources of calls: what a byte counts, with room for the layers of callers.
    pub const MAX_SOURCES: usize = 200;

    /// The sources of calls: the callers' own, then those of bystanders.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &ArrivalProcess> {
        self.arrivals.iter().chain(self.bystanders.iter().map(|others| &others.arrivals))
    }

    /// The one of this number among [`sources`](Self::sources).
    #[inline]
    pub(crate) fn source(&self, number: u8) -> Option<&ArrivalProcess> {
        let number = usize::from(number);
        let other = |number: usize| self.bystanders.get(number).map(|others| &others.arrivals);
        number.checked_sub(self.arrivals.len()).map_or_else(|| self.arrivals.get(number), other)
    }

    /// All who retry: the layers from the outermost on, then the bystanders.
    pub(crate) fn all_callers(&self) -> impl Iterator<Item = &CallerLayer> {
        self.callers.iter().chain(self.bystanders.iter().map(|others| &others.caller))
    }

    /// The caller of this number among [`all_callers`](Self::all_callers).
    #[inline]
    pub(crate) fn caller(&self, layer: u8) -> &CallerLayer {
        let layer = usize::from(layer);
        match layer.checked_sub(self.callers.len()) {
            None => &self.callers[layer],
            Some(other) => &self.bystanders[other].caller,
        }
    }

    /// Whether this caller's attempts go to the backend, and not to a caller further in.
    #[inline]
    pub(crate) const fn calls_backend(&self, layer: u8) -> bool {
        layer as usize + 1 >= self.callers.len()
    }

    /// Whether something goes wrong, and all that does never ends.
    pub(crate) fn trouble_lasts(&self) -> bool {
        !self.faults.is_empty() && self.faults.iter().all(|fault| fault.until == Instant::FAR)
    }

    /// Callers of this kind, and a backend that serves every attempt immediately.
    #[must_use]
    pub fn new(arrivals: ArrivalProcess, caller: CallerLayer) -> Self {
        Self {
            arrivals: vec![arrivals],
            hop: Hop::default(),
            callers: vec![caller],
            fleet: Fleet::default(),
            backend: Backend::default(),
            faults: Vec::new(),
            bystanders: Vec::new(),
            propagation: Propagation::None,
            users: Users::default(),
            watch: MeasurementPlan::default(),
        }
    }
}

/// One layer of callers.
#[derive(Clone, Debug, PartialEq)]
pub struct CallerLayer {
    /// The engine's policy: everything but the delay of a foreign law comes from it.
    pub policy: Policy,
    /// A delay law that the engine does not offer, for comparison. The policy's own delay is zero
    /// then, and this one is waited.
    pub foreign: Option<Foreign>,
    /// How much its calls matter to a server that serves by criticality.
    pub criticality: Criticality,
}

/// How much a call matters, in the words of Google's SRE book: servers under load serve the first ones first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Criticality {
    /// Calls whose failure users notice most.
    CriticalPlus = 0,
    /// Calls whose failure users notice.
    #[default]
    Critical = 1,
    /// Calls that may fail for some time: batch work.
    SheddablePlus = 2,
    /// Calls that may fail for long.
    Sheddable = 3,
}

impl CallerLayer {
    /// A caller under the engine's policy.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self { policy, foreign: None, criticality: Criticality::Critical }
    }

    /// The same caller, who gives up every attempt after this; unchanged where its policy excludes
    /// that, because the limit is zero or not above the policy's least time for an attempt.
    #[must_use]
    pub fn with_timeout(self, limit: Span) -> Self {
        let policy = self.policy.to_builder().attempt_timeout(limit).build();
        Self { policy: policy.unwrap_or(self.policy), ..self }
    }
}

impl Law {
    /// The caller of this law.
    ///
    /// # Errors
    /// The settings that the engine refuses: a cap below the base, or no attempts.
    pub fn caller(self, schedule: &Schedule) -> Result<CallerLayer, stagger_core::ConfigError> {
        let foreign = Foreign::of(self, schedule);
        Ok(CallerLayer { foreign, ..CallerLayer::new(self.policy(schedule)?) })
    }
}

/// Others who call the backend meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Bystanders {
    /// The times of their first attempts.
    pub arrivals: ArrivalProcess,
    /// Their retries.
    pub caller: CallerLayer,
}

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
