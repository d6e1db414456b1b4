//! The breaker as calls ask it: atomics while the fleet's is closed or open, a lock while it is half-open.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger_core::breaker::{Admission, BreakerPlan, Report, StateKind, Ticket};
use stagger_core::{Entropy, Instant};

use super::held_leases::HeldLeases;
use super::notify::TaskNotify;
use super::replica::{FastAnswer, FleetAdmission, Replica};
use super::script::BreakerRequest;
use super::sync::{RemoteMove, SyncRound};
use crate::ledger::breaker::LocalBreaker;
use crate::ledger::shared::SharedOptions;
use crate::rng::OsEntropy;

/// A way as one word: these two, or the end of the open time in nanoseconds.
const OWN: u64 = 0;
const ASK: u64 = 1;

/// A process's door to a destination that its fleet calls through one breaker.
///
/// While that is closed, the process's own breaker counts what this process sees, and opens by
/// itself; the fleet's opens with it. The lock is never held while anybody waits.
#[derive(Debug)]
pub(in crate::ledger::shared) struct FleetBreaker {
    own: LocalBreaker,
    fast_answer: AtomicU64,
    replica: Mutex<Replica>,
    /// As the replica has it: how often the own breaker had opened when the store knew of it.
    reported_opened: AtomicU64,
    pub(super) notify: TaskNotify,
    closed: AtomicBool,
    remote_moves: AtomicU64,
    probes_leased: AtomicU64,
}

impl FleetBreaker {
    /// Closed, and the store not known to be there unless it `is_up`.
    pub(in crate::ledger::shared) fn new(
        plan: BreakerPlan,
        options: &SharedOptions,
        is_up: bool,
    ) -> Self {
        Self {
            own: LocalBreaker::new(plan),
            fast_answer: AtomicU64::new(OWN),
            replica: Mutex::new(Replica::new(plan, options, is_up)),
            reported_opened: AtomicU64::new(0),
            notify: TaskNotify::default(),
            closed: AtomicBool::new(false),
            remote_moves: AtomicU64::new(0),
            probes_leased: AtomicU64::new(0),
        }
    }

    /// The ticket of a call that is admitted because all is closed: all that most calls ask.
    #[inline]
    pub(in crate::ledger::shared) fn admit_closed(&self, now: Instant) -> Option<Ticket> {
        if self.fast_answer.load(Ordering::Acquire) == OWN {
            self.own.admit_closed(now)
        } else {
            None
        }
    }

    pub(in crate::ledger::shared) fn admit(&self, now: Instant) -> Admission {
        match self.fast_answer.load(Ordering::Acquire) {
            OWN => return self.admit_alone(now),
            until if now.as_nanos() < until => {
                self.notify.notify_once();
                return Admission::Refused { until: Instant::from_nanos(until) };
            }
            _ => {}
        }
        let (admission, wanted) = self.with_replica(|replica| {
            let before = replica.wanted;
            (replica.admit(now), replica.wanted && !before)
        });
        // A lease that is wanted now, or that was used up, is asked for at once.
        if wanted || matches!(admission, FleetAdmission::Admitted(_)) {
            self.notify.notify();
        } else {
            self.notify.notify_once();
        }
        match admission {
            FleetAdmission::OwnBreaker => self.admit_alone(now),
            FleetAdmission::Admitted(ticket) => Admission::Admitted(ticket),
            FleetAdmission::Refused(until) => Admission::Refused { until },
        }
    }

    #[inline]
    pub(in crate::ledger::shared) fn report(
        &self,
        now: Instant,
        ticket: Ticket,
        report: Report,
        entropy: &mut dyn Entropy,
    ) {
        if HeldLeases::is_from_here(ticket) {
            self.with_replica(|replica| replica.report(now, ticket, report));
            return self.notify.notify();
        }
        self.own.report(now, ticket, report, entropy);
        if self.own.opened() == self.reported_opened.load(Ordering::Acquire) {
            self.notify.notify_once();
        } else {
            self.notify.notify();
        }
    }

    /// The state of the breaker that the next call asks.
    pub(in crate::ledger::shared) fn state(&self, now: Instant) -> StateKind {
        self.with_replica(|replica| replica.state(&self.own, now))
    }

    /// The number of times that it opened, whether this process or another saw the failures.
    pub(in crate::ledger::shared) fn opened(&self) -> u64 {
        self.own.opened()
    }

    /// The number of moves that other processes caused.
    pub(in crate::ledger::shared) fn remote_moves(&self) -> u64 {
        self.remote_moves.load(Ordering::Relaxed)
    }

    /// The probes that the store has granted.
    pub(in crate::ledger::shared) fn probes_leased(&self) -> u64 {
        self.probes_leased.load(Ordering::Relaxed)
    }

    pub(in crate::ledger::shared) fn is_store_down(&self) -> bool {
        self.with_replica(|replica| replica.is_store_down())
    }

    /// Ends the sharing: the watcher gives back what it can.
    pub(in crate::ledger::shared) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.notify.notify();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The time at which the store should be asked, if it was asked last at `asked`.
    pub(super) fn due(&self, asked: Instant) -> Option<Instant> {
        let called = self.notify.is_pending();
        self.with_replica(|replica| replica.due(&self.own, asked, called))
    }

    pub(super) fn request(&self, now: Instant) -> BreakerRequest {
        let called = self.notify.is_pending();
        self.notify.looked();
        self.with_replica(|replica| replica.request(&self.own, now, called, &mut OsEntropy))
    }

    pub(super) fn last_request(&self) -> Option<BreakerRequest> {
        self.with_replica(Replica::retire)
    }

    /// The store has answered. A move that this process has not caused.
    pub(super) fn adopt(&self, round: &SyncRound<'_>) -> Option<RemoteMove> {
        let moved = self.with_replica(|replica| replica.adopt(&self.own, round, &mut OsEntropy));
        let granted = round.answer.lease.is_some();
        self.remote_moves.fetch_add(u64::from(moved.is_some()), Ordering::Relaxed);
        self.probes_leased.fetch_add(u64::from(granted), Ordering::Relaxed);
        moved
    }

    pub(super) fn store_lost(&self, now: Instant) {
        self.with_replica(|replica| replica.store_lost(now, &mut OsEntropy));
    }

    /// As the own breaker says, but for a probe that needs a lease.
    fn admit_alone(&self, now: Instant) -> Admission {
        let admission = self.own.admit(now);
        let probe = admission.ticket().filter(|ticket| ticket.is_probe());
        let Some(probe) = probe else { return admission };
        let Some(until) = self.with_replica(|replica| replica.refuses_own_probe(now)) else {
            return admission;
        };
        self.own.report(now, probe, Report::Neutral, &mut OsEntropy);
        self.notify.notify_once();
        Admission::Refused { until }
    }

    /// Does something with the replica, and publishes what calls may do then.
    fn with_replica<T>(&self, act: impl FnOnce(&mut Replica) -> T) -> T {
        let mut replica = self.lock();
        let answer = act(&mut replica);
        self.reported_opened.store(replica.reported_opened, Ordering::Release);
        let fast_answer = match replica.fast_answer() {
            FastAnswer::OwnBreaker => OWN,
            FastAnswer::AskReplica => ASK,
            FastAnswer::RefusedUntil(until) => until.as_nanos().max(ASK),
        };
        self.fast_answer.store(fast_answer, Ordering::Release);
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Replica> {
        // Nothing panics under the lock, and a replica is whole between two calls.
        self.replica.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
