//! A process's own breaker follows its fleet's, so that it stands where that stood when it has to decide alone.
//!
//! It is moved by what moves it otherwise, trips and probes: so its open time grows as the fleet's does,
//! and results from before a move are stale after it.

use stagger_core::breaker::{Breaker, Report, StateKind, Ticket, Transition, Trip};
use stagger_core::{Entropy, Instant};

use crate::ledger::breaker::LocalBreaker;

/// More steps than it takes to close: a plan has at most 100 probes, and as many may be under way.
const STEPS: u32 = 400;

/// Opens what is closed. How often it has opened then.
pub(super) fn open(local: &LocalBreaker, now: Instant, entropy: &mut impl Entropy) -> u64 {
    local.with_machine(now, |machine| {
        let moved = machine.trip(now, machine.generation(), Trip::Probe, entropy);
        local.note(moved);
        local.opened()
    })
}

/// Opens again what is open or half-open, as if a probe had failed. How often it has opened then.
pub(super) fn reopen(local: &LocalBreaker, now: Instant, entropy: &mut impl Entropy) -> u64 {
    local.with_machine(now, |machine| {
        if !is_closed(machine, now) {
            local.note(probe(machine, now, Report::Failure, entropy));
        }
        local.opened()
    })
}

/// Closes, as if all probes had been good. How often it has opened then.
pub(super) fn close(local: &LocalBreaker, now: Instant) -> u64 {
    local.with_machine(now, |machine| {
        for _ in 0..STEPS {
            if is_closed(machine, now) {
                break;
            }
            local.note(probe(machine, now, Report::Success, &mut || 0));
        }
        local.opened()
    })
}

/// Makes a probe whose end is known. One that is not due yet, or has no room, is made when it will
/// have: until it is reported, time is no part of a half-open breaker but for its leases.
fn probe(
    machine: &mut Breaker,
    now: Instant,
    report: Report,
    entropy: &mut impl Entropy,
) -> Option<Transition> {
    let ticket = probe_ticket(machine, now)?;
    machine.report(now, ticket, report, entropy)
}

fn probe_ticket(machine: &mut Breaker, now: Instant) -> Option<Ticket> {
    let mut at = now;
    for _ in 0..STEPS {
        match machine.admit(at) {
            stagger_core::breaker::Admission::Admitted(ticket) => return Some(ticket),
            stagger_core::breaker::Admission::Refused { until } => at = at.max(until),
        }
    }
    None
}

fn is_closed(machine: &Breaker, now: Instant) -> bool {
    matches!(machine.state(now), StateKind::Closed | StateKind::Ramp)
}
