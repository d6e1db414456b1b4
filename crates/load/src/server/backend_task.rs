//! The task that owns the backend: attempts in, answers out, each at its instant.

use std::collections::{BTreeMap, VecDeque};

use stagger::{Clock, Sleep, TokioTime};
use stagger_core::{Instant, Outcome, Span};
use stagger_sim::{AttemptTicket, BackendMachine, OfferedAttempt};
use tokio::sync::{mpsc, oneshot};

use crate::attempt_tag::AttemptTag;
use crate::load_row::LoadRow;

/// The work of a server so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Runs that were played; each begins with its first attempt.
    pub runs: u64,
    /// Attempts that came.
    pub attempts: u64,
    /// Attempts that were not answered, because their callers had gone or a new run had begun.
    pub abandoned: u64,
    /// Attempts of rows that the scenario does not have, of runs that are over, and beyond a million in the queue.
    pub refused: u64,
}

/// Something that a connection tells the backend.
#[derive(Debug)]
pub(super) enum ServerEvent {
    /// An attempt came, under a number of its own.
    Came(u64, Option<AttemptTag>, oneshot::Sender<Decision>),
    /// The caller of the attempt of this number waits no longer.
    Left(u64),
}

/// The answer to one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The backend's.
    Answer(Outcome),
    /// The scenario has no row of this name, the run is over, or its queue has reached the bound of the server.
    NotPlayed,
}

/// Attempts in the queues of the backend: those whose callers have gone are worked on too, so that connections
/// do not bound them. A million take 50 MB.
const MOST_BACKLOG: usize = 1_000_000;
/// Runs that are remembered, so that a late attempt of one does not begin it again.
const PAST_RUNS: usize = 64;

/// The backend of all rows; one run at a time.
#[derive(Debug)]
pub(super) struct BackendTask {
    rows: Vec<LoadRow>,
    events: mpsc::UnboundedReceiver<ServerEvent>,
    past: VecDeque<u64>,
    counts: ServerCounts,
}

/// The first attempt of a run.
type FirstAttempt = (u64, Option<AttemptTag>, oneshot::Sender<Decision>);

impl BackendTask {
    pub(super) fn new(rows: Vec<LoadRow>, events: mpsc::UnboundedReceiver<ServerEvent>) -> Self {
        Self { rows, events, past: VecDeque::new(), counts: ServerCounts::default() }
    }

    /// Plays runs until no connection can come any more.
    pub(super) async fn work(mut self) -> ServerCounts {
        let mut next = None;
        loop {
            let first = match next.take() {
                Some(first) => first,
                None => match self.events.recv().await {
                    Some(ServerEvent::Came(key, tag, reply)) => (key, tag, reply),
                    Some(ServerEvent::Left(_)) => continue,
                    None => return self.counts,
                },
            };
            let Some(row) = self.row_of(first.1.as_ref()) else {
                self.counts.attempts += 1;
                self.refuse(first.2);
                continue;
            };
            next = self.play(&row, first).await;
        }
    }

    /// Plays one run, up to the first attempt of another one; `None` when the server ends.
    async fn play(&mut self, row: &LoadRow, first: FirstAttempt) -> Option<FirstAttempt> {
        let tag = first.1.as_ref();
        let run = tag.map(|tag| tag.run);
        let seed = tag.map_or(1, |tag| tag.seed);
        let mut running = Running::new(BackendMachine::new(&row.plan, seed), tag);
        self.counts.runs += 1;
        if let Some(run) = run {
            self.past.push_back(run);
            if self.past.len() > PAST_RUNS {
                self.past.pop_front();
            }
        }
        self.counts.attempts += 1;
        running.arrive(first);
        loop {
            running.answer();
            let wait = running.wait();
            tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Some(ServerEvent::Came(key, tag, reply)) => {
                        let own = tag.as_ref().map(|tag| tag.run);
                        if own.is_some() && own != run {
                            if self.row_of(tag.as_ref()).is_some() {
                                self.counts.abandoned += running.abandoned();
                                return Some((key, tag, reply));
                            }
                            self.counts.attempts += 1;
                            self.refuse(reply);
                            continue;
                        }
                        self.counts.attempts += 1;
                        match running.machine.backlog() < MOST_BACKLOG {
                            true => running.arrive((key, tag, reply)),
                            false => self.refuse(reply),
                        }
                    }
                    Some(ServerEvent::Left(key)) => {
                        self.counts.abandoned += u64::from(running.leave(key));
                    }
                    None => {
                        self.counts.abandoned += running.abandoned();
                        return None;
                    }
                },
                () = TokioTime.sleep(wait.unwrap_or(Span::ZERO)), if wait.is_some() => {}
            }
        }
    }

    /// The row that an attempt belongs to: the named one, and the first one where all have the same server.
    fn row_of(&self, tag: Option<&AttemptTag>) -> Option<LoadRow> {
        let first = self.rows.first()?;
        let Some(tag) = tag else { return Some(first.clone()) };
        if self.past.contains(&tag.run) {
            return None;
        }
        let same = |row: &LoadRow| {
            let (one, other) = (&row.plan, &first.plan);
            (&one.backend, &one.faults, &one.hop) == (&other.backend, &other.faults, &other.hop)
        };
        let named = self.rows.iter().find(|row| row.name == tag.row);
        named.or_else(|| Some(first).filter(|_| self.rows.iter().all(same))).cloned()
    }

    fn refuse(&mut self, reply: oneshot::Sender<Decision>) {
        self.counts.refused += 1;
        // A caller that has gone needs no answer.
        let _ = reply.send(Decision::NotPlayed);
    }
}

/// One run with its clock, and the connections that wait for answers.
struct Running<'p> {
    machine: BackendMachine<'p>,
    /// The instant of the clock at which the run began.
    origin: Instant,
    replies: BTreeMap<AttemptTicket, (u64, oneshot::Sender<Decision>)>,
    tickets: BTreeMap<u64, AttemptTicket>,
    /// Calls without a tag so far.
    untagged: u32,
}

impl<'p> Running<'p> {
    /// A run that is as old as its first attempt says, and begins now without a word of it.
    fn new(machine: BackendMachine<'p>, tag: Option<&AttemptTag>) -> Self {
        let age = tag.map_or(Span::ZERO, |tag| tag.at - Instant::ORIGIN);
        let now = TokioTime.now();
        // An age beyond that of the clock would be no age, but an attack.
        let origin = Instant::ORIGIN + ((now - Instant::ORIGIN) - age.min(now - Instant::ORIGIN));
        let (replies, tickets) = (BTreeMap::new(), BTreeMap::new());
        Self { machine, origin, replies, tickets, untagged: 0 }
    }

    fn now(&self) -> Instant {
        Instant::ORIGIN + (TokioTime.now() - self.origin)
    }

    fn arrive(&mut self, (key, tag, reply): FirstAttempt) {
        let now = self.now();
        let attempt = match tag {
            Some(tag) => OfferedAttempt {
                call: tag.call,
                number: tag.attempt,
                give_up: tag.timeout.map_or(Instant::FAR, |timeout| now + timeout),
            },
            None => {
                let call = self.untagged;
                self.untagged = call.wrapping_add(1);
                OfferedAttempt::first_of(call)
            }
        };
        let ticket = self.machine.arrive(now, attempt);
        self.replies.insert(ticket, (key, reply));
        self.tickets.insert(key, ticket);
    }

    /// Whether the caller of this number was one that still waited.
    fn leave(&mut self, key: u64) -> bool {
        let Some(ticket) = self.tickets.remove(&key) else { return false };
        self.replies.remove(&ticket);
        self.machine.leave(self.now(), ticket);
        true
    }

    /// Sends the answers that are due.
    fn answer(&mut self) {
        for (ticket, outcome) in self.machine.answers(self.now()) {
            let Some((key, reply)) = self.replies.remove(&ticket) else { continue };
            self.tickets.remove(&key);
            // A caller that has gone needs no answer.
            let _ = reply.send(Decision::Answer(outcome));
        }
    }

    /// The time until something happens by itself.
    fn wait(&self) -> Option<Span> {
        let next = self.machine.next()?;
        Some((self.origin + (next - Instant::ORIGIN)) - TokioTime.now())
    }

    fn abandoned(&self) -> u64 {
        self.replies.len() as u64
    }
}
