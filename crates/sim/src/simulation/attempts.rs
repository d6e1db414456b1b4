//! Outermost calls and their attempts: how they begin, are sent, received and answered, and ask the store
//! that processes lease permits from.

use stagger_core::retry::{Launched, Session};
use stagger_core::{Cause, Instant, Outcome, Verdict};

use super::callers::{Callers, SendState};
use super::slab::{AttemptInFlight, CallIdentity, NOWHERE, Ticket};
use super::traffic::Traffic;
use crate::ledgers::LeaseRequest;
use crate::plan::{Criticality, Propagation};
use crate::queue::{CallerEvent, Class, Queue};
use crate::server::{Admission, CrashLoss, Placement, QueuedAttempt, REFUSED};

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
        let give_up = give_up.min(self.end_of_outer(who));
        let last = self.plan.calls_backend(who.layer);
        if last && self.at_once {
            self.score.attempt(who.id, number, self.is_bystander(who.layer));
            let place = self.place(now, who, number);
            match self.traffic.backend.receive(now, place, who.id, number) {
                Admission::Answer(at, outcome) if at <= now => {
                    self.answered_at_once(now, place, &outcome);
                    if outcome.verdict == Verdict::Ok {
                        let wanted = who.parent.is_none_or(|outer| self.slab.is_wanted(outer));
                        self.score.finished(wanted);
                    }
                    return SendState::Answered(outcome);
                }
                // A caller that a full queue refuses need not be kept: of a large herd that is nearly all.
                Admission::Enter if self.traffic.backend.refuses_at_once(place) => {
                    self.answered_at_once(now, place, &REFUSED);
                    return SendState::Answered(REFUSED);
                }
                admission => {
                    let ticket = self.take_off(who, session, launched, (give_up, false));
                    self.expect_timeout(ticket, give_up);
                    self.begin_at_server(ticket, place);
                    let criticality = self.plan.caller(who.layer).criticality;
                    self.received(now, place, ticket, (give_up, criticality), admission);
                }
            }
            return SendState::UnderWay;
        }
        let process = who.client % self.plan.fleet.processes.max(1);
        let connected = last && self.connections.take(process);
        let ticket = self.take_off(who, session, launched, (give_up, connected));
        self.expect_timeout(ticket, give_up);
        if !last {
            let unmarked = (false, Criticality::Critical);
            self.queue.push(Traffic::reach(now, ticket, None, give_up, unmarked));
        } else if connected {
            self.set_out(now, ticket, (who.shard, who.layer), give_up);
        } else {
            self.connections.wait(process, ticket, give_up);
        }
        SendState::UnderWay
    }

    /// The instant at which the attempt that this call is made for ends, where the call knows it.
    #[inline]
    pub(super) fn end_of_outer(&mut self, who: &CallIdentity) -> Instant {
        if self.plan.propagation == Propagation::None {
            return Instant::FAR;
        }
        who.parent.map_or(Instant::FAR, |outer| self.slab.give_up(outer))
    }

    /// Keeps the caller with its attempt under way.
    fn take_off(
        &mut self,
        who: &mut CallIdentity,
        session: &Session<'a>,
        launched: Launched,
        (give_up, connected): (Instant, bool),
    ) -> Ticket {
        self.slab.keep(who, session.detach());
        let ticket = Ticket { id: who.id, slot: who.slot, number: launched.attempt.number };
        if let Some(kept) = self.slab.get(who.slot, who.id) {
            let since = self.score.now();
            kept.flights.push(AttemptInFlight {
                launched,
                since,
                give_up,
                connected,
                server: None,
            });
        }
        ticket
    }

    /// An attempt is on its way to the backend.
    fn set_out(&mut self, now: Instant, ticket: Ticket, place: (u32, u8), give_up: Instant) {
        let at = now + self.traffic.there(ticket.id, ticket.number);
        let marks = (self.is_bystander(place.1), self.plan.caller(place.1).criticality);
        self.queue.push(Traffic::reach(at, ticket, Some(place.0), give_up, marks));
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
            last_server: None,
            clicks: 0,
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
        let shard = self.place_sent(now, ticket, shard);
        let admission = self.traffic.backend.receive(now, shard, ticket.id, ticket.number);
        let give_up = Instant::from_nanos(event.words()[1]);
        let criticality = Traffic::criticality(event);
        self.received(now, shard, ticket, (give_up, criticality), admission);
    }

    /// Handles the backend's admission of an attempt whose caller is kept.
    fn received(
        &mut self,
        now: Instant,
        shard: u32,
        ticket: Ticket,
        (give_up, criticality): (Instant, Criticality),
        admission: Admission,
    ) {
        match admission {
            Admission::Silence => {}
            Admission::Answer(at, outcome) => self.answer(now, ticket, at, outcome),
            Admission::Enter => {
                let Ticket { id, slot, number } = ticket;
                let job = QueuedAttempt {
                    id,
                    slot,
                    number,
                    give_up,
                    since: now,
                    shed_at: Instant::FAR,
                    criticality,
                    refused: false,
                };
                self.enter(now, shard, job);
            }
        }
    }

    /// An attempt asks for a worker.
    fn enter(&mut self, now: Instant, shard: u32, job: QueuedAttempt) {
        match self.traffic.backend.enter(now, shard, job) {
            Placement::Started(work) => self.queue.push(Traffic::finish(&work, &job, shard)),
            Placement::Queued => self.score.track.enqueue(),
            Placement::Replaced(other) => {
                self.answer(now, Traffic::ticket_of(&other), now, REFUSED);
            }
            Placement::Crashed(loss) => self.crash(now, loss),
            Placement::Refused => self.answer(now, Traffic::ticket_of(&job), now, REFUSED),
            Placement::RefusedLater | Placement::Dropped => {}
        }
        self.scale(now, shard);
    }

    /// A server falls over, and all callers with attempts in it hear that their connections are gone.
    fn crash(&mut self, now: Instant, loss: CrashLoss) {
        self.score.track.queued -= loss.waited;
        for job in &loss.attempts {
            self.answer(now, Traffic::ticket_of(job), now, REFUSED);
        }
    }

    /// The load of a server has changed, and it may get more workers.
    pub(super) fn scale(&mut self, now: Instant, shard: u32) {
        if let Some(at) = self.traffic.backend.scale(now, shard) {
            self.queue.push(CallerEvent::new(at, Class::Resume, shard));
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
            self.tell_balancer(now, &flight, &outcome);
            self.settle(now, ticket, &flight, &outcome);
        }
    }

    /// A caller gives up on an attempt, if it still waits for it.
    pub(super) fn time_out(&mut self, now: Instant, ticket: Ticket) {
        if let Some(flight) = self.land(now, ticket) {
            let outcome = Outcome::new(Verdict::Transient).with_cause(Cause::Timeout);
            self.tell_balancer(now, &flight, &outcome);
            self.settle(now, ticket, &flight, &outcome);
        }
    }

    /// The attempt is no longer under way, if it still was.
    fn land(&mut self, now: Instant, ticket: Ticket) -> Option<AttemptInFlight> {
        let kept = self.slab.get(ticket.slot, ticket.id)?;
        let mut flights = kept.flights.iter();
        let index = flights.position(|flight| flight.launched.attempt.number == ticket.number)?;
        let (flight, client) = (kept.flights.swap_remove(index), kept.who.client);
        self.left(&flight);
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

impl<Q: Queue> Callers<'_, Q> {
    /// The event of the next call's first attempt.
    #[inline]
    pub(super) fn arrival(&self, at: Instant, source: u8, client: Option<u32>) -> CallerEvent {
        let client = client.unwrap_or(self.calls);
        let event = CallerEvent::new(at, Class::Arrival, self.calls);
        event.with(u32::from(source), [u64::from(client), 0])
    }

    /// A new outermost call.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "as `arrival` made them")]
    pub(super) fn arrive(&mut self, event: CallerEvent) {
        // OK because the tag is the number of a source, and the words are a client and its clicks.
        let (id, source) = (event.id(), event.tag() as u8);
        let [client, clicks] = event.words().map(|word| word as u32);
        self.calls = self.calls.max(id + 1);
        if self.plain {
            self.score.arrival();
            return self.begin_plain(id);
        }
        // The sources of bystanders come after the callers' own, and so do their numbers.
        let other = usize::from(source).checked_sub(self.plan.arrivals.len());
        match other {
            None => self.score.arrival(),
            Some(_) => self.bystanders += 1,
        }
        let layer = other.map_or(0, |other| self.plan.callers.len() + other);
        // OK because a plan has fewer callers than a byte counts.
        let layer = u8::try_from(layer).unwrap_or(u8::MAX);
        let shard = self.traffic.backend.shard_of(id);
        let ledger = self.ledgers.number(layer, client, shard);
        let parent = None;
        self.begin_call(CallIdentity {
            id,
            client,
            slot: NOWHERE,
            layer,
            source,
            shard,
            ledger,
            parent,
            last_server: None,
            clicks,
        });
    }

    /// After the end of an outermost call a closed client thinks about its next one.
    #[inline]
    pub(super) fn think(&mut self, now: Instant, id: u32, client: u32, source: u8) {
        let rule = self.plan.source(source);
        if let Some(at) = rule.and_then(|rule| rule.next_call(self.seed, id, now)) {
            let next = self.arrival(at, source, Some(client));
            self.calls += 1;
            self.queue.push(next);
        }
    }
}

impl<Q: Queue> Callers<'_, Q> {
    /// The process of this ledger asks the store for permits, if it is time to.
    #[inline]
    pub(super) fn ask_for_lease(&mut self, now: Instant, ledger: u32) {
        let Some(rule) = self.ledgers.store().map(|store| *store.rule()) else { return };
        let Some(leased) = self.ledgers.of(ledger).leased() else { return };
        if let Some(request) = leased.request(now) {
            let event = CallerEvent::new(now + rule.latency, Class::Lease, ledger);
            self.queue.push(event.with(REQUEST, request.to_words()));
        }
    }

    /// A request reaches the store, or its answer the process.
    pub(super) fn lease(&mut self, now: Instant, event: CallerEvent) {
        let ledger = event.id();
        let Some(store) = self.ledgers.store() else { return };
        let rule = *store.rule();
        if event.tag() == REQUEST {
            let request = LeaseRequest::from_words(event.words());
            if let Some(granted) = store.serve(now, ledger, request) {
                let answer = CallerEvent::new(now + rule.latency, Class::Lease, ledger);
                self.queue.push(answer.with(ANSWER, [u64::from(granted), 0]));
            }
        } else if let Some(leased) = self.ledgers.of(ledger).leased() {
            let granted = u32::try_from(event.words()[0]).unwrap_or(rule.lease);
            leased.granted(now, granted);
        }
    }
}

/// On the way to the store.
const REQUEST: u32 = 0;

/// On the way back.
const ANSWER: u32 = 1;
