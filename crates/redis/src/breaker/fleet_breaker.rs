//! The breaker as calls ask it: atomics while the fleet's is closed or open, a lock while it is half-open.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stagger::breaker::{BreakerPlan, Report, StateKind};
use stagger::engine::Ledger;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::{Entropy, Instant, LocalLedger, OsEntropy};

use super::replica::Replica;
use crate::options::SharedOptions;
use crate::stats::SharedStats;
use crate::wake::Wake;

/// A process's part of a destination that its fleet calls through one breaker.
///
/// While that is closed, the process's own breaker counts what this process sees, and opens by
/// itself; the fleet's opens with it. The lock is never held while anybody waits.
#[derive(Debug)]
pub(crate) struct FleetBreaker {
    local: Arc<LocalLedger>,
    replica: Mutex<Replica>,
    /// Calls are refused until then, in nanoseconds, and then ask the replica; 0: the own breaker is asked.
    refused_until: AtomicU64,
    /// As the replica has it: how often the own breaker had opened when the store knew of it.
    reported_opened: AtomicU64,
    /// Refusals that are not the own breaker's.
    refusals: AtomicU64,
    pub(crate) wake: Wake,
}

impl FleetBreaker {
    /// Closed, and the store not known to be there unless it `is_up`.
    pub(crate) fn new(
        plan: BreakerPlan,
        options: &SharedOptions,
        is_up: bool,
        local: Arc<LocalLedger>,
    ) -> Self {
        Self {
            replica: Mutex::new(Replica::new(plan, options, is_up, Arc::clone(&local))),
            local,
            refused_until: AtomicU64::new(0),
            reported_opened: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            wake: Wake::default(),
        }
    }

    #[inline]
    pub(crate) fn admit(&self, now: Instant) -> Admission {
        let refused_until = self.refused_until.load(Ordering::Acquire);
        if refused_until == 0 {
            return self.admit_locally(now);
        }
        if now.as_nanos() < refused_until {
            self.wake.note();
            return self.refused(Instant::from_nanos(refused_until));
        }
        self.admit_by_fleet(now)
    }

    #[cold]
    fn admit_by_fleet(&self, now: Instant) -> Admission {
        let (admission, wanted) = self.with_replica(|replica| {
            let before = replica.wanted;
            (replica.admit(now), replica.wanted && !before)
        });
        // A lease that is wanted now, or that was used up, is asked for immediately.
        if wanted || matches!(admission, Some(Admission::Admitted(_))) {
            self.wake.wake();
        } else {
            self.wake.note();
        }
        match admission {
            Some(Admission::Refused { until }) => self.refused(until),
            Some(admitted) => admitted,
            None => self.admit_locally(now),
        }
    }

    /// As the own breaker says, but for a probe that needs a lease.
    #[inline]
    fn admit_locally(&self, now: Instant) -> Admission {
        let admission = (&*self.local).admit(now);
        match admission {
            Admission::Admitted(ticket) if ticket.is_probe() => self.admit_probe(now, ticket),
            _ => admission,
        }
    }

    #[cold]
    fn admit_probe(&self, now: Instant, probe: Ticket) -> Admission {
        let Some(until) = self.with_replica(|replica| replica.refuses_own_probe(now)) else {
            return Admission::Admitted(probe);
        };
        (&*self.local).report(now, probe, Report::Neutral, &mut OsEntropy);
        self.wake.note();
        self.refused(until)
    }

    fn refused(&self, until: Instant) -> Admission {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        Admission::Refused { until }
    }

    #[inline]
    pub(crate) fn report(
        &self,
        now: Instant,
        ticket: Ticket,
        report: Report,
        entropy: &mut dyn Entropy,
    ) {
        if let Some(token) = ticket.foreign_probe() {
            self.with_replica(|replica| replica.report(now, token, ticket.admitted_at(), report));
            return self.wake.wake();
        }
        (&*self.local).report(now, ticket, report, entropy);
        if self.local.breaker_opened() == self.reported_opened.load(Ordering::Acquire) {
            self.wake.note();
        } else {
            self.wake.wake();
        }
    }

    /// The state of the breaker that the next call asks.
    pub(crate) fn state(&self, now: Instant) -> StateKind {
        self.with_replica(|replica| replica.state(now))
    }

    /// Adds the fleet's breaker to the figures of this process's ledger.
    pub(crate) fn fill(&self, stats: &mut SharedStats, now: Instant) {
        stats.ledger.breaker_refusals += self.refusals.load(Ordering::Relaxed);
        self.with_replica(|replica| replica.fill(stats, now));
    }

    /// Does something with the replica, and publishes what calls may do then.
    pub(super) fn with_replica<T>(&self, act: impl FnOnce(&mut Replica) -> T) -> T {
        // Nothing panics under the lock, and a replica is whole between two calls.
        let mut replica = self.replica.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = act(&mut replica);
        self.reported_opened.store(replica.reported_opened, Ordering::Release);
        self.refused_until.store(replica.refused_until(), Ordering::Release);
        answer
    }
}
