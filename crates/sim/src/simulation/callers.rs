//! Callers: the engine's machine, told the virtual time.

use stagger_core::retry::{Action, Call, Done, Launched, Ledger, Session, Stop, Wait};
use stagger_core::{Instant, Outcome, Policy, Verdict};

use super::score::{Played, Score};
use super::slab;
use super::slab::{AttemptInFlight, CallIdentity, NOWHERE, Slab, Ticket, are_plain, ask_nothing};
use super::traffic::{Connections, Traffic};
use super::turns::{QUEUED, Turns, may_queue};
use crate::ledgers::FleetLedgers;
use crate::plan::{CallerLayer, Hop, RunPlan};
use crate::queue::{CallerEvent, Class, Queue};
use crate::streams::{Purpose, RandomStream};

/// The state of one run.
#[derive(Debug)]
pub(super) struct Callers<'a, Q> {
    pub(super) plan: &'a RunPlan,
    pub(super) queue: &'a mut Q,
    pub(super) slab: &'a mut Slab,
    pub(super) ledgers: FleetLedgers,
    pub(super) traffic: Traffic<'a>,
    pub(super) score: Score,
    pub(super) delays: RandomStream,
    pub(super) patience: RandomStream,
    pub(super) clicks: RandomStream,
    pub(super) connections: Connections,
    /// Calls that wait for a place by a concurrency limit, and whether any may.
    pub(super) turns: Turns,
    pub(super) queues: bool,
    /// Whether no caller need be kept, see [`plain`](super::plain).
    pub(super) plain: bool,
    /// Whether no caller that is refused need be kept.
    pub(super) asks_nothing: bool,
    /// Whether an attempt is at the backend as soon as it is made.
    pub(super) at_once: bool,
    pub(super) seed: u64,
    /// Ids of outermost calls, and of the calls of inner layers.
    pub(super) calls: u32,
    pub(super) inner: u32,
    /// Calls that are in no figure, and their attempts.
    pub(super) bystanders: u32,
    bystanding: u64,
}

/// Ids from here on are calls of inner layers.
const INNER: u32 = 1 << 31;

/// The state of an attempt right after it was sent.
pub(super) enum SendState {
    Answered(Outcome),
    UnderWay,
}

impl<'a, Q: Queue> Callers<'a, Q> {
    pub(super) fn new(queue: &'a mut Q, slab: &'a mut Slab, plan: &'a RunPlan, seed: u64) -> Self {
        Self {
            plan,
            queue,
            slab,
            ledgers: FleetLedgers::new(plan, seed),
            traffic: Traffic::new(plan, seed),
            score: Score::new(plan),
            delays: RandomStream::new(seed, Purpose::Delay),
            patience: RandomStream::new(seed, Purpose::Patience),
            clicks: RandomStream::new(seed, Purpose::Click),
            connections: Connections::new(&plan.fleet),
            turns: Turns::default(),
            queues: plan.all_callers().any(|caller| may_queue(&caller.policy)),
            plain: are_plain(plan),
            asks_nothing: ask_nothing(plan),
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
    pub(super) fn front(&self) -> &'a CallerLayer {
        &self.plan.callers[0]
    }

    #[inline]
    pub(super) fn policy(&self, layer: u8) -> &'a Policy {
        &self.plan.caller(layer).policy
    }

    /// The caller of this attempt, if it is still kept.
    #[inline]
    pub(super) fn kept(&mut self, ticket: Ticket) -> Option<(CallIdentity, Session<'a>)> {
        let plan = self.plan;
        let kept = self.slab.get(ticket.slot, ticket.id)?;
        let policy = &plan.caller(kept.who.layer).policy;
        Some((kept.who, kept.call.attach(policy)))
    }

    /// An event happens, and with it its time.
    #[inline]
    pub(super) fn note(&mut self, event: CallerEvent) {
        self.score.event(event);
        self.traffic.backend.now_is(event.at());
    }

    #[inline]
    pub(super) fn begin_call(&mut self, mut who: CallIdentity) {
        let (now, ledger) = (self.score.now(), who.ledger);
        let policy = self.policy(who.layer);
        let ledger = self.ledgers.of(ledger);
        let call = match ledger.hedge_delay(policy) {
            Some(delay) => Call::idempotent().with_hedge_delay(delay),
            None => Call::idempotent(),
        };
        let (session, act) = Session::start(policy, ledger, call, now);
        if self.needs_keeping(&who) {
            self.slab.keep(&mut who, session.detach());
            self.expect_patience(now, &who);
        }
        self.follow(now, who, session, act);
    }

    /// A caller whose state came along with the event has waited long enough.
    #[inline]
    pub(super) fn wake_parked(&mut self, event: CallerEvent) {
        if self.asks_nothing && self.is_refused(event) {
            return self.wake_refused(event);
        }
        let (now, id) = (event.at(), event.id());
        self.score.track.retrying -= 1;
        let shard = self.traffic.backend.shard_of(id);
        let ledger = self.ledgers.number(0, id, shard);
        let who = CallIdentity {
            id,
            client: id,
            slot: NOWHERE,
            layer: 0,
            source: 0,
            shard,
            ledger,
            parent: None,
            last_server: None,
            clicks: 0,
        };
        let mut session = slab::call(event).unpark(self.policy(0));
        let act = session.on_wake(self.ledgers.of(ledger), now);
        self.follow(now, who, session, act);
    }

    /// Follows a caller's decisions until it waits, including answers that take no time.
    #[inline]
    pub(super) fn follow(
        &mut self,
        now: Instant,
        mut who: CallIdentity,
        mut session: Session<'a>,
        mut act: Action,
    ) {
        let launched = loop {
            match act {
                Action::Attempt(launched) | Action::Hedge(launched) => {
                    match self.launch(now, &mut who, &session, launched) {
                        SendState::UnderWay => break self.next_hedge(&who, &launched),
                        SendState::Answered(outcome) => {
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
        who: &CallIdentity,
        session: &mut Session<'a>,
        launched: Launched,
        outcome: &Outcome,
    ) -> Action {
        let mut draw = self.delays.at(who.id, launched.attempt.number);
        session.on_outcome(self.ledgers.of(who.ledger), now, launched, outcome, &mut draw)
    }

    /// The instant at which a copy of this attempt is due; none when the attempt was refused at once.
    #[inline]
    pub(super) fn next_hedge(&self, who: &CallIdentity, launched: &Launched) -> Option<Instant> {
        let at = launched.attempt.hedge_at?;
        let ticket = Ticket { id: who.id, slot: who.slot, number: launched.attempt.number };
        self.slab.waits_for(ticket).then_some(at)
    }

    fn expect_hedge(&mut self, who: &CallIdentity, at: Instant) {
        let Some(kept) = self.slab.get(who.slot, who.id) else { return };
        if kept.hedge_at != Some(at) {
            kept.hedge_at = Some(at);
            self.queue.push(Traffic::hedge(at, who.id, who.slot));
        }
    }

    pub(super) fn settle(
        &mut self,
        now: Instant,
        ticket: Ticket,
        flight: &AttemptInFlight,
        outcome: &Outcome,
    ) {
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
    fn settled(
        &mut self,
        who: &CallIdentity,
        session: &Session<'a>,
        launched: Launched,
        outcome: &Outcome,
    ) {
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
    fn wait(&mut self, who: &mut CallIdentity, session: &Session<'a>, at: Instant) {
        if session.limit_permit().is_queued() {
            return self.wait_for_turn(who, session, at);
        }
        self.score.track.retrying += 1;
        let caller = self.plan.caller(who.layer);
        let at = match session.is_held() || session.is_paced() || !session.limit_permit().is_none()
        {
            // The delay of the law is over already, or has yet to come.
            true => at,
            false => self.wakes_at(caller, who.id, session.retry().attempts(), at),
        };
        let at_home = who.slot == NOWHERE && who.client == who.id;
        let may_park = at_home
            && who.layer == 0
            && who.source == 0
            && who.last_server.is_none()
            && !self.has_user(who);
        let call = if may_park { session.park() } else { None };
        let parked = call.and_then(|call| slab::wake(at, who.id, &call, &caller.policy));
        self.queue.push(parked.unwrap_or_else(|| {
            self.slab.keep(who, session.detach());
            CallerEvent::new(at, Class::Wake, who.id).with(0, [u64::from(who.slot), 0])
        }));
    }

    /// The end of a wait that the engine ends at `at`.
    #[inline]
    pub(super) fn wakes_at(
        &self,
        caller: &CallerLayer,
        id: u32,
        attempts: u32,
        at: Instant,
    ) -> Instant {
        caller.foreign.map_or(at, |law| at + law.delay(&self.delays, id, attempts))
    }

    /// A call is over.
    #[inline]
    fn end(&mut self, now: Instant, who: &CallIdentity, done: Done) {
        if who.slot != NOWHERE {
            let flights = self.slab.release(who.slot);
            for flight in &flights {
                self.left(flight);
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
        let succeeded = done.stop == Stop::Succeeded;
        if succeeded || !self.click_again(now, who) {
            self.think(now, who.id, who.client, who.source);
        }
    }

    #[inline]
    pub(super) const fn is_bystander(&self, layer: u8) -> bool {
        layer as usize >= self.plan.callers.len()
    }

    pub(super) fn finish(self) -> Played {
        self.score.finish(self.calls - self.bystanders, self.bystanding)
    }
}

impl<'a, Q: Queue> Callers<'a, Q> {
    /// A call waits for a place, until `at` at the latest.
    #[cold]
    pub(super) fn wait_for_turn(
        &mut self,
        who: &mut CallIdentity,
        session: &Session<'a>,
        at: Instant,
    ) {
        self.slab.keep(who, session.detach());
        let waker = self.turns.waker(who);
        if self.ledgers.of(who.ledger).watch(session.limit_permit(), &waker) {
            waker.wake();
        }
        let words = [u64::from(who.slot), QUEUED];
        self.queue.push(CallerEvent::new(at, Class::Wake, who.id).with(0, words));
    }

    /// Wakes the calls whose turn has come.
    #[inline]
    pub(super) fn call_turns(&mut self, now: Instant) {
        if !self.queues {
            return;
        }
        let turns = self.turns.take();
        for (id, slot) in turns {
            let words = [u64::from(slot), QUEUED];
            self.queue.push(CallerEvent::new(now, Class::Wake, id).with(0, words));
        }
    }

    /// A call in the queue has its turn, or has waited for as long as it may. One that is not in the
    /// queue any more has started since, or waits for something else.
    pub(super) fn wake_queued(&mut self, now: Instant, ticket: Ticket) {
        let Some((who, mut session)) = self.kept(ticket) else { return };
        if !session.limit_permit().is_queued() {
            return;
        }
        let act = session.on_wake(self.ledgers.of(who.ledger), now);
        let waits_on =
            session.limit_permit().is_queued() && matches!(act, Action::Wait(Wait::Until(_)));
        if !waits_on {
            self.follow(now, who, session, act);
        }
    }
}
