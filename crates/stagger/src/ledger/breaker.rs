//! One destination's breaker, asked by many threads.

use stagger_core::breaker::{
    Admission, Breaker, BreakerPlan, Counts, Report, StateKind, Ticket, Transition, Trip,
    WindowKind,
};
use stagger_core::{Entropy, Instant, Span};

use super::result_window::{ResultWindow, Turn};
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};

/// The engine's breaker behind a lock, and what it takes to leave the lock alone while it is closed.
///
/// Closed, an admission reads one word, and a result is counted in a [`ResultWindow`]; the one that breaks
/// a rule takes the lock and moves the machine. Open, refusals read two words. A half-open breaker
/// is asked under the lock, so its probes are exactly as many as planned. So is the gate of a ramp,
/// and the whole of a breaker that counts a number of calls, or minds slow ones.
#[derive(Debug)]
pub(super) struct LocalBreaker {
    plan: BreakerPlan,
    /// Whether results are counted in `window`, or by the machine.
    counted: bool,
    /// The generation above, the [kind](kind) below.
    packed_state: AtomicU64,
    /// The end of the open time, or of the ramp, in nanoseconds.
    until: AtomicU64,
    window: ResultWindow,
    /// The generation's lower half above, its failures in a row below.
    row: AtomicU64,
    /// The number of times that it opened.
    opened: AtomicU64,
    machine: Mutex<Breaker>,
}

/// The state that calls may act on without the lock.
mod kind {
    /// Admit everybody, count results.
    pub(super) const CLOSED: u64 = 0;
    /// Count results until the ramp ends.
    pub(super) const RAMP: u64 = 1;
    /// Refuse everybody until the open time ends.
    pub(super) const OPEN: u64 = 2;
    /// Nothing.
    pub(super) const LOCKED: u64 = 3;
    /// The bits of a gate that hold it.
    pub(super) const BITS: u64 = 3;
}

/// Why a result could not be counted without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    /// The window has to move on.
    Turn,
    /// Time has moved the machine: count when it knows.
    Wake,
    /// The machine counts itself.
    Machine,
}

impl LocalBreaker {
    pub(super) fn new(plan: BreakerPlan) -> Self {
        let window = match plan.window() {
            WindowKind::Time(window) if plan.slow_calls().is_none() => Some(window),
            _ => None,
        };
        let kind = if window.is_some() { kind::CLOSED } else { kind::LOCKED };
        Self {
            plan,
            counted: window.is_some(),
            packed_state: AtomicU64::new(gate(0, kind)),
            until: AtomicU64::new(0),
            window: ResultWindow::new(window.unwrap_or(Span::ZERO)),
            row: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            machine: Mutex::new(Breaker::new(plan)),
        }
    }

    /// The ticket of a call that is admitted because the breaker is closed: all that most calls ask.
    #[inline]
    pub(super) fn admit_closed(&self, now: Instant) -> Option<Ticket> {
        let gate = self.packed_state.load(Ordering::Acquire);
        let closed = gate & kind::BITS == kind::CLOSED;
        closed.then(|| Ticket::of_closed(generation(gate), now))
    }

    pub(super) fn admit(&self, now: Instant) -> Admission {
        let gate = self.packed_state.load(Ordering::Acquire);
        if gate & kind::BITS == kind::CLOSED {
            return Admission::Admitted(Ticket::of_closed(generation(gate), now));
        }
        if gate & kind::BITS == kind::OPEN {
            if let Some(until) = self.shut(gate, now) {
                return Admission::Refused { until };
            }
        }
        self.with_machine(now, |machine| machine.admit(now))
    }

    /// A ticket counts once; its holder reports it once.
    #[inline]
    pub(super) fn report(
        &self,
        now: Instant,
        ticket: Ticket,
        report: Report,
        entropy: &mut dyn Entropy,
    ) {
        while let Some(obstacle) = self.count(now, ticket, report, entropy) {
            if obstacle == Obstacle::Machine {
                return self.tell_machine(now, ticket, report, entropy);
            }
            self.clear_away(obstacle, now);
        }
    }

    pub(super) fn state(&self, now: Instant) -> StateKind {
        self.lock().state(now)
    }

    /// Opens until `until`, whatever its state.
    pub(super) fn reopen(&self, now: Instant, until: Instant, open_time: Span) {
        self.with_machine(now, |machine| machine.reopen(until, open_time));
    }

    /// Closes as if all probes had succeeded.
    pub(super) fn reclose(&self, now: Instant) {
        self.with_machine(now, |machine| {
            let _ = machine.reclose(now);
        });
    }

    /// The end of the open time, while it is open, and the length of the open time.
    pub(super) fn open_times(&self, now: Instant) -> (Option<Instant>, Span) {
        let machine = self.lock();
        (machine.open_until(now), machine.open_time())
    }

    /// The number of times that it opened.
    pub(super) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Counts a result that counts for something, unless an obstacle is in the way.
    #[inline]
    fn count(
        &self,
        now: Instant,
        ticket: Ticket,
        report: Report,
        entropy: &mut dyn Entropy,
    ) -> Option<Obstacle> {
        // In this order: a generation that is current after the turn was read, and a slot that is
        // still that turn's, belong together.
        let turn = self.window.turn();
        let gate = self.packed_state.load(Ordering::Acquire);
        let kind = gate & kind::BITS;
        if kind == kind::LOCKED {
            return Some(Obstacle::Machine);
        }
        if kind != kind::CLOSED && now.as_nanos() >= self.until.load(Ordering::Acquire) {
            return Some(Obstacle::Wake);
        }
        if kind == kind::OPEN || ticket.generation() != generation(gate) {
            return None;
        }
        let failed = self.plan.judge(report, now - ticket.admitted_at())?.failed;
        let Some(counts) = self.window.record(now, turn, failed) else {
            return Some(Obstacle::Turn);
        };
        let counts = self.completed(counts, turn);
        let row = self.count_row(generation(gate), failed);
        if let Some(trip) = self.plan.broken_by(counts, row) {
            self.trip(now, generation(gate), trip, entropy);
        }
        None
    }

    /// The counts with the successes that are in stripes, where those matter: they break no rule by
    /// themselves, and where enough calls break none, more successes do not either.
    #[inline]
    fn completed(&self, counts: Counts, turn: Turn) -> Counts {
        let enough = counts.calls >= self.plan.minimum_calls();
        let unbroken = || self.plan.broken_by(counts, 0).is_none();
        if counts.failures == 0 || (enough && unbroken()) {
            return counts;
        }
        // OK because both are below 2^28.
        Counts { calls: counts.calls + self.window.in_stripes(turn), ..counts }
    }

    #[cold]
    fn clear_away(&self, obstacle: Obstacle, now: Instant) {
        self.with_machine(now, |_| {
            if obstacle == Obstacle::Turn {
                self.window.turn_to(now);
                self.window.restart_stripe();
            }
        });
    }

    /// The end of the open time, if `gate` is still the gate and the end has not come.
    fn shut(&self, gate: u64, now: Instant) -> Option<Instant> {
        let until = Instant::from_nanos(self.until.load(Ordering::Acquire));
        (now < until && self.packed_state.load(Ordering::Acquire) == gate).then_some(until)
    }

    /// The failures in a row, this one included; those of another generation are left alone.
    fn count_row(&self, generation: u64, failed: bool) -> u32 {
        if self.plan.consecutive().is_none() {
            return 0;
        }
        let mut length = 0;
        let _ = self.row.fetch_update(Ordering::AcqRel, Ordering::Acquire, |row| {
            let before = row & LOWER;
            length = if failed { (before + 1).min(LOWER) } else { 0 };
            let ours = row >> 32 == generation & LOWER;
            (ours && length != before).then_some(row - before + length)
        });
        u32::try_from(length).unwrap_or(u32::MAX)
    }

    #[cold]
    fn trip(&self, now: Instant, generation: u64, trip: Trip, entropy: &mut dyn Entropy) {
        self.with_machine(now, |machine| {
            let moved = machine.trip(now, generation, trip, &mut || entropy.next_u64());
            self.note(moved);
        });
    }

    #[cold]
    fn tell_machine(
        &self,
        now: Instant,
        ticket: Ticket,
        report: Report,
        entropy: &mut dyn Entropy,
    ) {
        self.with_machine(now, |machine| {
            let moved = machine.report(now, ticket, report, &mut || entropy.next_u64());
            self.note(moved);
        });
    }

    fn note(&self, moved: Option<Transition>) {
        if let Some(Transition::Opened { .. }) = moved {
            self.opened.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Does something with the machine as it stands at `now`, and publishes where it stands then.
    fn with_machine<T>(&self, now: Instant, act: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut machine = self.lock();
        machine.wake(now);
        let answer = act(&mut machine);
        self.publish(&machine, now);
        answer
    }

    /// Called with the lock held, after the machine was woken at `now`.
    fn publish(&self, machine: &Breaker, now: Instant) {
        let (kind, until) = match machine.state(now) {
            StateKind::Open => (kind::OPEN, machine.open_until(now)),
            StateKind::Closed if self.counted => (kind::CLOSED, None),
            StateKind::Ramp if self.counted => (kind::RAMP, machine.ramp_until(now)),
            _ => (kind::LOCKED, None),
        };
        let before = self.packed_state.load(Ordering::Relaxed);
        let after = gate(machine.generation(), kind);
        if before == after {
            return;
        }
        if matches!(kind, kind::CLOSED | kind::RAMP) && generation(before) != generation(after) {
            self.window.clear();
            self.row.store(generation(after) << 32, Ordering::Release);
        }
        if let Some(until) = until {
            self.until.store(until.as_nanos(), Ordering::Release);
        }
        self.packed_state.store(after, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        // The engine does not panic, and its breaker is whole between two calls.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const LOWER: u64 = u32::MAX as u64;

/// A gate of this generation and kind. Generations beyond 2^62 are out of any breaker's reach.
const fn gate(generation: u64, kind: u64) -> u64 {
    (generation << 2) | kind
}

const fn generation(gate: u64) -> u64 {
    gate >> 2
}
