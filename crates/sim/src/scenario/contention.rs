//! Writers that contend for one row: the simulation with which full jitter was made known.

use stagger_core::retry::{Action, Call, PlainLedger, Session, Wait};
use stagger_core::{Instant, Outcome, Span, Verdict};

use crate::dist::normal_magnitude;
use crate::plan::{CallerLayer, RecoveryState, Stretch};
use crate::probe::{Latency, Meter, MeterCounts, Strip};
use crate::queue::{CallerEvent, Class, Queue, Wheel};
use crate::simulation::{Played, Series};
use crate::streams::{Purpose, RandomStream, mix};

/// One row with a version. All clients start at the origin and each must write once: it reads the
/// row, and its write is accepted only if no other write came in between. A refused write waits the delay
/// of its policy and starts over.
///
/// Source: Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015) and the
/// simulator published with it. A hop takes the magnitude of a normal draw, 10 ms with a deviation
/// of 2 ms: read there, read back, write there, answer back. The backoff is waited on top of the
/// next hop, and a write that reaches the row counts as an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Contention {
    /// Clients.
    pub clients: u32,
    /// The law by which they come back.
    pub caller: CallerLayer,
}

/// Mean and deviation of a hop.
const HOP: (Span, Span) = (Span::from_millis(10), Span::from_millis(2));

impl Contention {
    /// Plays one run.
    #[must_use]
    pub fn play(&self, seed: u64) -> Played {
        Race::new(self, seed).run()
    }
}

struct Race<'a> {
    contention: &'a Contention,
    queue: Wheel,
    writers: Vec<ContendingWriter<'a>>,
    ledger: PlainLedger,
    hops: RandomStream,
    delays: RandomStream,
    version: u64,
    attempts: Meter,
    retries: Meter,
    served: Meter,
    latency: Latency,
    strip: Strip,
    events: u64,
    digest: u64,
    now: Instant,
}

struct ContendingWriter<'a> {
    session: Session<'a>,
    act: Action,
    /// The version it read.
    read: u64,
    hops: u32,
}

/// The kinds of events of a writer, by their tags.
const AT_READ: u32 = 0;
const HAS_READ: u32 = 1;
const AT_WRITE: u32 = 2;
const ACCEPTED: u32 = 3;
const REFUSED: u32 = 4;

impl<'a> Race<'a> {
    fn new(contention: &'a Contention, seed: u64) -> Self {
        let meter = || Meter::new(Instant::ORIGIN, Stretch::ALWAYS);
        Self {
            contention,
            queue: Wheel::new(),
            writers: Vec::new(),
            ledger: PlainLedger::new(&contention.caller.policy),
            hops: RandomStream::new(seed, Purpose::There),
            delays: RandomStream::new(seed, Purpose::Delay),
            version: 0,
            attempts: meter(),
            retries: meter(),
            served: meter(),
            latency: Latency::default(),
            strip: Strip::default(),
            events: 0,
            digest: 0,
            now: Instant::ORIGIN,
        }
    }

    fn run(mut self) -> Played {
        for id in 0..self.contention.clients {
            let policy = &self.contention.caller.policy;
            let call = Call::idempotent();
            let (session, act) = Session::start(policy, &mut self.ledger, call, Instant::ORIGIN);
            self.writers.push(ContendingWriter { session, act, read: 0, hops: 0 });
            self.hop(id, AT_READ, Instant::ORIGIN);
        }
        while let Some(event) = self.queue.pop_before(CallerEvent::LAST) {
            self.events += 1;
            self.now = event.at();
            let folded = self.digest.rotate_left(1) ^ self.now.as_nanos();
            self.digest = mix(folded) ^ event.key();
            self.happen(event.id(), event.tag());
        }
        self.finish()
    }

    fn happen(&mut self, id: u32, what: u32) {
        match what {
            AT_READ => {
                self.writers[id as usize].read = self.version;
                self.hop(id, HAS_READ, self.now);
            }
            HAS_READ => self.hop(id, AT_WRITE, self.now),
            AT_WRITE => {
                let accepted = self.writers[id as usize].read == self.version;
                self.version += u64::from(accepted);
                self.count(id);
                self.hop(id, if accepted { ACCEPTED } else { REFUSED }, self.now);
            }
            _ => self.settle(id, what == ACCEPTED),
        }
    }

    fn count(&mut self, id: u32) {
        self.attempts.count(self.now);
        self.strip.note(id, self.now);
        if self.writers[id as usize].session.retry().attempts() > 1 {
            self.retries.count(self.now);
        }
    }

    fn settle(&mut self, id: u32, accepted: bool) {
        let writer = &mut self.writers[id as usize];
        let Action::Attempt(launched) = writer.act else { return };
        let verdict = if accepted { Verdict::Ok } else { Verdict::Transient };
        let mut draw = self.delays.at(id, launched.attempt.number);
        let outcome = Outcome::new(verdict);
        let next =
            writer.session.on_outcome(&mut self.ledger, self.now, launched, &outcome, &mut draw);
        match next {
            Action::Wait(Wait::Until(at)) => {
                let foreign = self.contention.caller.foreign;
                let retries = writer.session.retry().attempts();
                let more = foreign.map(|law| law.delay(&self.delays, id, retries));
                let at = at + more.unwrap_or(Span::ZERO);
                writer.act = writer.session.on_wake(&mut self.ledger, at);
                self.hop(id, AT_READ, at);
            }
            Action::Done(done) if accepted => {
                self.served.count(self.now);
                self.latency.add(done.elapsed);
            }
            _ => {}
        }
    }

    /// The writer's next hop sets out at `from`.
    fn hop(&mut self, id: u32, arrives_as: u32, from: Instant) {
        let writer = &mut self.writers[id as usize];
        writer.hops += 1;
        let took = normal_magnitude(HOP.0, HOP.1, &mut self.hops.at(id, writer.hops));
        self.queue.push(CallerEvent::new(from + took, Class::Reach, id).with(arrives_as, [0; 2]));
    }

    fn finish(self) -> Played {
        let served = self.served.finish();
        Played {
            calls: u64::from(self.contention.clients),
            bystanding: 0,
            succeeded: served.total,
            attempts: self.attempts.finish(),
            retries: self.retries.finish(),
            wasted: MeterCounts::default(),
            finished: served.total,
            served,
            series: Series::default(),
            latency: self.latency,
            recovery: RecoveryState::Recovered(self.now - Instant::ORIGIN),
            strip: self.strip,
            length: self.now - Instant::ORIGIN,
            events: self.events,
            digest: self.digest,
        }
    }
}
