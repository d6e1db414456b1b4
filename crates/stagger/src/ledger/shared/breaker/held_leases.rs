//! The probes that a process may make, each on a lease of the store.

use stagger_core::breaker::{Breaker, BreakerPlan, Report, Ticket};
use stagger_core::{Instant, Span};

use super::script::Token;

/// The generation of every ticket from here. A process's own breaker begins closed, so its probes
/// are of the second generation or a later one.
const GENERATION: u64 = 1;
/// As many as a plan may have.
const MOST: u32 = 100;

/// The leases that a process holds.
#[derive(Debug)]
pub(super) struct HeldLeases {
    /// Half-open for ever: it makes the tickets, each with a number of its own.
    mint: Breaker,
    free: Option<Lease>,
    under_way: Vec<(Ticket, Lease)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) token: Token,
    /// The time at which the process asked for it: the store's lease ends a little later.
    pub(super) since: Instant,
    pub(super) ends: Instant,
}

impl HeldLeases {
    pub(super) fn new() -> Self {
        let plan = BreakerPlan::builder().probes(MOST).lease(Span::MAX).build();
        let plan = plan.expect("a hundred probes and a lease of centuries are in bounds");
        let mint = Breaker::reopened(plan, Instant::ORIGIN, Span::ZERO);
        Self { mint, free: None, under_way: Vec::new() }
    }

    /// Whether this ticket is of a probe that the store has granted.
    pub(super) const fn is_from_here(ticket: Ticket) -> bool {
        ticket.is_probe() && ticket.generation() == GENERATION
    }

    /// Takes up a lease.
    pub(super) fn hold(&mut self, lease: Lease) {
        self.free = Some(lease);
    }

    /// The lease that no probe uses yet.
    pub(super) const fn free(&self) -> Option<Lease> {
        self.free
    }

    /// Takes out the lease that no probe uses.
    pub(super) const fn take_free(&mut self) -> Option<Lease> {
        self.free.take()
    }

    /// The ticket of a probe, if there is a lease for it.
    pub(super) fn admit(&mut self, now: Instant) -> Option<Ticket> {
        self.lapse(now);
        let lease = self.free?;
        let ticket = self.mint.admit(now).ticket()?;
        self.free = None;
        self.under_way.push((ticket, lease));
        Some(ticket)
    }

    /// The probe of this ticket has ended: whose it was, unless its lease has ended before.
    pub(super) fn end(&mut self, now: Instant, ticket: Ticket) -> Option<Token> {
        self.lapse(now);
        let place = self.under_way.iter().position(|(known, _)| *known == ticket)?;
        let (ticket, lease) = self.under_way.swap_remove(place);
        give_back(&mut self.mint, now, ticket);
        Some(lease.token)
    }

    /// Forgets all leases: the breaker has moved on.
    pub(super) fn clear(&mut self, now: Instant) {
        self.free = None;
        for (ticket, _) in self.under_way.drain(..) {
            give_back(&mut self.mint, now, ticket);
        }
    }

    pub(super) fn lapse(&mut self, now: Instant) {
        self.free = self.free.filter(|lease| now < lease.ends);
        let mint = &mut self.mint;
        self.under_way.retain(|&(ticket, lease)| {
            let runs = now < lease.ends;
            if !runs {
                give_back(mint, now, ticket);
            }
            runs
        });
    }
}

fn give_back(mint: &mut Breaker, now: Instant, ticket: Ticket) {
    // It is half-open for ever: a neutral report moves nothing.
    let _ = mint.report(now, ticket, Report::Neutral, &mut || 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(second)
    }

    fn lease(token: Token, ends: u64) -> Lease {
        Lease { token, since: at(0), ends: at(ends) }
    }

    #[test]
    fn a_lease_is_one_probe_and_ends_by_itself() {
        let mut leases = HeldLeases::new();
        assert_eq!(leases.admit(at(1)), None);
        leases.hold(lease(7, 5));
        let ticket = leases.admit(at(4)).expect("leased");
        assert!(ticket.is_probe() && HeldLeases::is_from_here(ticket));
        assert_eq!(leases.admit(at(4)), None, "used");
        leases.hold(lease(8, 5));
        assert_eq!(leases.admit(at(5)), None, "over");
        assert_eq!(leases.end(at(5), ticket), None, "its lease is another's by now");
    }

    #[test]
    fn a_probe_ends_once_and_differs_from_those_before() {
        let mut leases = HeldLeases::new();
        leases.hold(lease(7, 5));
        let first = leases.admit(at(1)).expect("leased");
        leases.clear(at(1));
        leases.hold(lease(8, 5));
        let second = leases.admit(at(1)).expect("leased");
        assert_eq!(leases.end(at(1), first), None, "of a state before");
        assert_eq!(leases.end(at(1), second), Some(8));
        assert_eq!(leases.end(at(1), second), None);
    }

    #[test]
    fn more_probes_than_a_plan_has_find_a_ticket_one_after_the_other() {
        let mut leases = HeldLeases::new();
        for token in 1..=u64::from(3 * MOST) {
            leases.hold(lease(token, token + 1));
            assert!(leases.admit(at(token)).is_some(), "{token}");
        }
    }
}
