//! The breaker as calls ask it: atomics while the fleet's is closed or open, a lock while it is half-open.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger_core::breaker::{Admission, BreakerPlan, Report, StateKind, Ticket};
use stagger_core::{Entropy, Instant};

use super::bell::Bell;
use super::exchange::{Exchange, Heard};
use super::hand::Hand;
use super::mirror::{Door, Mirror, Way};
use super::script::Request;
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
pub(in crate::ledger::shared) struct Gate {
    own: LocalBreaker,
    way: AtomicU64,
    mirror: Mutex<Mirror>,
    /// As the mirror has it: how often the own breaker had opened when the store knew of it.
    told_opened: AtomicU64,
    pub(super) bell: Bell,
    closed: AtomicBool,
    heard: AtomicU64,
    probes_leased: AtomicU64,
}

impl Gate {
    /// Closed, and the store not known to be there unless it `is_up`.
    pub(in crate::ledger::shared) fn new(
        plan: BreakerPlan,
        options: &SharedOptions,
        is_up: bool,
    ) -> Self {
        Self {
            own: LocalBreaker::new(plan),
            way: AtomicU64::new(OWN),
            mirror: Mutex::new(Mirror::new(plan, options, is_up)),
            told_opened: AtomicU64::new(0),
            bell: Bell::default(),
            closed: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            probes_leased: AtomicU64::new(0),
        }
    }

    /// The ticket of a call that is admitted because all is closed: all that most calls ask.
    #[inline]
    pub(in crate::ledger::shared) fn admit_closed(&self, now: Instant) -> Option<Ticket> {
        if self.way.load(Ordering::Acquire) == OWN { self.own.admit_closed(now) } else { None }
    }

    pub(in crate::ledger::shared) fn admit(&self, now: Instant) -> Admission {
        match self.way.load(Ordering::Acquire) {
            OWN => return self.admit_alone(now),
            until if now.as_nanos() < until => {
                self.bell.ring_once();
                return Admission::Refused { until: Instant::from_nanos(until) };
            }
            _ => {}
        }
        let (door, wanted) = self.with_mirror(|mirror| {
            let before = mirror.wanted;
            (mirror.admit(now), mirror.wanted && !before)
        });
        // A lease that is wanted now, or that was used up, is asked for at once.
        if wanted || matches!(door, Door::Admitted(_)) {
            self.bell.ring();
        } else {
            self.bell.ring_once();
        }
        match door {
            Door::Own => self.admit_alone(now),
            Door::Admitted(ticket) => Admission::Admitted(ticket),
            Door::Refused(until) => Admission::Refused { until },
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
        if Hand::is_from_here(ticket) {
            self.with_mirror(|mirror| mirror.report(now, ticket, report));
            return self.bell.ring();
        }
        self.own.report(now, ticket, report, entropy);
        if self.own.opened() == self.told_opened.load(Ordering::Acquire) {
            self.bell.ring_once();
        } else {
            self.bell.ring();
        }
    }

    /// The state of the breaker that the next call asks.
    pub(in crate::ledger::shared) fn state(&self, now: Instant) -> StateKind {
        self.with_mirror(|mirror| mirror.state(&self.own, now))
    }

    /// The number of times that it opened, whether this process or another saw the failures.
    pub(in crate::ledger::shared) fn opened(&self) -> u64 {
        self.own.opened()
    }

    /// The number of moves that other processes caused.
    pub(in crate::ledger::shared) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// The probes that the store has granted.
    pub(in crate::ledger::shared) fn probes_leased(&self) -> u64 {
        self.probes_leased.load(Ordering::Relaxed)
    }

    pub(in crate::ledger::shared) fn is_away(&self) -> bool {
        self.with_mirror(|mirror| mirror.is_away())
    }

    /// Ends the sharing: the watcher gives back what it can.
    pub(in crate::ledger::shared) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.bell.ring();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The time at which the store should be asked, if it was asked last at `asked`.
    pub(super) fn due(&self, asked: Instant) -> Option<Instant> {
        let called = self.bell.is_rung();
        self.with_mirror(|mirror| mirror.due(&self.own, asked, called))
    }

    pub(super) fn request(&self, now: Instant) -> Request {
        let called = self.bell.is_rung();
        self.bell.looked();
        self.with_mirror(|mirror| mirror.request(&self.own, now, called, &mut OsEntropy))
    }

    pub(super) fn last_request(&self) -> Option<Request> {
        self.with_mirror(Mirror::retire)
    }

    /// The store has answered. A move that this process has not caused.
    pub(super) fn adopt(&self, exchange: &Exchange<'_>) -> Option<Heard> {
        let heard = self.with_mirror(|mirror| mirror.adopt(&self.own, exchange, &mut OsEntropy));
        let granted = exchange.answer.lease.is_some();
        self.heard.fetch_add(u64::from(heard.is_some()), Ordering::Relaxed);
        self.probes_leased.fetch_add(u64::from(granted), Ordering::Relaxed);
        heard
    }

    pub(super) fn went_away(&self, now: Instant) {
        self.with_mirror(|mirror| mirror.went_away(now, &mut OsEntropy));
    }

    /// As the own breaker says, but for a probe that needs a lease.
    fn admit_alone(&self, now: Instant) -> Admission {
        let admission = self.own.admit(now);
        let probe = admission.ticket().filter(|ticket| ticket.is_probe());
        let Some(probe) = probe else { return admission };
        let Some(until) = self.with_mirror(|mirror| mirror.refuses_own_probe(now)) else {
            return admission;
        };
        self.own.report(now, probe, Report::Neutral, &mut OsEntropy);
        self.bell.ring_once();
        Admission::Refused { until }
    }

    /// Does something with the mirror, and publishes what calls may do then.
    fn with_mirror<T>(&self, act: impl FnOnce(&mut Mirror) -> T) -> T {
        let mut mirror = self.lock();
        let answer = act(&mut mirror);
        self.told_opened.store(mirror.told_opened, Ordering::Release);
        let way = match mirror.way() {
            Way::Own => OWN,
            Way::Ask => ASK,
            Way::RefusedUntil(until) => until.as_nanos().max(ASK),
        };
        self.way.store(way, Ordering::Release);
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Mirror> {
        // Nothing panics under the lock, and a mirror is whole between two calls.
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
