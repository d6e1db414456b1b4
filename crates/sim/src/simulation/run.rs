//! The loop over events, and what each kind of event does.

use stagger_core::{Instant, Verdict};

use super::callers::Callers;
use super::score::Played;
use super::slab;
use super::slab::{Slab, Ticket};
use super::traffic::{FinishedWork, Traffic};
use super::turns::QUEUED;
use super::users::PATIENCE;
use crate::plan::{ArrivalTimes, RunPlan};
use crate::queue::{CallerEvent, Class, Queue, Wheel};
use crate::server::{QueueTurn, QueuedAttempt, REFUSED};

/// The machine that plays runs; one may be used for many, and keeps its memory between them.
///
/// ```
/// use stagger_core::{Instant, Span};
/// use stagger_sim::{ArrivalProcess, Fault, Law, RunPlan, Schedule, Trouble, Simulation};
/// let caller = Law::None.caller(&Schedule::default())?;
/// let mut plan = RunPlan::new(ArrivalProcess::Together { callers: 100 }, caller);
/// let up_at = Instant::ORIGIN + Span::from_millis(200);
/// plan.faults.push(Fault::new(Trouble::Refuse, Instant::ORIGIN, up_at));
/// // Without jitter all come at 0, 100 and 300 ms, and the third attempt succeeds.
/// let played = Simulation::new().play(&plan, 1);
/// assert_eq!((played.succeeded, played.attempts.total, played.attempts.peak), (100, 300, 100));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Simulation<Q = Wheel> {
    pub(super) queue: Q,
    slab: Slab,
}

impl Simulation {
    /// A simulation with the fast queue.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Wheel::new())
    }
}

impl<Q: Queue> Simulation<Q> {
    /// A simulation with this queue.
    #[must_use]
    pub fn on(queue: Q) -> Self {
        Self { queue, slab: Slab::default() }
    }

    /// Plays one run to its end; nothing is cut off.
    pub fn play(&mut self, plan: &RunPlan, seed: u64) -> Played {
        self.queue.restart();
        self.slab.clear();
        let mut run = Callers::new(&mut self.queue, &mut self.slab, plan, seed);
        let mut arrivals = Upcoming::new(plan, seed);
        run.begin();
        loop {
            let first = arrivals.first();
            let client = first.and_then(|(_, source)| arrivals.client(source));
            let arrival =
                first.map_or(CallerEvent::LAST, |(at, source)| run.arrival(at, source, client));
            if let Some(event) = run.queue.pop_before(arrival) {
                run.happen(event);
            } else if let Some((_, source)) = first {
                run.note(arrival);
                run.arrive(arrival);
                arrivals.advance(source);
            } else {
                return run.finish();
            }
        }
    }
}

impl Default for Simulation {
    fn default() -> Self {
        Self::new()
    }
}

/// The next first attempt of every source.
struct Upcoming {
    sources: Vec<(ArrivalTimes, Option<Instant>)>,
    /// The earliest of them; looked for only when one has moved.
    first: Option<(Instant, u8)>,
}

impl Upcoming {
    fn new(plan: &RunPlan, seed: u64) -> Self {
        let times = (0..).zip(plan.sources()).map(|(source, rule)| rule.times(seed, source));
        let sources = times.map(|mut times| {
            let first = times.next();
            (times, first)
        });
        let mut all = Self { sources: sources.collect(), first: None };
        all.find_first();
        all
    }

    #[inline]
    const fn first(&self) -> Option<(Instant, u8)> {
        self.first
    }

    /// The client of the next first attempt of this source, if it makes many calls.
    #[inline]
    fn client(&self, source: u8) -> Option<u32> {
        self.sources[usize::from(source)].0.client()
    }

    #[inline]
    fn advance(&mut self, source: u8) {
        let (times, next) = &mut self.sources[usize::from(source)];
        *next = times.next();
        match self.sources.as_slice() {
            [(_, next)] => self.first = next.map(|at| (at, 0)),
            _ => self.find_first(),
        }
    }

    fn find_first(&mut self) {
        let first = (0..).zip(&self.sources).filter_map(|(source, (_, at))| Some(((*at)?, source)));
        self.first = first.min();
    }
}

impl<Q: Queue> Callers<'_, Q> {
    /// Whatever is to happen by itself.
    fn begin(&mut self) {
        for (shard, at) in self.traffic.backend.resumptions() {
            self.queue.push(CallerEvent::new(at, Class::Resume, shard));
        }
    }

    #[inline]
    fn happen(&mut self, event: CallerEvent) {
        self.note(event);
        let (now, [place, kind]) = (event.at(), event.words());
        let ticket = Traffic::ticket(event.id(), place);
        match event.class() {
            Class::Wake if self.plain => self.wake_plain(event),
            Class::Wake if slab::carries_call(event) => self.wake_parked(event),
            Class::Wake if kind == QUEUED => self.wake_queued(now, ticket),
            Class::Wake => self.wake_kept(now, ticket),
            Class::Arrival => self.arrive(event),
            Class::Failed | Class::Served if Traffic::is_of_backend(event) => {
                self.hear(now, ticket, Traffic::outcome(event));
            }
            Class::Failed | Class::Served => self.hear_inner(now, ticket, Traffic::outcome(event)),
            Class::Timeout if kind == PATIENCE => self.lose_patience(now, ticket),
            Class::Timeout => self.time_out(now, ticket),
            Class::Hedge => self.hedge(now, ticket),
            Class::Reach => match Traffic::shard(event) {
                Some(shard) => self.reach_backend(now, ticket, shard, event),
                None => self.reach_inner(now, ticket),
            },
            Class::Finish => self.finish_work(now, ticket, Traffic::finished(event)),
            Class::Resume => self.start_work(now, event.id()),
            Class::Lease => self.lease(now, event),
        }
        self.call_turns(now);
    }

    /// A worker is done with an attempt, and takes the next.
    fn finish_work(&mut self, now: Instant, ticket: Ticket, work: FinishedWork) {
        let FinishedWork { shard, refused, miss, crashes } = work;
        let backend = &mut self.traffic.backend;
        if backend.has_lost(shard, crashes) {
            return;
        }
        backend.leave(now, shard, ticket.id, ticket.number);
        let outcome = match refused {
            true => REFUSED,
            false => backend.result(shard, ticket.id, ticket.number),
        };
        if miss && outcome.verdict == Verdict::Ok {
            backend.fill(now, shard, self.slab.waits_for(ticket));
        }
        self.answer(now, ticket, now, outcome);
        self.start_work(now, shard);
    }

    /// Free workers of this shard take what waits.
    fn start_work(&mut self, now: Instant, shard: u32) {
        self.scale(now, shard);
        let mut dropped = 0;
        loop {
            let Self { traffic, slab, .. } = &mut *self;
            let waited_for = |job: &QueuedAttempt| slab.waits_for(Traffic::ticket_of(job));
            match traffic.backend.start_next(now, shard, waited_for, |_| dropped += 1) {
                None => break,
                Some(QueueTurn::Started(job, work)) => {
                    self.score.track.queued -= u64::from(work.waited);
                    self.queue.push(Traffic::finish(&work, &job, shard));
                }
                Some(QueueTurn::Refused(job)) => {
                    self.score.track.queued -= 1;
                    self.answer(now, Traffic::ticket_of(&job), now, REFUSED);
                }
            }
        }
        self.score.track.queued -= dropped;
    }

    /// The wait for another copy is over.
    fn hedge(&mut self, now: Instant, ticket: Ticket) {
        let Some(kept) = self.slab.get(ticket.slot, ticket.id) else { return };
        if kept.flights.is_empty() || kept.hedge_at.take_if(|at| *at == now).is_none() {
            return;
        }
        let Some((who, mut session)) = self.kept(ticket) else { return };
        let act = session.on_wake(self.ledgers.of(who.ledger), now);
        self.follow(now, who, session, act);
    }

    /// A caller that is kept has waited long enough.
    fn wake_kept(&mut self, now: Instant, ticket: Ticket) {
        let Some((who, mut session)) = self.kept(ticket) else { return };
        self.score.track.retrying -= 1;
        let cancelled = self.end_of_outer(&who) <= now;
        let ledger = self.ledgers.of(who.ledger);
        let act =
            if cancelled { session.cancel(ledger, now) } else { session.on_wake(ledger, now) };
        self.follow(now, who, session, act);
    }
}
