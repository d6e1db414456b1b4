//! The backend of a plan, driven from outside: the time and attempts in, answers out.

use std::collections::{BTreeMap, BTreeSet};

use stagger_core::{Cause, Instant, Outcome, Span, Verdict};

use super::backend::{Admission, BackendState, REFUSED};
use super::waiting::QueuedAttempt;
use super::work::{Placement, QueueTurn, StartedWork};
use crate::dist::exponential;
use crate::plan::{Criticality, Hop, RunPlan};
use crate::streams::{Purpose, RandomStream};

/// The backend and the network of a plan, for attempts that come from elsewhere.
///
/// It decides as the lab's backend does, because it is the same one: the same workers, queue, troubles, limits
/// and draws. Instants are counted from the start of the run; an instant before the last one is read as that.
///
/// ```
/// use stagger_core::{Instant, Span, Verdict};
/// use stagger_sim::{ArrivalProcess, Backend, BackendMachine, Law, OfferedAttempt, RunPlan, Schedule};
/// let caller = Law::Full.caller(&Schedule::default())?;
/// let mut plan = RunPlan::new(ArrivalProcess::Together { callers: 2 }, caller);
/// plan.backend = Backend::of_workers(1, Span::from_millis(10), Some(0));
/// let mut backend = BackendMachine::new(&plan, 1);
/// let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
/// let first = backend.arrive(at(0), OfferedAttempt::first_of(0));
/// let second = backend.arrive(at(1), OfferedAttempt::first_of(1));
/// // One worker and no queue: the second attempt is refused, the first served after 10 ms.
/// let early = backend.answers(at(9));
/// assert_eq!((early.len(), early[0].0, early[0].1.verdict), (1, second, Verdict::Transient));
/// assert_eq!(backend.next(), Some(at(10)));
/// let late = backend.answers(at(10));
/// assert_eq!((late.len(), late[0].0, late[0].1.verdict), (1, first, Verdict::Ok));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct BackendMachine<'p> {
    state: BackendState<'p>,
    hop: Hop,
    there: RandomStream,
    back: RandomStream,
    /// What is foreseen, by its instant and then in the order in which it was foreseen.
    events: BTreeMap<(Instant, u64), BackendEvent>,
    foreseen: u64,
    now: Instant,
    arrived: u32,
    /// Attempts whose callers wait.
    waiting: BTreeSet<u32>,
    /// Behind a balancer, the call and the server of each attempt whose caller waits.
    placed: BTreeMap<u32, (u32, u32)>,
    /// Behind a balancer, the server of the last attempt of each call that has failed so far.
    last_servers: BTreeMap<u32, u32>,
    ready: Vec<(AttemptTicket, Outcome)>,
    /// Attempts in queues and at workers.
    backlog: usize,
}

/// One attempt that comes to a [`BackendMachine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedAttempt {
    /// The number of its call, which decides its shard and its draws.
    pub call: u32,
    /// Its number in its call, from 1.
    pub number: u32,
    /// The instant at which its caller gives up; [`Instant::FAR`] when that is not known.
    pub give_up: Instant,
}

impl OfferedAttempt {
    /// The first attempt of the call of this number, whose caller waits for ever.
    #[must_use]
    pub const fn first_of(call: u32) -> Self {
        Self { call, number: 1, give_up: Instant::FAR }
    }
}

/// The ticket of an attempt that came to a [`BackendMachine`]; its answer has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptTicket(u32);

/// Calls whose last server is remembered, the lowest numbers forgotten first: a caller may begin calls without end.
const MOST_FAILED_CALLS: usize = 1_000_000;

/// Something that is foreseen.
#[derive(Clone, Copy, Debug)]
enum BackendEvent {
    /// An attempt is at the backend after its way.
    Reach(QueuedAttempt),
    /// A worker of this shard is done with an attempt.
    Finish(QueuedAttempt, u32, StartedWork),
    /// An answer is back where the attempt came from.
    Reply(u32, Outcome),
    /// A shard starts work again after a stall, or has more workers.
    Resume(u32),
}

impl<'p> BackendMachine<'p> {
    /// The backend of this plan under this seed, at the origin.
    #[must_use]
    pub fn new(plan: &'p RunPlan, seed: u64) -> Self {
        let state = BackendState::new(&plan.backend, &plan.faults, seed);
        let mut machine = Self {
            hop: plan.hop,
            there: RandomStream::new(seed, Purpose::There),
            back: RandomStream::new(seed, Purpose::Back),
            events: BTreeMap::new(),
            foreseen: 0,
            now: Instant::ORIGIN,
            arrived: 0,
            waiting: BTreeSet::new(),
            placed: BTreeMap::new(),
            last_servers: BTreeMap::new(),
            ready: Vec::new(),
            backlog: 0,
            state,
        };
        for (shard, at) in machine.state.resumptions() {
            machine.foresee(at, BackendEvent::Resume(shard));
        }
        machine
    }

    /// An attempt comes; its answer is among [`answers`](Self::answers) when it is due.
    pub fn arrive(&mut self, now: Instant, attempt: OfferedAttempt) -> AttemptTicket {
        self.advance(now);
        let slot = self.arrived;
        self.arrived = self.arrived.wrapping_add(1);
        self.waiting.insert(slot);
        let OfferedAttempt { call: id, number, give_up } = attempt;
        let job = QueuedAttempt {
            id,
            slot,
            number,
            give_up,
            since: self.now,
            shed_at: Instant::FAR,
            criticality: Criticality::default(),
            refused: false,
        };
        match self.way(&self.there, id, number) {
            Span::ZERO => self.reach(self.now, job),
            way => self.foresee(self.now + way, BackendEvent::Reach(job)),
        }
        AttemptTicket(slot)
    }

    /// The caller of an attempt waits no longer; there is no answer to it any more.
    pub fn leave(&mut self, now: Instant, ticket: AttemptTicket) {
        self.advance(now);
        if self.waiting.remove(&ticket.0) {
            let outcome = Outcome::new(Verdict::Transient).with_cause(Cause::Timeout);
            self.tell_balancer(ticket.0, &outcome);
        }
    }

    /// All answers that are due at `now`, in their order.
    pub fn answers(&mut self, now: Instant) -> Vec<(AttemptTicket, Outcome)> {
        self.advance(now);
        std::mem::take(&mut self.ready)
    }

    /// The next instant at which something happens by itself; `None` while the backend waits for attempts.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        if self.ready.is_empty() {
            self.events.first_key_value().map(|((at, _), _)| *at)
        } else {
            Some(self.now)
        }
    }

    /// Attempts whose callers wait for an answer.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Attempts in queues and at workers, those included whose callers have gone.
    #[must_use]
    pub const fn backlog(&self) -> usize {
        self.backlog
    }

    /// Everything that happens until `now`, each at its own instant.
    fn advance(&mut self, now: Instant) {
        while let Some(event) = self.events.first_entry() {
            let (at, _) = *event.key();
            if at > now {
                break;
            }
            let event = event.remove();
            self.now = self.now.max(at);
            self.state.now_is(self.now);
            self.happen(event);
        }
        self.now = self.now.max(now);
        self.state.now_is(self.now);
    }

    fn happen(&mut self, event: BackendEvent) {
        let now = self.now;
        match event {
            BackendEvent::Reach(job) => self.reach(now, job),
            BackendEvent::Finish(job, shard, work) => self.finish(now, job, shard, work),
            BackendEvent::Reply(slot, outcome) => self.reply(slot, outcome),
            BackendEvent::Resume(shard) => self.start_work(now, shard),
        }
    }

    /// A worker is done with an attempt, and takes the next.
    fn finish(&mut self, now: Instant, job: QueuedAttempt, shard: u32, work: StartedWork) {
        if self.state.has_lost(shard, work.crashes) {
            return;
        }
        self.state.leave(now, shard, job.id, job.number);
        self.backlog -= 1;
        let outcome = match job.refused {
            true => REFUSED,
            false => self.state.result(shard, job.id, job.number),
        };
        if work.miss && outcome.verdict == Verdict::Ok {
            self.state.fill(now, shard, self.waiting.contains(&job.slot));
        }
        self.answer(job, now, outcome);
        self.start_work(now, shard);
    }

    fn reach(&mut self, now: Instant, job: QueuedAttempt) {
        let shard = self.place(now, &job);
        let job = QueuedAttempt { since: now, ..job };
        match self.state.receive(now, shard, job.id, job.number) {
            Admission::Silence => {}
            Admission::Answer(at, outcome) => self.answer(job, at, outcome),
            Admission::Enter => {
                self.enter(now, shard, job);
                self.scale(now, shard);
            }
        }
    }

    /// The shard of an attempt; behind a balancer, the server that it chooses.
    fn place(&mut self, now: Instant, job: &QueuedAttempt) -> u32 {
        let shard = self.state.shard_of(job.id);
        let Some(balancer) = self.state.balancer() else { return shard };
        let last = self.last_servers.get(&job.id).copied();
        let server = balancer.choose(now, (job.id, job.number), last);
        if self.waiting.contains(&job.slot) {
            balancer.begin(server);
            self.placed.insert(job.slot, (job.id, server));
        }
        server
    }

    /// An attempt asks for a worker.
    fn enter(&mut self, now: Instant, shard: u32, job: QueuedAttempt) {
        match self.state.enter(now, shard, job) {
            Placement::Started(work) => {
                self.backlog += 1;
                self.foresee(work.end, BackendEvent::Finish(job, shard, work));
            }
            Placement::Queued | Placement::RefusedLater => self.backlog += 1,
            Placement::Replaced(other) => self.answer(other, now, REFUSED),
            Placement::Crashed(loss) => {
                // The attempt that was one too many is lost too, and was not counted yet.
                self.backlog = (self.backlog + 1).saturating_sub(loss.attempts.len());
                for lost in loss.attempts {
                    self.answer(lost, now, REFUSED);
                }
            }
            Placement::Refused => self.answer(job, now, REFUSED),
            Placement::Dropped => {}
        }
    }

    /// The load of a shard has changed, and it may get more workers.
    fn scale(&mut self, now: Instant, shard: u32) {
        if let Some(at) = self.state.scale(now, shard) {
            self.foresee(at, BackendEvent::Resume(shard));
        }
    }

    /// Free workers of this shard take what waits.
    fn start_work(&mut self, now: Instant, shard: u32) {
        self.scale(now, shard);
        loop {
            let waiting = &self.waiting;
            let waited_for = |job: &QueuedAttempt| waiting.contains(&job.slot);
            let mut dropped = 0;
            let next = self.state.start_next(now, shard, waited_for, |_| dropped += 1);
            self.backlog -= dropped;
            match next {
                None => return,
                Some(QueueTurn::Started(job, work)) => {
                    self.foresee(work.end, BackendEvent::Finish(job, shard, work));
                }
                Some(QueueTurn::Refused(job)) => {
                    self.backlog -= 1;
                    self.answer(job, now, REFUSED);
                }
            }
        }
    }

    /// The backend answers at `at`, and the answer takes its way back.
    fn answer(&mut self, job: QueuedAttempt, at: Instant, outcome: Outcome) {
        let arrives = at + self.way(&self.back, job.id, job.number);
        match arrives <= self.now {
            true => self.reply(job.slot, outcome),
            false => self.foresee(arrives, BackendEvent::Reply(job.slot, outcome)),
        }
    }

    fn reply(&mut self, slot: u32, outcome: Outcome) {
        if self.waiting.remove(&slot) {
            self.tell_balancer(slot, &outcome);
            self.ready.push((AttemptTicket(slot), outcome));
        }
    }

    /// An attempt is no longer under way at its server, and had this outcome.
    fn tell_balancer(&mut self, slot: u32, outcome: &Outcome) {
        let Some((call, server)) = self.placed.remove(&slot) else { return };
        let Some(balancer) = self.state.balancer() else { return };
        balancer.end(server);
        balancer.heard(self.now, server, outcome);
        match outcome.verdict {
            Verdict::Ok => self.last_servers.remove(&call),
            _ => self.last_servers.insert(call, server),
        };
        if self.last_servers.len() > MOST_FAILED_CALLS {
            self.last_servers.pop_first();
        }
    }

    fn foresee(&mut self, at: Instant, event: BackendEvent) {
        self.events.insert((at, self.foreseen), event);
        self.foreseen += 1;
    }

    fn way(&self, draws: &RandomStream, call: u32, number: u32) -> Span {
        match self.hop {
            Hop::None => Span::ZERO,
            Hop::Fixed(time) => time,
            Hop::Exponential(mean) => exponential(mean, &mut draws.at(call, number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Verdict;

    use super::*;
    use crate::law::{Law, Schedule};
    use crate::plan::{ArrivalProcess, Backend, Cancel, Fault, Trouble, Workers};

    fn at(ms: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(ms)
    }

    fn plan(backend: Backend, faults: Vec<Fault>) -> RunPlan {
        let caller = Law::Full.caller(&Schedule::default()).expect("the default schedule");
        let plan = RunPlan::new(ArrivalProcess::Together { callers: 1 }, caller);
        RunPlan { backend, faults, ..plan }
    }

    #[test]
    fn work_that_came_in_a_stall_began_before_its_end() {
        let stall = Fault::new(Trouble::Stall, at(0), at(100));
        let plan = plan(Backend::of_workers(1, Span::from_millis(10), None), vec![stall]);
        let mut backend = BackendMachine::new(&plan, 1);
        let tickets = [0, 1].map(|call| backend.arrive(at(5), OfferedAttempt::first_of(call)));
        assert_eq!(backend.answers(at(109)), []);
        let answers = backend.answers(at(500));
        assert_eq!(answers.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>(), tickets);
    }

    #[test]
    fn an_abandoned_attempt_was_worked_on_although_the_server_notices_cancellations() {
        let workers = |cancel| Workers { cancel, ..Workers::new(1, None) };
        for (cancel, served_at) in [(Cancel::Never, 30), (Cancel::Expired, 20)] {
            let backend = Backend {
                workers: Some(workers(cancel)),
                ..Backend::UNLIMITED.serving_in(Span::from_millis(10))
            };
            let plan = plan(backend, Vec::new());
            let mut machine = BackendMachine::new(&plan, 1);
            let [_, gone, last] =
                [0, 1, 2].map(|call| machine.arrive(at(0), OfferedAttempt::first_of(call)));
            machine.leave(at(1), gone);
            assert_eq!((machine.waiting(), machine.backlog()), (2, 3));
            machine.answers(at(served_at - 1));
            assert_eq!((machine.waiting(), machine.backlog()), (1, 1));
            assert_eq!(machine.answers(at(served_at)), [(last, Outcome::OK)], "{cancel:?}");
        }
    }

    #[test]
    fn a_silent_backend_answered_and_the_way_took_no_time() {
        let silence = Fault::new(Trouble::Silence, at(0), at(50));
        let plan = RunPlan {
            hop: Hop::Fixed(Span::from_millis(3)),
            ..plan(Backend::UNLIMITED, vec![silence])
        };
        let mut machine = BackendMachine::new(&plan, 1);
        machine.arrive(at(0), OfferedAttempt::first_of(0));
        let later = machine.arrive(at(60), OfferedAttempt::first_of(1));
        assert_eq!((machine.waiting(), machine.next()), (2, Some(at(63))));
        assert_eq!(machine.answers(at(65)), []);
        assert_eq!(machine.answers(at(66)), [(later, Outcome::OK)]);
        assert_eq!((machine.waiting(), machine.next()), (1, None));
    }

    #[test]
    fn refusals_without_a_worker_were_lost() {
        let refuse = Fault::new(Trouble::Refuse, at(0), at(10));
        let plan = plan(Backend::of_workers(1, Span::from_millis(1), None), vec![refuse]);
        let mut machine = BackendMachine::new(&plan, 1);
        machine.arrive(at(2), OfferedAttempt::first_of(0));
        assert_eq!(machine.next(), Some(at(2)), "its answer is due immediately");
        let verdicts = machine.answers(at(2)).into_iter().map(|(_, outcome)| outcome.verdict);
        assert_eq!(verdicts.collect::<Vec<_>>(), [Verdict::Transient]);
    }
}
