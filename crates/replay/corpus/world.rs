//! A small simulator of callers and a backend, written for the corpus alone: it shares no code with the
//! lab and none with the reader of logs, so that both can be checked against it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A world; times are in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    /// Calls a second, in a Poisson process.
    pub(crate) rate: u64,
    pub(crate) until: u64,
    pub(crate) callers: Callers,
    pub(crate) backend: Backend,
    pub(crate) fault: Option<Fault>,
    /// Failures in a thousand that have no cause.
    pub(crate) usual: u64,
}

/// The callers: how often and how late they come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callers {
    pub(crate) attempts: u32,
    pub(crate) base: u64,
    pub(crate) jitter: DelayJitter,
    /// The time after which an attempt is given up.
    pub(crate) timeout: u64,
    /// Pairs of a client and a path; each call is a pair of its own when `None`.
    pub(crate) pairs: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum DelayJitter {
    None,
    Equal,
    Full,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Backend {
    /// Attempts that are worked on at once; any number when `None`.
    pub(crate) workers: Option<u32>,
    pub(crate) service: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// 503 immediately.
    Refuse,
    /// No answer.
    Silence,
    /// Nothing is begun.
    Stall,
    /// So many in a thousand fail.
    Failing(u64),
    /// Work takes so many times as long.
    Slow(u64),
}

/// One attempt, as an access log has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) call: u32,
    pub(crate) began: u64,
    pub(crate) took: u64,
    pub(crate) status: u16,
}

/// The run of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    /// In the order of their ends.
    pub(crate) attempts: Vec<Attempt>,
    /// The arrival of each call, and whether it was served.
    pub(crate) calls: Vec<(u64, bool)>,
}

impl World {
    /// Plays it.
    pub(crate) fn play(&self) -> Played {
        let mut run = Run::new(self);
        while let Some(Reverse((now, _, event))) = run.events.pop() {
            run.happen(now, event);
        }
        run.played.attempts.sort_by_key(|attempt| attempt.began + attempt.took);
        run.played
    }

    /// The same world, whose callers never retry.
    pub(crate) fn without_retries(&self) -> Self {
        Self { callers: Callers { attempts: 1, ..self.callers }, ..self.clone() }
    }

    /// The pair of client and path of a call.
    pub(crate) fn pair(&self, call: u32) -> u32 {
        self.callers.pairs.map_or(call, |pairs| Draws::of(self.seed, 3, call).below(pairs))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An attempt of this call with this number begins.
    Begin(u32, u32),
    /// The work on this attempt is done.
    Done(usize),
    /// Its caller gives up.
    GiveUp(usize),
    /// The stall is over.
    Resume,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    call: u32,
    number: u32,
    began: u64,
    is_open: bool,
}

struct Run<'w> {
    world: &'w World,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    attempts: Vec<UnderWay>,
    waiting: VecDeque<usize>,
    busy: u32,
    played: Played,
}

impl<'w> Run<'w> {
    fn new(world: &'w World) -> Self {
        let mut run = Self {
            world,
            events: BinaryHeap::new(),
            order: 0,
            attempts: Vec::new(),
            waiting: VecDeque::new(),
            busy: 0,
            played: Played::default(),
        };
        let mut at = 0;
        for call in 0.. {
            at += Draws::of(world.seed, 1, call).exponential(1_000_000 / world.rate);
            if at >= world.until {
                break;
            }
            run.played.calls.push((at, false));
            run.at(at, Event::Begin(call, 1));
        }
        if let Some(fault) = world.fault.filter(|fault| fault.kind == FaultKind::Stall) {
            run.at(fault.until, Event::Resume);
        }
        run
    }

    fn at(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    fn fault(&self, now: u64) -> Option<FaultKind> {
        let fault = self.world.fault.filter(|fault| (fault.from..fault.until).contains(&now));
        fault.map(|fault| fault.kind)
    }

    fn happen(&mut self, now: u64, event: Event) {
        match event {
            Event::Begin(call, number) => self.begin(now, call, number),
            Event::Done(attempt) => {
                self.busy = self.busy.saturating_sub(1);
                let is_bad = self.is_bad(now, attempt);
                self.end(now, attempt, if is_bad { 503 } else { 200 });
                self.start_next(now);
            }
            Event::GiveUp(attempt) => self.end(now, attempt, 504),
            Event::Resume => self.start_next(now),
        }
    }

    fn begin(&mut self, now: u64, call: u32, number: u32) {
        let attempt = self.attempts.len();
        self.attempts.push(UnderWay { call, number, began: now, is_open: true });
        match self.fault(now) {
            Some(FaultKind::Refuse) => return self.end(now + 1_000, attempt, 503),
            Some(FaultKind::Silence) => {}
            _ => {
                self.waiting.push_back(attempt);
                self.start_next(now);
            }
        }
        self.at(now + self.world.callers.timeout, Event::GiveUp(attempt));
    }

    fn start_next(&mut self, now: u64) {
        let fault = self.fault(now);
        let is_free = |busy| self.world.backend.workers.is_none_or(|workers| busy < workers);
        let mut busy = self.busy;
        let mut started = Vec::new();
        while fault != Some(FaultKind::Stall) && is_free(busy) {
            let Some(attempt) = self.waiting.pop_front() else { break };
            started.push(attempt);
            busy += 1;
        }
        self.busy = busy;
        let times = if let Some(FaultKind::Slow(times)) = fault { times } else { 1 };
        let service = self.world.backend.service * times;
        started.into_iter().for_each(|attempt| self.at(now + service, Event::Done(attempt)));
    }

    fn is_bad(&self, now: u64, attempt: usize) -> bool {
        let UnderWay { call, number, .. } = self.attempts[attempt];
        let share = match self.fault(now) {
            Some(FaultKind::Failing(share)) => share,
            _ => self.world.usual,
        };
        u64::from(Draws::of(self.world.seed, 100 + number, call).below(1_000)) < share
    }

    fn end(&mut self, now: u64, attempt: usize, status: u16) {
        let UnderWay { call, number, began, is_open } = self.attempts[attempt];
        if !is_open {
            return;
        }
        self.attempts[attempt].is_open = false;
        self.played.attempts.push(Attempt { call, began, took: now - began, status });
        if status == 200 {
            self.played.calls[call as usize].1 = true;
        } else if number < self.world.callers.attempts {
            self.at(now + self.delay(call, number), Event::Begin(call, number + 1));
        }
    }

    fn delay(&self, call: u32, number: u32) -> u64 {
        let Callers { base, jitter, .. } = self.world.callers;
        let ceiling = base << (number - 1);
        let part = |of: u64| Draws::of(self.world.seed, 200 + number, call).word() % (of + 1);
        match jitter {
            DelayJitter::None => ceiling,
            DelayJitter::Equal => ceiling / 2 + part(ceiling / 2),
            DelayJitter::Full => part(ceiling),
        }
    }
}

/// Random words: SplitMix64 over seed, purpose and number, so that a call draws the same whatever others do.
struct Draws(u64);

impl Draws {
    fn of(seed: u64, purpose: u32, number: u32) -> Self {
        let mut draws = Self(seed ^ (u64::from(purpose) << 40) ^ u64::from(number));
        draws.0 = draws.word();
        draws
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from((u128::from(self.word()) * u128::from(bound)) >> 64).expect("below the bound")
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "53 bits of a word, and some seconds"
    )]
    fn exponential(&mut self, mean: u64) -> u64 {
        let unit = ((self.word() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-unit.ln() * mean as f64).round() as u64
    }
}
