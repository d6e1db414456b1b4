//! A call under way: its state in the engine, and the permits that go back when it is dropped.

use std::ops::Deref;
use std::sync::Arc;
use std::task::Waker;

use stagger_core::retry::{Action, Call, Done, FirstAttempt, Launched, Ledger, LimitPermit, Stop};
use stagger_core::{Entropy, Instant, Outcome, Span};

use super::call_record::CallRecord;
use super::call_state::{CallState, DestinationView, Since};
use super::clock_precision::ClockPrecision;
use super::error::CallEnd;
use super::history::Mark;
use super::{AttemptInfo, NextStep, Retrier, nested};
use crate::clock::{Clock, Sleep};

/// One call between its start and its end. `R` is its retrier, borrowed or shared.
///
/// Dropped before the end, it gives back a grant that no attempt has followed, and the breaker's
/// ticket. The grant of an attempt under way stays paid: the server works on it all the same.
pub(crate) struct ActiveCall<R, L> {
    retrier: R,
    /// The ledger of its destination, where that is not the retrier's.
    ledger: Option<Arc<L>>,
    state: CallState,
    /// The function that dropping runs. Known from the start, so that no type that holds a call has
    /// to repeat the bounds of its ledger: pin-project-lite could not.
    abandon: fn(&mut Self),
}

impl<R, L> ActiveCall<R, L> {
    /// A call that has not begun; with the ledger of its destination, where that is not the retrier's.
    pub(crate) const fn new<Z>(retrier: R, ledger: Option<Arc<L>>, idempotent: bool) -> Self
    where
        R: Deref<Target = Retrier<Z, L>>,
        Z: Clock,
        for<'l> &'l L: Ledger,
    {
        let abandon = Self::abandon::<Z>;
        let state = CallState::Unstarted { idempotent, started: None };
        Self { retrier, ledger, state, abandon }
    }

    /// The caller is gone, with whatever attempt is under way.
    #[cold]
    fn abandon<Z>(&mut self)
    where
        R: Deref<Target = Retrier<Z, L>>,
        Z: Clock,
        for<'l> &'l L: Ledger,
    {
        let _end = self.give_up(true);
    }
}

impl<R, Z, L> ActiveCall<R, L>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Clock,
    for<'l> &'l L: Ledger,
{
    /// Whether anything has started the call, so that a ledger is told of its success.
    #[inline]
    pub(super) const fn is_started(&self) -> bool {
        !matches!(self.state, CallState::Unstarted { .. })
    }

    /// Whether the first attempt may start without any time known.
    #[inline]
    pub(super) fn needs_no_time(&self) -> bool {
        self.retrier.precision() == ClockPrecision::None
    }

    /// Begins the call, whose first attempt may be ready at once. The clock is read as far as the
    /// policy needs it, because it costs more than all the rest: when it needs none, the session
    /// starts only when the attempt turns out to take time.
    #[inline(always)]
    pub(super) fn begin(&mut self, timed: bool) -> Action<()> {
        let precision = if timed { ClockPrecision::Exact } else { self.retrier.precision() };
        let time = &self.retrier.time;
        let (now, since) = match precision {
            ClockPrecision::None => return Action::Attempt(()),
            ClockPrecision::Recent => (time.recent(), Since::Recent),
            ClockPrecision::Exact => (time.now(), Since::Now),
        };
        self.start_at(now, since)
    }

    /// Begins a call that blocks its thread. Nothing tells when its first attempt begins to take
    /// time, so the clock is read before it: to the nanosecond only where the policy needs that. A policy that
    /// needs no time at all is told the start once an attempt has failed.
    #[inline(always)]
    pub(super) fn begin_blocking(&mut self, timed: bool) -> Action<()> {
        let precision = if timed { ClockPrecision::Exact } else { self.retrier.precision() };
        let time = &self.retrier.time;
        let now = if precision == ClockPrecision::Exact { time.now() } else { time.recent() };
        self.start_at(now, Since::Before)
    }

    /// Notes the start of a call that blocks its thread under a policy that [needs no time](Self::needs_no_time).
    #[inline(always)]
    pub(super) fn note_start(&mut self) {
        if let CallState::Unstarted { started, .. } = &mut self.state {
            *started = Some(self.retrier.time.recent());
        }
    }

    /// Begins a call that may have copies, the next after the measured delay, if there is one.
    pub(super) fn begin_hedged(&mut self) -> Action<()> {
        let (now, hedge_delay) = (self.retrier.time.now(), self.retrier.hedge_delay());
        let (mut call, single) = self.start_facts();
        call.hedge_delay = hedge_delay;
        self.event(|state, view| state.start(view, (call, single), now))
    }

    /// The attempt under way takes time: how much it may take.
    pub(super) fn limit(&mut self) -> Option<Span> {
        self.takes_time();
        self.state.limit(self.retrier.plan())
    }

    /// The attempt under way, to be kept by a driver that keeps several.
    pub(super) fn take_launched(&mut self) -> Option<Launched> {
        self.takes_time();
        self.event(|state, view| state.take_launched(&view))
    }

    /// The facts of the attempt that was decided on last.
    pub(super) fn info(&self) -> AttemptInfo {
        self.state.info(self.retrier.plan())
    }

    /// The attempt under way succeeded, and a report is wanted. Returns its end.
    #[cold]
    pub(super) fn succeed_reported(
        &mut self,
        record: &mut CallRecord<'_>,
        outcome: &Outcome,
    ) -> (Mark, NextStep) {
        let (done, mark) = self.succeed_first(outcome).unwrap_or_else(|| {
            let (mut action, mark) = self.settle(outcome);
            loop {
                if let Action::Done(done) = action {
                    return (done, mark);
                }
                // A success ends a call.
                action = self.cancel();
            }
        });
        record.succeed(done, mark, outcome);
        (mark, NextStep::Stop(done.stop))
    }

    /// The first attempt succeeded, and a report is wanted: what a session would say of the end. `None` for any
    /// other attempt.
    fn succeed_first(&mut self, outcome: &Outcome) -> Option<(Done, Mark)> {
        let CallState::First { attempt, .. } = self.state else { return None };
        self.state = CallState::Ended;
        let now = self.retrier.time.now();
        let draw = &mut || self.retrier.draw(1).next_u64();
        let done = attempt.succeed(&mut ledger(&self.ledger, &self.retrier), now, outcome, draw);
        Some((done, Mark { attempt: 1, at: done.elapsed }))
    }

    /// The attempt under way settled.
    #[cold]
    pub(super) fn settle(&mut self, outcome: &Outcome) -> (Action<()>, Mark) {
        match self.take_launched() {
            Some(launched) => self.settle_copy(launched, outcome),
            None => (self.cancel(), Mark { attempt: 0, at: Span::ZERO }),
        }
    }

    /// One of the attempts under way settled.
    pub(super) fn settle_copy(
        &mut self,
        launched: Launched,
        outcome: &Outcome,
    ) -> (Action<()>, Mark) {
        let now = self.retrier.time.now();
        self.event(|state, view| state.settle(view, now, launched, outcome))
    }

    /// Whether the attempt that waits for a place has its turn; if not, `waker` is woken once it has.
    #[cold]
    pub(super) fn has_turn(&self, waker: &Waker) -> bool {
        let Some(permit) = self.state.limit_permit() else { return false };
        ledger(&self.ledger, &self.retrier).watch(permit, waker)
    }

    /// Whether the call waits for a place by a concurrency limit.
    #[inline]
    pub(super) fn is_queued(&self) -> bool {
        self.state.limit_permit().is_some_and(LimitPermit::is_queued)
    }

    /// A wait is over, or a further copy is due.
    pub(super) fn wake(&mut self) -> Action<()> {
        self.wake_at(Instant::ORIGIN)
    }

    /// A wait is over that ended at this instant, whatever the clock says: one that a test has paused would have a
    /// thread wait for ever.
    pub(super) fn wake_at(&mut self, at: Instant) -> Action<()> {
        let now = self.retrier.time.now().max(at);
        self.takes_time();
        self.event(|state, view| state.wake(view, now))
    }

    /// The caller gave up, before the attempt that was next.
    pub(super) fn cancel(&mut self) -> Action<()> {
        self.give_up(false)
    }

    /// Notes the budget in the end of a call that it granted no retry to.
    pub(super) fn explain(&self, end: &mut CallEnd) {
        if end.done.is_none_or(|done| done.stop != Stop::BudgetEmpty) {
            return;
        }
        let mut ledger = ledger(&self.ledger, &self.retrier);
        if let Some(level) = ledger.level(self.retrier.time.now()) {
            end.set_budget(self.retrier.policy().budget(), level);
        }
    }

    /// Returns the wait from the last event to this instant.
    pub(super) fn delay_until(&self, at: Instant) -> Span {
        self.state.delay_until(at)
    }

    /// The action that follows an attempt, as observers see it.
    pub(super) fn next_step(&self, action: &Action<()>) -> NextStep {
        self.state.next_step(action)
    }

    /// A copy that was launched then has succeeded.
    pub(super) fn record_latency(&self, since: Instant) {
        self.retrier.record_latency(since);
    }

    /// The clock that the call waits by.
    pub(super) fn time(&self) -> &Z {
        &self.retrier.time
    }

    /// A timer that ends `span` from now.
    pub(super) fn sleep(&self, span: Span) -> Z::Timer
    where
        Z: Sleep,
    {
        self.retrier.time.sleep(span)
    }

    /// Starts the session of a call whose first attempt takes time.
    #[cold]
    fn start(&mut self) -> Action<()> {
        let started = match self.state {
            CallState::Unstarted { started: Some(started), .. } => started,
            _ => self.retrier.time.now(),
        };
        self.start_at(started, Since::Before)
    }

    #[inline(always)]
    fn start_at(&mut self, now: Instant, since: Since) -> Action<()> {
        let (call, single) = self.start_facts();
        let (policy, mut ledger) =
            (self.retrier.policy_for(single), ledger(&self.ledger, &self.retrier));
        match FirstAttempt::start(policy, &mut ledger, call, now) {
            Ok(attempt) => {
                self.state = CallState::First { attempt, since, single };
                Action::Attempt(())
            }
            Err(refused) => {
                self.event(|state, view| state.put_off(view, refused, (call, single), now))
            }
        }
    }

    /// The attempt under way succeeded, and no report is wanted. A call that nothing has started tells nothing.
    ///
    /// An attempt that was ready at once ended when it started, as far as a window's slots can tell.
    /// So the clock is read again only for one that took time, or where a breaker checks how long it
    /// took; and it is read as exactly as the policy needs it.
    #[inline(never)]
    pub(super) fn succeed(&mut self, outcome: &Outcome) {
        let (attempt, since, single) = match self.state {
            CallState::Unstarted { .. } => return,
            CallState::First { attempt, since, single } => (attempt, since, single),
            _ => {
                let _end = self.settle(outcome);
                return;
            }
        };
        self.state = CallState::Ended;
        let retrier = &*self.retrier;
        let (policy, time) = (retrier.policy_for(single), &retrier.time);
        let mut now = attempt.started;
        if attempt.is_reported() && (since == Since::Before || attempt.is_timed(policy)) {
            let is_exact = retrier.precision() == ClockPrecision::Exact;
            now = if is_exact { time.now() } else { now.max(time.recent()) };
        }
        let draw = &mut || retrier.draw(1).next_u64();
        attempt.succeed(&mut ledger(&self.ledger, &self.retrier), now, outcome, draw);
    }

    /// The first attempt takes time, as it turns out; from here on, if it was not known to the
    /// nanosecond when it started. A call that nothing has started begins now.
    fn takes_time(&mut self) {
        if let CallState::Unstarted { .. } = self.state {
            let _first = self.start();
        }
        if let CallState::First { attempt, since, .. } = &mut self.state {
            if *since == Since::Recent {
                attempt.started = self.retrier.time.now();
            }
            *since = Since::Before;
        }
    }

    /// The caller gave up; `made` says whether the attempt that it left was made.
    #[cold]
    fn give_up(&mut self, made: bool) -> Action<()> {
        let now = self.retrier.time.now();
        self.takes_time();
        self.event(|state, view| state.give_up(view, now, made))
    }

    /// The properties of the call, and whether it is under the policy of one attempt.
    #[inline]
    fn start_facts(&self) -> (Call, bool) {
        let once = matches!(self.state, CallState::Unstarted { idempotent: false, .. });
        let call = if once { Call::once() } else { Call::idempotent() };
        (call, self.retrier.is_single(nested::is_inside()))
    }

    /// Reports an event to the state, which knows nothing of the types of the destination: so its code is made once, and
    /// not for each of them.
    #[inline]
    fn event<T>(&mut self, event: impl FnOnce(&mut CallState, DestinationView<'_>) -> T) -> T {
        let retrier = &*self.retrier;
        let mut ledger = ledger(&self.ledger, retrier);
        event(&mut self.state, retrier.view(&mut ledger))
    }
}

impl<R, L> Drop for ActiveCall<R, L> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.state, CallState::Unstarted { .. } | CallState::Ended) {
            (self.abandon)(self);
        }
    }
}

/// The ledger of a call, as the engine asks it.
#[inline]
fn ledger<'c, Z, L>(own: &'c Option<Arc<L>>, retrier: &'c Retrier<Z, L>) -> &'c L {
    own.as_deref().unwrap_or(retrier.ledger())
}
