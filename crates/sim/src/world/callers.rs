//! Callers: the engine's machine, told the virtual time.

use stagger_core::retry::{Action, Call, Done, Launched, Session, Stop, Wait};
use stagger_core::{Cause, Instant, Outcome, Policy, Verdict};

use super::connections::Connections;
use super::parking;
use super::parking::are_plain;
use super::played::Played;
use super::score::Score;
use super::slab::{Flight, NOWHERE, Slab, Ticket, Who};
use super::traffic::Traffic;
use crate::ledgers::FleetLedgers;
use crate::plan::{Caller, Hop, Plan};
use crate::queue::{Class, Event, Queue};
use crate::server::{Admission, Job, Placement, REFUSED};
use crate::streams::{Purpose, Stream};

/// The state of one run.
#[derive(Debug)]
pub(super) struct Callers<'a, Q> {
    pub(super) plan: &'a Plan,
    pub(super) queue: &'a mut Q,
    pub(super) slab: &'a mut Slab,
    pub(super) ledgers: FleetLedgers,
    pub(super) traffic: Traffic<'a>,
    pub(super) score: Score,
    pub(super) delays: Stream,
    connections: Connections,
    /// Whether no caller need be kept, see [`plain`](super::plain).
    pub(super) plain: bool,
    /// Whether an attempt is at the backend as soon as it is made.
    at_once: bool,
    pub(super) seed: u64,
    /// Ids of outermost calls, and of the calls of inner layers.
    pub(super) calls: u32,
    inner: u32,
    /// Calls that are in no figure, and their attempts.
    pub(super) bystanders: u32,
    bystanding: u64,
}

/// Ids from here on are calls of inner layers.
const INNER: u32 = 1 << 31;
/// The state of an attempt right after it was sent.
enum Sent {
    Answered(Outcome),
    UnderWay,
}

impl<'a, Q: Queue> Callers<'a, Q> {
    pub(super) fn new(queue: &'a mut Q, slab: &'a mut Slab, plan: &'a Plan, seed: u64) -> Self {
        Self {
            plan,
            queue,
            slab,
            ledgers: FleetLedgers::new(plan, seed),
            traffic: Traffic::new(plan, seed),
            score: Score::new(plan),
            delays: Stream::new(seed, Purpose::Delay),
            connections: Connections::new(&plan.fleet),
            plain: are_plain(plan),
            at_once: plan.fleet.connections.is_none() && plan.hop == Hop::None,
            seed,
            calls: 0,
            inner: INNER,
            bystanders: 0,
            bystanding: 0,
        }
    }

    /// The outermost callers.
    #[inline]
    pub(super) fn front(&self) -> &'a Caller {
        &self.plan.callers[0]
    }

    #[inline]
    pub(super) fn policy(&self, layer: u8) -> &'a Policy {
        &self.plan.caller(layer).policy
    }

    /// The caller of this attempt, if it is still kept.
    #[inline]
    pub(super) fn kept(&mut self, ticket: Ticket) -> Option<(Who, Session<'a>)> {
        let plan = self.plan;
        let kept = self.slab.get(ticket.slot, ticket.id)?;
        let policy = &plan.caller(kept.who.layer).policy;
        Some((kept.who, kept.call.attach(policy)))
    }

    /// An event happens, and with it its time.
    #[inline]
    pub(super) fn note(&mut self, event: Event) {
        self.score.event(event);
        self.traffic.backend.now_is(event.at());
    }

    #[inline]
    pub(super) fn begin_call(&mut self, who: Who) {
        let (now, ledger) = (self.score.now(), who.ledger);
        let policy = self.policy(who.layer);
        let ledger = self.ledgers.of(ledger);
        let call = match ledger.hedge_delay(policy) {
            Some(delay) => Call::idempotent().with_hedge_delay(delay),
            None => Call::idempotent(),
        };
        let (session, act) = Session::start(policy, ledger, call, now);
        self.follow(now, who, session, act);
    }

    /// A caller whose state came along with the event has waited long enough.
    #[inline]
    pub(super) fn wake_parked(&mut self, event: Event) {
        let (now, id) = (event.at(), event.id());
        self.score.track.retrying -= 1;
        let shard = self.traffic.backend.shard_of(id);
        let ledger = self.ledgers.number(0, id, shard);
        let (client, parent) = (id, None);
        let who = Who { id, client, slot: NOWHERE, layer: 0, source: 0, shard, ledger, parent };
        let mut session = parking::call(event).unpark(self.policy(0));
        let act = session.on_wake(self.ledgers.of(ledger), now);
        self.follow(now, who, session, act);
    }

    /// Follows a caller's decisions until it waits, including answers that take no time.
    #[inline]
    pub(super) fn follow(
        &mut self,
        now: Instant,
        mut who: Who,
        mut session: Session<'a>,
        mut act: Action,
    ) {
        let launched = loop {
            match act {
                Action::Attempt(launched) | Action::Hedge(launched) => {
                    match self.launch(now, &mut who, &session, launched) {
                        Sent::UnderWay => break self.next_hedge(&who, &launched),
                        Sent::Answered(outcome) => {
                            self.settled(&who, &session, launched, &outcome);
                            act = self.tell(now, &who, &mut session, launched, &outcome);
                        }
                    }
                }
                Action::Wait(Wait::Copies { hedge_at }) => {
                    self.slab.keep(&mut who, session.detach());
                    break hedge_at;
                }
                Action::Wait(Wait::Until(at)) => {
                    self.wait(&mut who, &session, at);
                    break None;
                }
                Action::Done(done) => {
                    self.end(now, &who, done);
                    break None;
                }
            }
        };
        if let Some(at) = launched {
            self.expect_hedge(&who, at);
        }
        self.ask_for_lease(now, who.ledger);
    }

    /// Hands an outcome to the machine.
    #[inline]
    fn tell(
        &mut self,
        now: Instant,
        who: &Who,
        session: &mut Session<'a>,
        launched: Launched,
        outcome: &Outcome,
    ) -> Action {
        let mut draw = self.delays.at(who.id, launched.attempt.number);
        session.on_outcome(self.ledgers.of(who.ledger), now, launched, outcome, &mut draw)
    }

    /// An attempt sets out.
    #[inline]
    fn launch(
        &mut self,
        now: Instant,
        who: &mut Who,
        session: &Session<'a>,
        launched: Launched,
    ) -> Sent {
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
                    return Sent::Answered(outcome);
                }
                admission => {
                    let ticket = self.take_off(who, session, launched, false);
                    self.expect_timeout(ticket, give_up);
                    self.received(now, who.shard, ticket, give_up, admission);
                }
            }
            return Sent::UnderWay;
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
        Sent::UnderWay
    }

    /// Keeps the caller with its attempt under way.
    fn take_off(
        &mut self,
        who: &mut Who,
        session: &Session<'a>,
        launched: Launched,
        connected: bool,
    ) -> Ticket {
        self.slab.keep(who, session.detach());
        let ticket = Ticket { id: who.id, slot: who.slot, number: launched.attempt.number };
        if let Some(kept) = self.slab.get(who.slot, who.id) {
            kept.flights.push(Flight { launched, since: self.score.now(), connected });
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

    /// The instant at which a copy of this attempt is due; none when the attempt was refused at once.
    #[inline]
    fn next_hedge(&self, who: &Who, launched: &Launched) -> Option<Instant> {
        let at = launched.attempt.hedge_at?;
        let ticket = Ticket { id: who.id, slot: who.slot, number: launched.attempt.number };
        self.slab.waits_for(ticket).then_some(at)
    }

    fn expect_hedge(&mut self, who: &Who, at: Instant) {
        let Some(kept) = self.slab.get(who.slot, who.id) else { return };
        if kept.hedge_at != Some(at) {
            kept.hedge_at = Some(at);
            self.queue.push(Traffic::hedge(at, who.id, who.slot));
        }
    }

    /// An attempt is where it was sent to, one layer further in; nothing is there for a caller who
    /// has gone in the same instant.
    pub(super) fn reach_inner(&mut self, now: Instant, ticket: Ticket) {
        debug_assert_eq!(now, self.score.now(), "inner layers are reached at once");
        let Some(kept) = self.slab.get(ticket.slot, ticket.id) else { return };
        let Who { layer, source, shard, client, .. } = kept.who;
        let (id, layer) = (self.inner, layer + 1);
        self.inner += 1;
        let ledger = self.ledgers.number(layer, id, shard);
        let parent = Some(ticket);
        self.begin_call(Who { id, client, slot: NOWHERE, layer, source, shard, ledger, parent });
    }

    /// An attempt is where it was sent to, whether or not its caller still waits.
    pub(super) fn reach_backend(&mut self, now: Instant, ticket: Ticket, shard: u32, event: Event) {
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
                let job = Job { id, slot, number, give_up };
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
    fn land(&mut self, now: Instant, ticket: Ticket) -> Option<Flight> {
        let kept = self.slab.get(ticket.slot, ticket.id)?;
        let mut flights = kept.flights.iter();
        let index = flights.position(|flight| flight.launched.attempt.number == ticket.number)?;
        let (flight, client) = (kept.flights.swap_remove(index), kept.who.client);
        self.let_go(now, client, &flight);
        Some(flight)
    }

    /// Gives the connection of an attempt to the next attempt that waits for one.
    fn let_go(&mut self, now: Instant, client: u32, flight: &Flight) {
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

    fn settle(&mut self, now: Instant, ticket: Ticket, flight: &Flight, outcome: &Outcome) {
        let Some((who, mut session)) = self.kept(ticket) else { return };
        let launched = flight.launched;
        if outcome.verdict == Verdict::Ok {
            self.ledgers.of(who.ledger).record_latency(now, now - flight.since);
        }
        self.settled(&who, &session, launched, outcome);
        let act = self.tell(now, &who, &mut session, launched, outcome);
        self.follow(now, who, session, act);
    }

    /// Notes what is to be noted of an outcome.
    #[inline]
    fn settled(&mut self, who: &Who, session: &Session<'a>, launched: Launched, outcome: &Outcome) {
        if outcome.verdict != Verdict::Ok {
            return;
        }
        if who.layer == 0 {
            self.score.served(launched.attempt.number, session.retry().started());
        } else if self.is_bystander(who.layer) {
            self.score.served_others();
        }
    }

    /// A caller waits until `at`, and after that for the delay of a law that is not the engine's.
    #[inline]
    fn wait(&mut self, who: &mut Who, session: &Session<'a>, at: Instant) {
        self.score.track.retrying += 1;
        let caller = self.plan.caller(who.layer);
        let at = match session.is_held() {
            // The delay of the law is over already.
            true => at,
            false => self.wakes_at(caller, who.id, session.retry().attempts(), at),
        };
        let at_home = who.slot == NOWHERE && who.client == who.id;
        let may_park = at_home && who.layer == 0 && who.source == 0;
        let call = if may_park { session.park() } else { None };
        let parked = call.and_then(|call| parking::wake(at, who.id, &call, &caller.policy));
        self.queue.push(parked.unwrap_or_else(|| {
            self.slab.keep(who, session.detach());
            Event::new(at, Class::Wake, who.id).with(0, [u64::from(who.slot), 0])
        }));
    }

    /// The end of a wait that the engine ends at `at`.
    #[inline]
    pub(super) fn wakes_at(&self, caller: &Caller, id: u32, attempts: u32, at: Instant) -> Instant {
        caller.foreign.map_or(at, |law| at + law.delay(&self.delays, id, attempts))
    }

    /// A call is over.
    #[inline]
    fn end(&mut self, now: Instant, who: &Who, done: Done) {
        if who.slot != NOWHERE {
            let flights = self.slab.release(who.slot);
            for flight in &flights {
                let mut draw = self.delays.at(who.id, flight.launched.attempt.number);
                let ledger = self.ledgers.of(who.ledger);
                Session::abandon(ledger, now, flight.launched, &mut draw);
                self.let_go(now, who.client, flight);
            }
            self.slab.recycle(flights);
        }
        if let Some(parent) = who.parent {
            let succeeded = done.stop == Stop::Succeeded;
            return self.queue.push(Traffic::inner_reply(now, parent, succeeded));
        }
        if self.is_bystander(who.layer) {
            self.bystanding += u64::from(done.attempts);
        } else {
            self.score.over(&done);
        }
        self.think(now, who.id, who.client, who.source);
    }

    #[inline]
    const fn is_bystander(&self, layer: u8) -> bool {
        layer as usize >= self.plan.callers.len()
    }

    pub(super) fn finish(self) -> Played {
        self.score.finish(self.calls - self.bystanders, self.bystanding)
    }
}
