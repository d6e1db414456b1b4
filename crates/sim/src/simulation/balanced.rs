//! Attempts at servers behind a balancer: the choice of a server, and the answers that the balancer hears.

use stagger_core::{Instant, Outcome};

use super::callers::Callers;
use super::slab::{AttemptInFlight, CallIdentity, Ticket};
use crate::queue::Queue;

impl<Q: Queue> Callers<'_, Q> {
    /// The place of an attempt at the backend: the shard of its call, or a server of the balancer's.
    #[inline]
    pub(super) fn place(&mut self, now: Instant, who: &mut CallIdentity, number: u32) -> u32 {
        let Some(balancer) = self.traffic.backend.balancer() else { return who.shard };
        let server = balancer.choose(now, (who.id, number), who.last_server);
        who.last_server = balancer.remembers().then_some(server);
        server
    }

    /// The place of an attempt that was on its way, whether or not its caller still waits.
    #[inline]
    pub(super) fn place_sent(&mut self, now: Instant, ticket: Ticket, shard: u32) -> u32 {
        let Some(balancer) = self.traffic.backend.balancer() else { return shard };
        let kept = self.slab.get(ticket.slot, ticket.id);
        let last = kept.and_then(|kept| kept.who.last_server);
        let server = balancer.choose(now, (ticket.id, ticket.number), last);
        self.begin_at_server(ticket, server);
        server
    }

    /// An attempt is under way at a server, if its caller still waits for it.
    #[inline]
    pub(super) fn begin_at_server(&mut self, ticket: Ticket, server: u32) {
        let Some(balancer) = self.traffic.backend.balancer() else { return };
        let last = balancer.remembers().then_some(server);
        if self.slab.place(ticket, server, last) {
            balancer.begin(server);
        }
    }

    /// A server answered an attempt as soon as it was made.
    #[inline]
    pub(super) fn answered_at_once(&mut self, now: Instant, server: u32, outcome: &Outcome) {
        if let Some(balancer) = self.traffic.backend.balancer() {
            balancer.heard(now, server, outcome);
        }
    }

    /// The balancer hears the outcome of an attempt, a timeout among them.
    #[inline]
    pub(super) fn tell_balancer(
        &mut self,
        now: Instant,
        flight: &AttemptInFlight,
        outcome: &Outcome,
    ) {
        if let (Some(server), Some(balancer)) = (flight.server, self.traffic.backend.balancer()) {
            balancer.heard(now, server, outcome);
        }
    }

    /// An attempt is no longer under way.
    #[inline]
    pub(super) fn left(&mut self, flight: &AttemptInFlight) {
        if let (Some(server), Some(balancer)) = (flight.server, self.traffic.backend.balancer()) {
            balancer.end(server);
        }
    }
}
