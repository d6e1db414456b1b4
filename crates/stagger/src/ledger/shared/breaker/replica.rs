//! A process's copy of its fleet's breaker, and its answers to calls: plain state without a clock.

use stagger_core::breaker::{BreakerPlan, Report, StateKind, Ticket};
use stagger_core::{Instant, Span};

use super::held_leases::HeldLeases;
use super::script::{BreakerVersion, ProbeResult, Token};
use crate::ledger::breaker::LocalBreaker;
use crate::ledger::shared::{SharedOptions, StoreFallback};

/// The wait of a call that was refused for want of a lease: by then the store has answered.
const LOOK: Span = Span::from_millis(10);
/// The age at which an answer is out of date: as long as a registry remembers an idle breaker. So a
/// process without calls meanwhile, which asked nothing, probes by itself.
const WORTH: Span = Span::from_secs(600);

/// The fleet's breaker as the store reported it last.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) plan: BreakerPlan,
    pub(super) again: Span,
    /// Whether the process probes by itself while the store is unreachable.
    pub(super) alone: bool,
    pub(super) version: BreakerVersion,
    pub(super) known: KnownState,
    pub(super) open_time: Span,
    pub(super) answered_at: Option<Instant>,
    /// Since the store is unreachable: from when on the process may decide alone.
    pub(super) alone_from: Option<Instant>,
    /// Whether its own breaker decides instead of a fleet's that is open.
    pub(super) handed_over: bool,
    /// Whether the store does not know that the breaker is open.
    pub(super) forgotten: bool,
    pub(super) leases: HeldLeases,
    pub(super) results: Vec<(Token, ProbeResult)>,
    /// Whether a call waits for a lease.
    pub(super) wanted: bool,
    pub(super) wanted_probe: Option<Token>,
    pub(super) ask_from: Instant,
    /// The number of times that the process's own breaker had opened when the store knew of it.
    pub(super) reported_opened: u64,
}

/// The state of the fleet's breaker, in this process's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownState {
    Closed,
    Open(Instant),
    HalfOpen,
}

/// The part that answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FleetAdmission {
    /// The process's own breaker.
    OwnBreaker,
    /// A probe that the store has granted.
    Admitted(Ticket),
    Refused(Instant),
}

/// The answer to calls that needs no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FastAnswer {
    OwnBreaker,
    RefusedUntil(Instant),
    AskReplica,
}

impl Replica {
    pub(super) fn new(plan: BreakerPlan, options: &SharedOptions, is_up: bool) -> Self {
        Self {
            plan,
            again: options.again(),
            alone: matches!(options.fallback(), StoreFallback::Local { .. }),
            version: BreakerVersion::default(),
            known: KnownState::Closed,
            open_time: plan.open_time(),
            answered_at: None,
            alone_from: if is_up { None } else { Some(Instant::ORIGIN) },
            handed_over: false,
            forgotten: false,
            leases: HeldLeases::new(),
            results: Vec::new(),
            wanted: false,
            wanted_probe: None,
            ask_from: Instant::ORIGIN,
            reported_opened: 0,
        }
    }

    /// Chooses the part that answers a call at `now`.
    pub(super) fn admit(&mut self, now: Instant) -> FleetAdmission {
        match self.known {
            KnownState::Closed => return FleetAdmission::OwnBreaker,
            _ if self.handed_over => return FleetAdmission::OwnBreaker,
            KnownState::Open(until) if now < until => return FleetAdmission::Refused(until),
            _ => {}
        }
        if let Some(ticket) = self.leases.admit(now) {
            self.wanted = false;
            return FleetAdmission::Admitted(ticket);
        }
        self.wanted = true;
        match self.alone_from {
            Some(_) if !self.alone => FleetAdmission::Refused(now + self.again),
            Some(own) if now < own => FleetAdmission::Refused(own),
            None if self.is_worth(now) => FleetAdmission::Refused(now.max(self.ask_from) + LOOK),
            _ => {
                self.handed_over = true;
                FleetAdmission::OwnBreaker
            }
        }
    }

    /// The time to look again, where the own breaker must not probe: before the store has moved that it
    /// opened, or without the store where no process decides alone.
    pub(super) fn refuses_own_probe(&self, now: Instant) -> Option<Instant> {
        match self.alone_from {
            _ if self.handed_over => None,
            Some(_) if self.alone => None,
            Some(_) => Some(now + self.again),
            None => Some(now + LOOK),
        }
    }

    pub(super) const fn fast_answer(&self) -> FastAnswer {
        match self.known {
            KnownState::Closed => FastAnswer::OwnBreaker,
            _ if self.handed_over => FastAnswer::OwnBreaker,
            KnownState::Open(until) => FastAnswer::RefusedUntil(until),
            KnownState::HalfOpen => FastAnswer::AskReplica,
        }
    }

    /// Takes the result of a probe that the store has granted.
    pub(super) fn report(&mut self, now: Instant, ticket: Ticket, report: Report) {
        let Some(token) = self.leases.end(now, ticket) else { return };
        let result = match self.plan.judge(report, now - ticket.admitted_at()) {
            None => ProbeResult::Nothing,
            Some(call) if call.failed || call.slow => ProbeResult::Bad,
            Some(_) => ProbeResult::Good,
        };
        self.results.push((token, result));
    }

    pub(super) const fn is_store_down(&self) -> bool {
        self.alone_from.is_some()
    }

    /// The state of the breaker that the next call asks.
    pub(super) fn state(&self, local: &LocalBreaker, now: Instant) -> StateKind {
        match self.known {
            KnownState::Closed => local.state(now),
            _ if self.handed_over => local.state(now),
            KnownState::Open(until) if now < until => StateKind::Open,
            _ => StateKind::HalfOpen,
        }
    }

    fn is_worth(&self, now: Instant) -> bool {
        self.answered_at.is_some_and(|answered| now - answered < WORTH)
    }
}
