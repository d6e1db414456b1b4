//! Attempts on their way: sent, received by the backend or an inner layer, answered, and given up.

use stagger_core::retry::{Launched, Session};
use stagger_core::{Cause, Instant, Outcome, Verdict};

use super::callers::{Callers, SendState};
use super::slab::{AttemptInFlight, CallIdentity, NOWHERE, Ticket};
use super::traffic::Traffic;
use crate::queue::{CallerEvent, Queue};
use crate::server::{Admission, Placement, QueuedAttempt, REFUSED};

impl<'a, Q: Queue> Callers<'a, Q> {
    /// An attempt sets out.
    #[inline]
    pub(super) fn launch(
        &mut self,
        now: Instant,
        who: &mut CallIdentity,
        session: &Session<'a>,
        launched: Launched,
    ) -> SendState {
        let number = launched.attempt.number;
        let give_up = launched.attempt.timeout.map_or(Instant::FAR, |limit| now + limit);
        let last = self.plan.calls_backend(who.layer);
        if last && self.at_once {
            self.score.attempt(who.id, number, self.is_bystander(who.layer));
            match self.traffic.backend.receive(now, who.shard, who.id, number) {
                Admission::Answer(at, outcome) if at <= now => {
                    if outcome.verdict == Verdict::Ok {
                        let wanted = who.parent.is_none_or(|outer| self.slab.is_wanted(outer));
                        self.score.finished(wanted);
                    }
                    return SendState::Answered(outcome);
                }
                admission => {
                    let ticket = self.take_off(who, session, launched, false);
                    self.expect_timeout(ticket, give_up);
                    self.received(now, who.shard, ticket, give_up, admission);
                }
            }
            return SendState::UnderWay;
        }
        let process = who.client % self.plan.fleet.processes.max(1);
        let connected = last && self.connections.take(process);
        let ticket = self.take_off(who, session, launched, connected);
        self.expect_timeout(ticket, give_up);
        if !last {
            self.queue.push(Traffic::reach(now, ticket, None, give_up, false));
        } else if connected {
            self.set_out(now, ticket, (who.shard, who.layer), give_up);
        } else {
            self.connections.wait(process, ticket, give_up);
        }
        SendState::UnderWay
    }

    /// Keeps the caller with its attempt under way.
    fn take_off(
        &mut self,
        who: &mut CallIdentity,
        session: &Session<'a>,
        launched: Launched,
        connected: bool,
    ) -> Ticket {
        self.slab.keep(who, session.detach());
        let ticket = Ticket { id: who.id, slot: who.slot, number: launched.attempt.number };
        if let Some(kept) = self.slab.get(who.slot, who.id) {
            kept.flights.push(AttemptInFlight { launched, since: self.score.now(), connected });
        }
        ticket
    }

    /// An attempt is on its way to the backend.
    fn set_out(&mut self, now: Instant, ticket: Ticket, place: (u32, u8), give_up: Instant) {
        let at = now + self.traffic.there(ticket.id, ticket.number);
        let other = self.is_bystander(place.1);
        self.queue.push(Traffic::reach(at, ticket, Some(place.0), give_up, other));
    }

    fn expect_timeout(&mut self, ticket: Ticket, give_up: Instant) {
        if give_up != Instant::FAR {
            self.queue.push(Traffic::timeout(give_up, ticket));
        }
    }

    /// An attempt is where it was sent to, one layer further in; nothing is there for a caller who
    /// has gone in the same instant.
    pub(super) fn reach_inner(&mut self, now: Instant, ticket: Ticket) {
        debug_assert_eq!(now, self.score.now(), "inner layers are reached at once");
        let Some(kept) = self.slab.get(ticket.slot, ticket.id) else { return };
        let CallIdentity { layer, source, shard, client, .. } = kept.who;
        let (id, layer) = (self.inner, layer + 1);
        self.inner += 1;
        let ledger = self.ledgers.number(layer, id, shard);
        let parent = Some(ticket);
        self.begin_call(CallIdentity {
            id,
            client,
            slot: NOWHERE,
            layer,
            source,
            shard,
            ledger,
            parent,
        });
    }

    /// An attempt is where it was sent to, whether or not its caller still waits.
    pub(super) fn reach_backend(
        &mut self,
        now: Instant,
        ticket: Ticket,
        shard: u32,
        event: CallerEvent,
    ) {
        self.score.attempt(ticket.id, ticket.number, Traffic::is_of_others(event));
        let admission = self.traffic.backend.receive(now, shard, ticket.id, ticket.number);
        self.received(now, shard, ticket, Instant::from_nanos(event.words()[1]), admission);
    }

    /// Handles the backend's admission of an attempt whose caller is kept.
    fn received(
        &mut self,
        now: Instant,
        shard: u32,
        ticket: Ticket,
        give_up: Instant,
        admission: Admission,
    ) {
        match admission {
            Admission::Silence => {}
            Admission::Answer(at, outcome) => self.answer(now, ticket, at, outcome),
            Admission::Enter => {
                let Ticket { id, slot, number } = ticket;
                let job = QueuedAttempt { id, slot, number, give_up };
                match self.traffic.backend.enter(now, shard, job) {
                    Placement::Started(end) => self.queue.push(Traffic::finish(end, &job, shard)),
                    Placement::Queued => self.score.track.enqueue(),
                    Placement::Refused => self.answer(now, ticket, now, REFUSED),
                    Placement::Dropped => {}
                }
            }
        }
    }

    /// The backend answers at `at`, and the answer takes its way back.
    pub(super) fn answer(&mut self, now: Instant, ticket: Ticket, at: Instant, outcome: Outcome) {
        let arrives = at + self.traffic.back(ticket.id, ticket.number);
        if arrives <= now {
            return self.hear(now, ticket, outcome);
        }
        self.queue.push(Traffic::reply(arrives, ticket, &outcome));
    }

    /// An answer of the backend is where its caller was.
    pub(super) fn hear(&mut self, now: Instant, ticket: Ticket, outcome: Outcome) {
        if outcome.verdict == Verdict::Ok {
            let wanted = self.slab.is_wanted(ticket);
            self.score.finished(wanted);
        }
        self.hear_inner(now, ticket, outcome);
    }

    /// An answer, the backend's or an inner layer's, is where its caller was.
    pub(super) fn hear_inner(&mut self, now: Instant, ticket: Ticket, outcome: Outcome) {
        if let Some(flight) = self.land(now, ticket) {
            self.settle(now, ticket, &flight, &outcome);
        }
    }

    /// A caller gives up on an attempt, if it still waits for it.
    pub(super) fn time_out(&mut self, now: Instant, ticket: Ticket) {
        if let Some(flight) = self.land(now, ticket) {
            let outcome = Outcome::new(Verdict::Transient).with_cause(Cause::Timeout);
            self.settle(now, ticket, &flight, &outcome);
        }
    }

    /// The attempt is no longer under way, if it still was.
    fn land(&mut self, now: Instant, ticket: Ticket) -> Option<AttemptInFlight> {
        let kept = self.slab.get(ticket.slot, ticket.id)?;
        let mut flights = kept.flights.iter();
        let index = flights.position(|flight| flight.launched.attempt.number == ticket.number)?;
        let (flight, client) = (kept.flights.swap_remove(index), kept.who.client);
        self.let_go(now, client, &flight);
        Some(flight)
    }

    /// Gives the connection of an attempt to the next attempt that waits for one.
    pub(super) fn let_go(&mut self, now: Instant, client: u32, flight: &AttemptInFlight) {
        if !flight.connected || self.connections.are_free() {
            return;
        }
        let process = client % self.plan.fleet.processes.max(1);
        let slab = &mut *self.slab;
        if let Some((next, give_up)) =
            self.connections.release(process, |ticket| slab.connect(ticket))
        {
            let place = slab
                .get(next.slot, next.id)
                .map_or((0, 0), |kept| (kept.who.shard, kept.who.layer));
            self.set_out(now, next, place, give_up);
        }
    }
}
