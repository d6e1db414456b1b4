//! Every attempt of a run, as the backend's access log would have it.

use std::collections::BTreeMap;

use stagger_core::{Instant, Span};

use super::run::Simulation;
use super::score::Played;
use super::traffic::Traffic;
use crate::plan::{Hop, RunPlan};
use crate::queue::{CallerEvent, Class, Queue, Wheel};

/// One attempt at the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayedAttempt {
    /// The outermost call that it is part of.
    pub call: u32,
    /// The client that made the call; the call's own number where clients make one call each.
    pub client: u32,
    /// The source of the call in the plan: those of bystanders come after the callers' own.
    pub source: u8,
    /// Its number in the call of the innermost layer, from 1.
    pub number: u32,
    /// The time at which it reached the backend.
    pub began: Instant,
    /// The time at which it was answered, or at which its caller gave up.
    pub ended: Instant,
    /// Its end.
    pub end: AttemptEnd,
}

/// The end of an attempt, as the backend sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// A success.
    Served,
    /// A failure.
    Failed,
    /// The caller gave up before there was an answer.
    GaveUp,
}

impl PlayedAttempt {
    /// Plays a run, and gives its attempts in the order of their ends.
    ///
    /// Attempts that never ended are left out. A plan without a way to the backend is played with one of
    /// a nanosecond. Hedged calls of inner layers are not told apart.
    ///
    /// ```
    /// use stagger_core::{Instant, Span};
    /// use stagger_sim::{ArrivalProcess, AttemptEnd, Law, PlayedAttempt, RunPlan, Schedule};
    /// let caller = Law::Full.caller(&Schedule::default())?;
    /// let arrivals = ArrivalProcess::Even { callers: 3, spacing: Span::from_millis(2) };
    /// let (played, attempts) = PlayedAttempt::of_run(&RunPlan::new(arrivals, caller), 1);
    /// assert_eq!((played.attempts.total, attempts.len()), (3, 3));
    /// assert_eq!((attempts[2].call, attempts[2].end), (2, AttemptEnd::Served));
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    #[must_use]
    pub fn of_run(plan: &RunPlan, seed: u64) -> (Played, Vec<Self>) {
        let hop = match plan.hop {
            Hop::None => Hop::Fixed(Span::from_nanos(1)),
            other => other,
        };
        let plan = RunPlan { hop, ..plan.clone() };
        let mut simulation = Simulation::on(LoggingQueue::default());
        let played = simulation.play(&plan, seed);
        (played, simulation.queue.finish())
    }
}

/// A queue that notes the attempts among the events that pass.
#[derive(Debug, Default)]
struct LoggingQueue {
    events: Wheel,
    /// The client and the source of every outermost call.
    calls: Vec<(u32, u8)>,
    /// The outermost call of every inner one.
    inner: Vec<u32>,
    /// Attempts that are under way, by call and number, with the time at which their callers give up.
    open: BTreeMap<(u32, u32), (PlayedAttempt, Instant)>,
    done: Vec<PlayedAttempt>,
}

/// Ids from here on are calls of inner layers, numbered in the order in which they begin.
const INNER: u32 = 1 << 31;

impl LoggingQueue {
    fn note(&mut self, event: CallerEvent) {
        match event.class() {
            Class::Arrival => {
                // OK because the word is the number of a client, and the tag that of a source.
                let client = u32::try_from(event.words()[0]).unwrap_or(u32::MAX);
                let source = u8::try_from(event.tag()).unwrap_or(u8::MAX);
                let index = event.id() as usize;
                self.calls.resize(self.calls.len().max(index + 1), (0, 0));
                self.calls[index] = (client, source);
            }
            Class::Reach if Traffic::shard(event).is_none() => {
                let call = self.outermost(event.id());
                self.inner.push(call);
            }
            Class::Reach => self.begin(event),
            Class::Failed | Class::Served if Traffic::is_of_backend(event) => self.answer(event),
            _ => {}
        }
    }

    fn begin(&mut self, event: CallerEvent) {
        let ticket = Traffic::ticket(event.id(), event.words()[0]);
        let call = self.outermost(ticket.id);
        let (client, source) = self.calls.get(call as usize).copied().unwrap_or_default();
        let (number, began) = (ticket.number, event.at());
        let (ended, end) = (began, AttemptEnd::GaveUp);
        let attempt = PlayedAttempt { call, client, source, number, began, ended, end };
        let give_up = Instant::from_nanos(event.words()[1]);
        self.open.insert((ticket.id, number), (attempt, give_up));
    }

    fn answer(&mut self, event: CallerEvent) {
        let ticket = Traffic::ticket(event.id(), event.words()[0]);
        let Some((attempt, give_up)) = self.open.remove(&(ticket.id, ticket.number)) else {
            return;
        };
        let end = match event.class() {
            Class::Served => AttemptEnd::Served,
            _ => AttemptEnd::Failed,
        };
        let answered = PlayedAttempt { ended: event.at(), end, ..attempt };
        let gave_up = PlayedAttempt { ended: give_up, ..attempt };
        self.done.push(if event.at() <= give_up { answered } else { gave_up });
    }

    fn outermost(&self, id: u32) -> u32 {
        let inner = id.checked_sub(INNER).and_then(|inner| self.inner.get(inner as usize));
        inner.copied().unwrap_or(id)
    }

    fn finish(mut self) -> Vec<PlayedAttempt> {
        let open = self.open.into_values().filter(|(_, give_up)| *give_up != Instant::FAR);
        self.done.extend(open.map(|(attempt, ended)| PlayedAttempt { ended, ..attempt }));
        self.done.sort_by_key(|attempt| (attempt.ended, attempt.began, attempt.call));
        self.done
    }
}

impl Queue for LoggingQueue {
    fn restart(&mut self) {
        *self = Self::default();
    }

    fn push(&mut self, event: CallerEvent) {
        self.events.push(event);
    }

    fn pop_before(&mut self, limit: CallerEvent) -> Option<CallerEvent> {
        let event = self.events.pop_before(limit);
        // Nothing comes before the next first attempt, so that is what happens.
        let happens = event.or((limit != CallerEvent::LAST).then_some(limit));
        happens.into_iter().for_each(|event| self.note(event));
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Law, Schedule};
    use crate::plan::{ArrivalProcess, CallerLayer, Fault, Trouble};

    fn plan(attempts: u32, layers: usize) -> RunPlan {
        let caller = Law::Full.caller(&Schedule { attempts, ..Schedule::default() }).unwrap();
        let arrivals = ArrivalProcess::Even { callers: 5, spacing: Span::from_secs(1) };
        let fault = Fault::new(Trouble::Refuse, Instant::ORIGIN, Instant::FAR);
        let callers = vec![caller.clone(); layers];
        RunPlan { callers, faults: vec![fault], ..RunPlan::new(arrivals, caller) }
    }

    #[test]
    fn attempts_of_inner_layers_belong_to_the_outermost_call() {
        let (played, attempts) = PlayedAttempt::of_run(&plan(3, 2), 1);
        assert_eq!((played.attempts.total, attempts.len()), (45, 45));
        for call in 0..5 {
            let own: Vec<_> = attempts.iter().filter(|attempt| attempt.call == call).collect();
            assert_eq!(own.len(), 9);
            assert_eq!(own.iter().filter(|attempt| attempt.number == 1).count(), 3);
            assert!(own.iter().all(|attempt| attempt.client == call));
        }
        assert!(attempts.iter().all(|attempt| attempt.end == AttemptEnd::Failed));
    }

    #[test]
    fn a_caller_that_gives_up_ends_its_attempt() {
        let limit = Span::from_secs(1);
        let silence = Fault::new(Trouble::Silence, Instant::ORIGIN, Instant::FAR);
        let mut plan = plan(2, 1);
        plan.callers = vec![CallerLayer { ..plan.callers[0].clone() }.with_timeout(limit)];
        plan.faults = vec![silence];
        let (_, attempts) = PlayedAttempt::of_run(&plan, 1);
        assert_eq!(attempts.len(), 10);
        for attempt in attempts {
            assert_eq!(attempt.end, AttemptEnd::GaveUp);
            assert!(attempt.ended - attempt.began <= limit);
        }
    }
}
