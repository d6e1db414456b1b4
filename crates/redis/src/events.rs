//! The events of a shared ledger for subscribers of `tracing` (feature `tracing`, target `stagger`).

use std::sync::atomic::AtomicBool;
#[cfg(feature = "tracing")]
use std::sync::atomic::Ordering;

use crate::store::SharedStore;

/// The log of one ledger's events, shared by its tasks.
#[derive(Debug)]
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "only events name the ledger"))]
pub(crate) struct EventLog {
    name: String,
    store: SharedStore,
    /// Whether an outage of the store was logged, and its end not yet.
    outage: AtomicBool,
}

/// A move of the fleet's breaker that this process has not caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteMove {
    Opened,
    Closed,
}

impl EventLog {
    pub(crate) fn new(name: &str, store: &SharedStore) -> Self {
        Self { name: name.to_owned(), store: store.clone(), outage: AtomicBool::new(false) }
    }

    /// The store does not answer, to one of the tasks.
    pub(crate) fn unreachable(&self) {
        #[cfg(feature = "tracing")]
        if !self.outage.swap(true, Ordering::AcqRel) {
            tracing::event!(
                name: "stagger.store.unreachable",
                target: "stagger",
                tracing::Level::WARN,
                stagger.budget = self.name,
                stagger.store = self.store.place(),
                "the store of a shared budget does not answer, going on without it"
            );
        }
    }

    /// The store answers.
    pub(crate) fn reachable(&self) {
        #[cfg(feature = "tracing")]
        if self.outage.swap(false, Ordering::AcqRel) {
            tracing::event!(
                name: "stagger.store.reachable",
                target: "stagger",
                tracing::Level::INFO,
                stagger.budget = self.name,
                stagger.store = self.store.place(),
                "the store of a shared budget answers again"
            );
        }
    }

    /// The fleet's breaker has moved for what another process saw.
    #[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "only events tell it"))]
    pub(crate) fn moved(&self, to: RemoteMove) {
        #[cfg(feature = "tracing")]
        match to {
            RemoteMove::Opened => tracing::event!(
                name: "stagger.breaker.opened",
                target: "stagger",
                tracing::Level::WARN,
                stagger.breaker = self.name,
                stagger.store = self.store.place(),
                "another process of the fleet has opened the shared breaker"
            ),
            RemoteMove::Closed => tracing::event!(
                name: "stagger.breaker.closed",
                target: "stagger",
                tracing::Level::INFO,
                stagger.breaker = self.name,
                stagger.store = self.store.place(),
                "the shared breaker has closed"
            ),
        }
    }
}
