//! Callers who need no keeping: what follows an event is decided before the next one.
//!
//! Where nothing remembers, nothing is asked and every answer comes at once, a call is nothing but
//! the engine's machine, and between two attempts that machine is a few words inside an event. So 25
//! million callers are 25 million events and nothing else.
//!
//! Before a server whose queue is full the same holds for those that it refuses, which are nearly all of a large
//! herd.

use stagger_core::retry::{Action, Call, Retry, Step, Wait};
use stagger_core::{Instant, Outcome, Verdict};

use super::callers::Callers;
use super::slab;
use crate::queue::{CallerEvent, Queue};
use crate::server::REFUSED;

impl<Q: Queue> Callers<'_, Q> {
    /// A call begins.
    #[inline]
    pub(super) fn begin_plain(&mut self, id: u32) {
        let now = self.score.now();
        let (retry, step) = Retry::start(&self.front().policy, Call::idempotent(), now);
        self.step_plain(now, id, retry, step, Self::answer_plain);
    }

    /// A call has waited long enough.
    #[inline]
    pub(super) fn wake_plain(&mut self, event: CallerEvent) {
        self.score.track.retrying -= 1;
        let mut retry = slab::call(event).machine();
        let step = retry.on_wake(&self.front().policy, event.at());
        self.step_plain(event.at(), event.id(), retry, step, Self::answer_plain);
    }

    /// Whether the attempt of a call that has waited long enough is refused, at no cost, by a full queue.
    #[inline]
    pub(super) fn is_refused(&self, event: CallerEvent) -> bool {
        let backend = &self.traffic.backend;
        let parks = slab::call(event).attempts < slab::MAX_ATTEMPTS;
        parks && backend.only_refuses(backend.shard_of(event.id()))
    }

    /// The same as [`wake_plain`](Self::wake_plain) for a call that [`is_refused`](Self::is_refused).
    #[inline]
    pub(super) fn wake_refused(&mut self, event: CallerEvent) {
        self.score.track.retrying -= 1;
        let mut retry = slab::call(event).machine();
        let step = retry.on_wake(&self.front().policy, event.at());
        self.step_plain(event.at(), event.id(), retry, step, |_, _, _, _| REFUSED);
    }

    /// The answer of a backend that answers at once.
    #[inline(always)]
    fn answer_plain(&mut self, now: Instant, id: u32, number: u32) -> Outcome {
        let backend = &mut self.traffic.backend;
        backend.answer(now, backend.shard_of(id), id, number)
    }

    /// One attempt, its answer, and what the machine makes of it.
    #[inline(always)]
    fn step_plain(
        &mut self,
        now: Instant,
        id: u32,
        mut retry: Retry,
        mut step: Step,
        answer: impl FnOnce(&mut Self, Instant, u32, u32) -> Outcome,
    ) {
        let caller = self.front();
        if let Step::Act(Action::Attempt(attempt)) = step {
            self.score.attempt(id, attempt.number, false);
            let outcome = answer(self, now, id, attempt.number);
            if outcome.verdict == Verdict::Ok {
                self.score.finished(true);
                self.score.served(attempt.number, retry.started());
            }
            let mut draw = self.delays.at(id, attempt.number);
            step = retry.on_any_outcome(&caller.policy, now, &outcome, &mut draw);
        }
        match step {
            Step::Act(Action::Wait(Wait::Until(at))) => {
                let at = self.wakes_at(caller, id, retry.attempts(), at);
                let call = retry.park(&caller.policy);
                let wake = call.and_then(|call| slab::wake(at, id, &call, &caller.policy));
                self.score.track.retrying += 1;
                self.queue.push(wake.expect("no remedies and few attempts: see `are_plain`"));
            }
            Step::Act(Action::Done(done)) => {
                self.score.over(&done);
                self.think(now, id, id, 0);
            }
            // Without a budget, a breaker, copies and remedies, nothing is asked or made again.
            Step::Ask(_)
            | Step::Act(
                Action::Attempt(_) | Action::Hedge(_) | Action::Wait(Wait::Copies { .. }),
            ) => {}
        }
    }
}
