//! A process's copy of its fleet's breaker, and its answers to calls: plain state, told the time.

use stagger_core::breaker::{BreakerPlan, Report, StateKind, Ticket};
use stagger_core::{Instant, Span};

use super::held_leases::HeldLeases;
use super::script::{Finding, Place, Token};
use crate::ledger::breaker::LocalBreaker;
use crate::ledger::shared::{Away, SharedOptions};

/// The wait of a call that was refused for want of a lease: by then the store has answered.
const LOOK: Span = Span::from_millis(10);
/// The age at which an answer is out of date: as long as a registry remembers an idle breaker. So a
/// process that nobody called meanwhile, and that asked nobody, probes by itself.
const WORTH: Span = Span::from_secs(600);

/// The fleet's breaker as the store told it last.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) plan: BreakerPlan,
    pub(super) again: Span,
    /// Whether the process probes by itself while the store is away.
    pub(super) alone: bool,
    pub(super) place: Place,
    pub(super) seen: Seen,
    pub(super) open_time: Span,
    pub(super) heard_at: Option<Instant>,
    /// Since the store is away: from when on the process may decide alone.
    pub(super) away: Option<Instant>,
    /// Whether its own breaker decides instead of a fleet's that is open.
    pub(super) handed_over: bool,
    /// Whether the store does not know that the breaker is open.
    pub(super) forgotten: bool,
    pub(super) leases: HeldLeases,
    pub(super) results: Vec<(Token, Finding)>,
    /// Whether a call waits for a lease.
    pub(super) wanted: bool,
    pub(super) wish: Option<Token>,
    pub(super) wish_from: Instant,
    /// The number of times that the process's own breaker had opened when the store knew of it.
    pub(super) told_opened: u64,
}

/// The state of the fleet's breaker, in this process's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Closed,
    Open(Instant),
    HalfOpen,
}

/// The part that answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// The process's own breaker.
    Own,
    /// A probe that the store has granted.
    Admitted(Ticket),
    Refused(Instant),
}

/// The answer to calls that needs no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Own,
    RefusedUntil(Instant),
    Ask,
}

impl Replica {
    pub(super) fn new(plan: BreakerPlan, options: &SharedOptions, is_up: bool) -> Self {
        Self {
            plan,
            again: options.again(),
            alone: matches!(options.away(), Away::Local { .. }),
            place: Place::default(),
            seen: Seen::Closed,
            open_time: plan.open_time(),
            heard_at: None,
            away: if is_up { None } else { Some(Instant::ORIGIN) },
            handed_over: false,
            forgotten: false,
            leases: HeldLeases::new(),
            results: Vec::new(),
            wanted: false,
            wish: None,
            wish_from: Instant::ORIGIN,
            told_opened: 0,
        }
    }

    /// Chooses the part that answers a call at `now`.
    pub(super) fn admit(&mut self, now: Instant) -> Door {
        match self.seen {
            Seen::Closed => return Door::Own,
            _ if self.handed_over => return Door::Own,
            Seen::Open(until) if now < until => return Door::Refused(until),
            _ => {}
        }
        if let Some(ticket) = self.leases.admit(now) {
            self.wanted = false;
            return Door::Admitted(ticket);
        }
        self.wanted = true;
        match self.away {
            Some(_) if !self.alone => Door::Refused(now + self.again),
            Some(own) if now < own => Door::Refused(own),
            None if self.is_worth(now) => Door::Refused(now.max(self.wish_from) + LOOK),
            _ => {
                self.handed_over = true;
                Door::Own
            }
        }
    }

    /// The time to look again, where the own breaker must not probe: before the store has heard that it
    /// opened, or without the store where nobody decides alone.
    pub(super) fn refuses_own_probe(&self, now: Instant) -> Option<Instant> {
        match self.away {
            _ if self.handed_over => None,
            Some(_) if self.alone => None,
            Some(_) => Some(now + self.again),
            None => Some(now + LOOK),
        }
    }

    pub(super) const fn way(&self) -> Way {
        match self.seen {
            Seen::Closed => Way::Own,
            _ if self.handed_over => Way::Own,
            Seen::Open(until) => Way::RefusedUntil(until),
            Seen::HalfOpen => Way::Ask,
        }
    }

    /// Takes the result of a probe that the store has granted.
    pub(super) fn report(&mut self, now: Instant, ticket: Ticket, report: Report) {
        let Some(token) = self.leases.end(now, ticket) else { return };
        let finding = match self.plan.judge(report, now - ticket.admitted_at()) {
            None => Finding::Nothing,
            Some(call) if call.failed || call.slow => Finding::Bad,
            Some(_) => Finding::Good,
        };
        self.results.push((token, finding));
    }

    pub(super) const fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// The state of the breaker that the next call asks.
    pub(super) fn state(&self, local: &LocalBreaker, now: Instant) -> StateKind {
        match self.seen {
            Seen::Closed => local.state(now),
            _ if self.handed_over => local.state(now),
            Seen::Open(until) if now < until => StateKind::Open,
            _ => StateKind::HalfOpen,
        }
    }

    fn is_worth(&self, now: Instant) -> bool {
        self.heard_at.is_some_and(|heard| now - heard < WORTH)
    }
}
