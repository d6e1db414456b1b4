//! Callers who need no keeping: what follows an event is decided before the next one.
//!
//! Where nothing remembers, nothing is asked and every answer comes at once, a call is nothing but
//! the engine's machine, and between two attempts that machine is a few words inside an event. So 25
//! million callers are 25 million events and nothing else.

use stagger_core::retry::{Action, Call, Retry, Step, Wait};
use stagger_core::{Instant, Verdict};

use super::callers::Callers;
use super::slab;
use crate::queue::{CallerEvent, Queue};

impl<Q: Queue> Callers<'_, Q> {
    /// A call begins.
    #[inline]
    pub(super) fn begin_plain(&mut self, id: u32) {
        let now = self.score.now();
        let (retry, step) = Retry::start(&self.front().policy, Call::idempotent(), now);
        self.step_plain(now, id, retry, step);
    }

    /// A call has waited long enough.
    #[inline]
    pub(super) fn wake_plain(&mut self, event: CallerEvent) {
        self.score.track.retrying -= 1;
        let mut retry = slab::call(event).machine();
        let step = retry.on_wake(&self.front().policy, event.at());
        self.step_plain(event.at(), event.id(), retry, step);
    }

    /// One attempt, its answer, and what the machine makes of it.
    #[inline(always)]
    fn step_plain(&mut self, now: Instant, id: u32, mut retry: Retry, mut step: Step) {
        let caller = self.front();
        if let Step::Act(Action::Attempt(attempt)) = step {
            self.score.attempt(id, attempt.number, false);
            let backend = &mut self.traffic.backend;
            let outcome = backend.answer(now, backend.shard_of(id), id, attempt.number);
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
