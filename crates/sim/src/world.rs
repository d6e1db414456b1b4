//! One run: clients, a server and the pending events, until nothing is left to happen.

use std::hint::black_box;

use stagger_core::{Instant, Outcome, Policy, Verdict};

use crate::arrivals::Arrivals;
use crate::client::{Client, Next};
use crate::meter::{Counts, Meter, Stretch};
use crate::queue::{Class, Event, Queue, Wheel};
use crate::server::Server;
use crate::streams::{Purpose, Stream, mix};

/// Everything that a run is made of, except its seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// When callers make their first attempt.
    pub arrivals: Arrivals,
    /// What answers them.
    pub server: Server,
    /// How each of them retries.
    pub policy: Policy,
    /// An instant on which a bucket edge lies.
    pub edge: Instant,
    /// Where the peak of attempts is looked for.
    pub attempts_in: Stretch,
    /// Where the peak of retries is looked for.
    pub retries_in: Stretch,
}

/// What one run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Calls made.
    pub calls: u64,
    /// Calls that ended in success.
    pub succeeded: u64,
    /// Attempts, first ones included, by the time they reached the server.
    pub attempts: Counts,
    /// Retries, by the time they reached the server.
    pub retries: Counts,
    /// Successes, by the time they reached the caller.
    pub served: Counts,
    /// A checksum over all events in their order: equal runs have equal digests.
    pub digest: u64,
}

/// The machine that plays runs; one may be used for many, and keeps its memory between them.
///
/// ```
/// use stagger_core::{Instant, Span};
/// use stagger_sim::{Arrivals, Law, Plan, Schedule, Server, Stretch, World};
/// let up_at = Instant::ORIGIN + Span::from_millis(200);
/// let plan = Plan {
///     arrivals: Arrivals::Together { callers: 100 },
///     server: Server::down(Instant::ORIGIN, up_at),
///     policy: Law::None.policy(&Schedule::default())?,
///     edge: up_at,
///     attempts_in: Stretch::ALWAYS,
///     retries_in: Stretch::ALWAYS,
/// };
/// // Without jitter all come at 0, 100 and 300 ms, and the third attempt succeeds.
/// let played = World::new().play(&plan, 1);
/// assert_eq!((played.succeeded, played.attempts.total, played.attempts.peak), (100, 300, 100));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct World<Q = Wheel> {
    queue: Q,
    clients: Vec<Client>,
}

impl World {
    /// A world with the fast queue.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Wheel::new())
    }
}

impl<Q: Queue> World<Q> {
    /// A world with this queue, which must be empty.
    #[must_use]
    pub const fn on(queue: Q) -> Self {
        Self { queue, clients: Vec::new() }
    }

    /// Plays one run to its end; nothing is cut off.
    pub fn play(&mut self, plan: &Plan, seed: u64) -> Played {
        self.clients.clear();
        let mut run = Run::new(self, plan, seed);
        let mut arrivals = plan.arrivals.times(seed);
        let mut upcoming = arrivals.next();
        loop {
            let arrival = upcoming.map_or(Event::LAST, |at| run.arrival(at));
            if let Some(event) = run.queue.pop_before(arrival) {
                run.happen(event);
                run.look_ahead();
            } else if upcoming.is_some() {
                run.happen(arrival);
                upcoming = arrivals.next();
            } else {
                return run.finish();
            }
        }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// The state of one run.
struct Run<'a, Q> {
    plan: &'a Plan,
    queue: &'a mut Q,
    clients: &'a mut Vec<Client>,
    delays: Stream,
    attempts: Meter,
    retries: Meter,
    served: Meter,
    succeeded: u64,
    digest: u64,
    /// Events until the next look ahead.
    ahead: usize,
}

impl<'a, Q: Queue> Run<'a, Q> {
    fn new(world: &'a mut World<Q>, plan: &'a Plan, seed: u64) -> Self {
        Self {
            plan,
            queue: &mut world.queue,
            clients: &mut world.clients,
            delays: Stream::new(seed, Purpose::Delay),
            attempts: Meter::new(plan.edge, plan.attempts_in),
            retries: Meter::new(plan.edge, plan.retries_in),
            served: Meter::new(plan.edge, Stretch::ALWAYS),
            succeeded: 0,
            digest: 0,
            ahead: 0,
        }
    }

    /// The event of the next client's first attempt.
    fn arrival(&self, at: Instant) -> Event {
        // OK because `Times` ends before the ids do.
        #[expect(clippy::cast_possible_truncation, reason = "at most u32::MAX arrivals")]
        let id = self.clients.len() as u32;
        Event::new(at, Class::Arrival, id)
    }

    #[inline]
    fn happen(&mut self, event: Event) {
        self.digest = mix(self.digest.rotate_left(1) ^ event.at().as_nanos()) ^ event.key();
        let (now, id) = (event.at(), event.id());
        match event.class() {
            Class::Arrival => {
                let (client, next) = Client::start(&self.plan.policy, now);
                self.clients.push(client);
                self.follow(id, now, next);
            }
            Class::Wake => {
                let next = self.clients[id as usize].wake(&self.plan.policy, now);
                if next == Next::Attempt {
                    self.retries.count(now);
                }
                self.follow(id, now, next);
            }
            Class::Refused => self.hear(id, now, Verdict::Transient),
            Class::Served => self.hear(id, now, Verdict::Ok),
        }
    }

    /// Reads the clients of the next events all at once, so that their cache misses overlap: a
    /// million clients do not fit any cache, and one miss after the other is most of a run's time.
    #[inline]
    fn look_ahead(&mut self) {
        if self.ahead > 0 {
            self.ahead -= 1;
            return;
        }
        let upcoming = self.queue.upcoming();
        self.ahead = upcoming.len();
        let read = |event: &Event| self.clients[event.id() as usize].attempts();
        black_box(upcoming.iter().map(read).fold(0, u32::wrapping_add));
    }

    /// The answer reaches its client.
    fn hear(&mut self, id: u32, now: Instant, verdict: Verdict) {
        let next = self.settle(id, now, verdict);
        self.follow(id, now, next);
    }

    /// What a client does now, answers that take no time included.
    fn follow(&mut self, id: u32, now: Instant, mut next: Next) {
        loop {
            match next {
                Next::Wait(at) => return self.queue.push(Event::new(at, Class::Wake, id)),
                Next::Over => return,
                Next::Attempt => {}
            }
            self.attempts.count(now);
            let reply = self.plan.server.answer(now);
            if reply.at > now {
                let served = reply.verdict == Verdict::Ok;
                let class = if served { Class::Served } else { Class::Refused };
                return self.queue.push(Event::new(reply.at, class, id));
            }
            next = self.settle(id, now, reply.verdict);
        }
    }

    fn settle(&mut self, id: u32, now: Instant, verdict: Verdict) -> Next {
        if verdict == Verdict::Ok {
            self.succeeded += 1;
            self.served.count(now);
        }
        let client = &mut self.clients[id as usize];
        let mut draw = self.delays.at(id, client.attempts());
        client.settle(&self.plan.policy, now, &Outcome::new(verdict), &mut draw)
    }

    fn finish(self) -> Played {
        Played {
            calls: self.clients.len() as u64,
            succeeded: self.succeeded,
            attempts: self.attempts.finish(),
            retries: self.retries.finish(),
            served: self.served.finish(),
            digest: self.digest,
        }
    }
}
