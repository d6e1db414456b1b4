//! A call under way: its state in the engine, and the permits that go back when it is dropped.

use std::ops::Deref;
use std::sync::Arc;

use stagger_core::retry::{
    Action, Call, Detached, FirstAttempt, FirstRefused, Launched, Ledger, Session, Wait,
};
use stagger_core::{Entropy, Instant, Outcome, Span};

use super::clock_precision::ClockPrecision;
use super::history::Mark;
use super::{AttemptInfo, NextStep, Retrier, nested};
use crate::clock::{Clock, Sleep};
use crate::observe;

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

/// The state of a call. It borrows nothing, so that a future with a name can hold it.
enum CallState {
    /// Nothing has asked for the time yet, and nothing is taken.
    Unstarted {
        idempotent: bool,
    },
    /// The first attempt is under way. Nearly every call ends with it, and every call under way is a
    /// future that holds this: so until it has settled, a call keeps no session.
    First {
        attempt: FirstAttempt,
        since: Since,
        single: bool,
    },
    /// Anything that comes later.
    Running(Box<RunningCall>),
    Ended,
}

/// The known start of the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// A moment ago, by a clock that may lag a little; the attempt has not been seen to take time.
    Recent,
    /// A moment ago, to the nanosecond; the attempt has not been seen to take time.
    Now,
    /// Some time ago: the attempt takes time.
    Before,
}

/// A call whose session has started.
struct RunningCall {
    session: Detached,
    /// Whether it is under the retrier's policy of one attempt.
    single: bool,
    /// The attempt under way; hedged calls keep their own list.
    launched: Option<Launched>,
    /// The time of the last event.
    now: Instant,
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
        Self { retrier, ledger, state: CallState::Unstarted { idempotent }, abandon }
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
    /// Begins the call, whose first attempt may be ready at once. The clock is read as far as the
    /// policy needs it, because it costs more than all the rest: when it needs none, the session
    /// starts only when the attempt turns out to take time.
    #[inline]
    pub(super) fn begin(&mut self, timed: bool) -> Action<AttemptInfo> {
        let precision = if timed { ClockPrecision::Exact } else { self.retrier.precision() };
        match precision {
            ClockPrecision::None => Action::Attempt(AttemptInfo::first(self.retrier.policy())),
            ClockPrecision::Recent => self.start_at(self.retrier.time.recent(), Since::Recent),
            ClockPrecision::Exact => self.start_at(self.retrier.time.now(), Since::Now),
        }
    }

    /// Begins a call that blocks its thread. Nothing tells when its first attempt begins to take
    /// time, so the clock is read before it: to the nanosecond only where the policy needs that.
    #[inline]
    pub(super) fn begin_blocking(&mut self, timed: bool) -> Action<AttemptInfo> {
        let exact = timed || self.retrier.precision() == ClockPrecision::Exact;
        let time = &self.retrier.time;
        let now = if exact { time.now() } else { time.recent() };
        self.start_at(now, Since::Before)
    }

    /// Begins a call that may have copies, the next after the measured delay, if there is one.
    pub(super) fn begin_hedged(&mut self) -> Action<AttemptInfo> {
        let (now, hedge_delay) = (self.retrier.time.now(), self.retrier.hedge_delay());
        let (mut call, single) = self.start_facts();
        call.hedge_delay = hedge_delay;
        let (retrier, mut ledger) = (&*self.retrier, ledger(&self.ledger, &self.retrier));
        let (session, action) = Session::start(retrier.policy_for(single), &mut ledger, call, now);
        self.state = CallState::running(session.detach(), single, None);
        self.on_event(now, |_, _, _| action)
    }

    /// The attempt under way takes time: how much it may take.
    pub(super) fn limit(&mut self) -> Option<Span> {
        self.takes_time();
        match &self.state {
            CallState::First { single, .. } => {
                self.retrier.policy_for(*single).limits().first_attempt_limit()
            }
            CallState::Running(running) => running.launched?.attempt.timeout,
            CallState::Unstarted { .. } | CallState::Ended => None,
        }
    }

    /// The attempt under way, to be kept by a driver that keeps several.
    pub(super) fn take_launched(&mut self) -> Option<Launched> {
        self.running().launched.take()
    }

    /// The attempt under way succeeded, and no report is wanted. A call that nothing has started
    /// reports nothing.
    #[inline]
    pub(super) fn succeed(&mut self, outcome: &Outcome) {
        if !matches!(self.state, CallState::Unstarted { .. }) {
            self.tell_success(outcome);
        }
    }

    /// The attempt under way settled.
    #[cold]
    pub(super) fn settle(&mut self, outcome: &Outcome) -> (Action<AttemptInfo>, Mark) {
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
    ) -> (Action<AttemptInfo>, Mark) {
        let now = self.retrier.time.now();
        let mut mark = Mark { attempt: launched.attempt.number, at: Span::ZERO };
        let action = self.on_event(now, |session, retrier, mut ledger| {
            mark.at = now - session.retry().started();
            let mut draw = retrier.draw(mark.attempt);
            let action = session.on_outcome(&mut ledger, now, launched, outcome, &mut draw);
            match action {
                Action::Wait(Wait::Until(at)) => {
                    observe::retried(retrier.name(), mark.attempt, at - now, outcome);
                }
                Action::Attempt(_) => {
                    observe::retried(retrier.name(), mark.attempt, Span::ZERO, outcome);
                }
                _ => {}
            }
            action
        });
        (action, mark)
    }

    /// A wait is over, or a further copy is due.
    pub(super) fn wake(&mut self) -> Action<AttemptInfo> {
        let now = self.retrier.time.now();
        self.on_event(now, |session, _, mut ledger| session.on_wake(&mut ledger, now))
    }

    /// The caller gave up, before the attempt that was next.
    pub(super) fn cancel(&mut self) -> Action<AttemptInfo> {
        self.give_up(false)
    }

    /// Returns the wait from the last event to this instant.
    pub(super) fn delay_until(&self, at: Instant) -> Span {
        match &self.state {
            CallState::Running(running) => at - running.now,
            _ => Span::ZERO,
        }
    }

    /// The action that follows an attempt, as observers see it.
    pub(super) fn next_step(&self, action: &Action<AttemptInfo>) -> NextStep {
        match action {
            Action::Attempt(_) | Action::Hedge(_) => NextStep::Retry(Span::ZERO),
            Action::Wait(Wait::Until(at)) => NextStep::Retry(self.delay_until(*at)),
            Action::Wait(Wait::Copies { .. }) => NextStep::Copies,
            Action::Done(done) => NextStep::Stop(done.stop),
        }
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
    fn start(&mut self) -> Action<AttemptInfo> {
        self.start_at(self.retrier.time.now(), Since::Before)
    }

    #[inline]
    fn start_at(&mut self, now: Instant, since: Since) -> Action<AttemptInfo> {
        let (call, single) = self.start_facts();
        let (policy, mut ledger) =
            (self.retrier.policy_for(single), ledger(&self.ledger, &self.retrier));
        match FirstAttempt::start(policy, &mut ledger, call, now) {
            Ok(attempt) => {
                self.state = CallState::First { attempt, since, single };
                Action::Attempt(AttemptInfo::first(self.retrier.policy_for(single)))
            }
            Err(refused) => self.put_off(refused, (call, single), now),
        }
    }

    #[cold]
    fn put_off(
        &mut self,
        refused: FirstRefused,
        (call, single): (Call, bool),
        now: Instant,
    ) -> Action<AttemptInfo> {
        let (policy, mut ledger) =
            (self.retrier.policy_for(single), ledger(&self.ledger, &self.retrier));
        let (session, action) = refused.session(policy, &mut ledger, call, now);
        self.state = CallState::running(session.detach(), single, None);
        self.on_event(now, |_, _, _| action)
    }

    /// An attempt that was ready at once ended when it started, as far as a window's slots can tell.
    /// So the clock is read again only for one that took time, or where a breaker checks how long it
    /// took; and it is read as exactly as the policy needs it.
    fn tell_success(&mut self, outcome: &Outcome) {
        let CallState::First { attempt, since, single } = self.state else {
            let _end = self.settle(outcome);
            return;
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
    fn give_up(&mut self, made: bool) -> Action<AttemptInfo> {
        let now = self.retrier.time.now();
        let left = self.take_launched();
        self.on_event(now, |session, retrier, mut ledger| {
            let mut action = session.cancel(&mut ledger, now);
            match left {
                Some(launched) if made => retrier.abandon(ledger, launched),
                Some(launched) => retrier.withdraw(ledger, launched),
                None => {}
            }
            if let (Action::Done(done), Some(_), false) = (&mut action, left, made) {
                done.attempts = done.attempts.saturating_sub(1);
            }
            action
        })
    }

    /// The properties of the call, and whether it is under the policy of one attempt.
    #[inline]
    fn start_facts(&self) -> (Call, bool) {
        let once = matches!(self.state, CallState::Unstarted { idempotent: false });
        let call = if once { Call::once() } else { Call::idempotent() };
        (call, self.retrier.is_single(nested::is_inside()))
    }

    /// The session, started now if nothing has started it.
    fn running(&mut self) -> &mut RunningCall {
        self.takes_time();
        if let CallState::First { attempt, single, .. } = self.state {
            let (session, launched) = attempt.session(self.retrier.policy_for(single));
            self.state = CallState::running(session.detach(), single, Some(launched));
        }
        match &mut self.state {
            CallState::Running(running) => running,
            _ => unreachable!("the session was started just now, and no event follows the end"),
        }
    }

    /// Reports an event to the session, and gives the driver the action that follows.
    fn on_event(
        &mut self,
        now: Instant,
        event: impl FnOnce(&mut Session<'_>, &Retrier<Z, L>, &L) -> Action,
    ) -> Action<AttemptInfo> {
        self.running();
        let CallState::Running(running) = &mut self.state else {
            unreachable!("it runs as of just now");
        };
        let retrier = &*self.retrier;
        let mut session = running.session.attach(retrier.policy_for(running.single));
        let action = event(&mut session, retrier, ledger(&self.ledger, retrier));
        (running.session, running.now) = (session.detach(), now);
        let name = retrier.name();
        let started = session.retry().started();
        let info = |attempt| AttemptInfo::of(retrier.policy(), (started, now), attempt);
        match action {
            Action::Attempt(launched) => {
                running.launched = Some(launched);
                Action::Attempt(info(&launched.attempt))
            }
            Action::Hedge(launched) => {
                observe::hedged(name, launched.attempt.number);
                running.launched = Some(launched);
                Action::Hedge(info(&launched.attempt))
            }
            Action::Wait(wait) => {
                if let (Wait::Until(at), true) = (wait, session.is_held()) {
                    observe::held(name, at - now);
                }
                Action::Wait(wait)
            }
            Action::Done(done) => {
                self.state = CallState::Ended;
                observe::ended(name, &done);
                Action::Done(done)
            }
        }
    }
}

impl CallState {
    fn running(session: Detached, single: bool, launched: Option<Launched>) -> Self {
        let now = Instant::ORIGIN;
        Self::Running(Box::new(RunningCall { session, single, launched, now }))
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
