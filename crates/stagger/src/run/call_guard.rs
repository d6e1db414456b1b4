//! A call under way: its session, and the permits that go back when it is dropped.

use std::pin::Pin;

use stagger_core::retry::{
    Act, Attempt, Call, Done, FirstRefused, Launched, Ledger, Session, Wait,
};
use stagger_core::{Entropy, Instant, Outcome, Policy, Span};

use super::clock_precision::ClockPrecision;
use super::first_attempt::{FirstAttempt, Since};
use super::{AttemptInfo, Retrier, nested};
use crate::clock::{Clock, Sleep};
use crate::observe;

/// One call between its start and its end.
///
/// Dropped before the end, it gives back a grant that no attempt has followed, and the breaker's
/// ticket. The grant of an attempt under way stays paid: the server works on it all the same.
pub(super) struct CallGuard<'r, Z: Clock, L>
where
    for<'l> &'l L: Ledger,
{
    pub(super) retrier: &'r Retrier<Z, L>,
    /// The ledger of its destination: the retrier's, or one of several.
    pub(super) ledger: &'r L,
    pub(super) phase: Phase<'r>,
    pub(super) idempotent: bool,
}

pub(super) enum Phase<'r> {
    /// Nobody has asked for the time yet, and nothing is taken.
    Unstarted,
    /// The first attempt is under way.
    First(FirstAttempt<&'r Policy>),
    /// Anything that comes later.
    Running(Box<RunningCall<'r>>),
}

impl<'r> Phase<'r> {
    fn running(session: Session<'r>, launched: Option<Launched>) -> Self {
        Self::Running(Box::new(RunningCall { session, launched, ended: false }))
    }
}

pub(super) struct RunningCall<'r> {
    pub(super) session: Session<'r>,
    /// The attempt under way; hedged calls keep their own list.
    pub(super) launched: Option<Launched>,
    pub(super) ended: bool,
}

/// The next step of a driver.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    Call(Turn),
    /// Wait for a copy to settle, and wake the session at this instant.
    Copies(Option<Instant>),
    Wait(Span),
    Done(Done),
}

/// An attempt to make.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) info: AttemptInfo,
    pub(crate) hedge_at: Option<Instant>,
    /// Whether it runs beside those under way. Any other attempt takes their place.
    pub(crate) is_copy: bool,
}

impl Turn {
    /// The first attempt, which has all the time there is.
    #[inline]
    fn first(policy: &Policy) -> Self {
        let limits = policy.limits();
        let (timeout, remaining) = (limits.first_attempt_limit(), limits.deadline());
        let info = AttemptInfo { number: 1, timeout, remaining, remedy: None };
        Self { info, hedge_at: None, is_copy: false }
    }

    fn of(policy: &Policy, started: Instant, now: Instant, attempt: &Attempt) -> Self {
        let Attempt { number, timeout, remedy, hedge_at, .. } = *attempt;
        let remaining = policy.limits().deadline().map(|limit| (started + limit) - now);
        let info = AttemptInfo { number, timeout, remaining, remedy };
        Self { info, hedge_at, is_copy: false }
    }
}

/// The time at which an attempt settled.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) attempt: u32,
    /// Counted from the start of the call.
    pub(crate) at: Span,
}

impl<'r, Z: Clock, L> CallGuard<'r, Z, L>
where
    for<'l> &'l L: Ledger,
{
    pub(super) fn new(retrier: &'r Retrier<Z, L>, idempotent: bool) -> Self {
        Self { retrier, ledger: retrier.ledger_handle(), phase: Phase::Unstarted, idempotent }
    }

    /// Begins the call, whose first attempt may be ready at once. The clock is read as far as
    /// somebody needs it, because it costs more than all the rest: when nobody does, the session
    /// starts only when the attempt turns out to take time.
    #[inline]
    pub(super) fn begin(&mut self, timed: bool) -> Next {
        let precision = if timed { ClockPrecision::Exact } else { self.retrier.precision() };
        let time = &self.retrier.time;
        match precision {
            ClockPrecision::None => Next::Call(Turn::first(self.retrier.policy())),
            ClockPrecision::Recent => self.start_at(time.recent(), Since::Recent),
            ClockPrecision::Exact => self.start_at(time.now(), Since::Now),
        }
    }

    /// Begins a call that blocks its thread. Nobody can tell when its first attempt begins to take
    /// time, so the clock is read before it: to the nanosecond only where somebody asks for that.
    #[inline]
    pub(super) fn begin_blocking(&mut self, timed: bool) -> Next {
        let exact = timed || self.retrier.precision() == ClockPrecision::Exact;
        let time = &self.retrier.time;
        let now = if exact { time.now() } else { time.recent() };
        self.start_at(now, Since::Before)
    }

    /// Starts the session of a call whose first attempt takes time.
    #[cold]
    fn start(&mut self) -> Next {
        self.start_at(self.retrier.time.now(), Since::Before)
    }

    #[inline]
    fn start_at(&mut self, now: Instant, since: Since) -> Next {
        let (policy, call) = self.start_facts();
        match FirstAttempt::start(policy, &mut self.ledger, call, (now, since)) {
            Ok(first) => {
                self.phase = Phase::First(first);
                Next::Call(Turn::first(policy))
            }
            Err(refused) => self.put_off(policy, refused, call, now),
        }
    }

    #[cold]
    fn put_off(
        &mut self,
        policy: &'r Policy,
        refused: FirstRefused,
        call: Call,
        now: Instant,
    ) -> Next {
        let (session, act) = refused.session(policy, &mut self.ledger, call, now);
        self.phase = Phase::running(session, None);
        self.next(now, act)
    }

    /// Starts the session of a call that may have copies, the next after `hedge_delay` if that is
    /// measured.
    pub(super) fn start_hedged(&mut self, hedge_delay: Option<Span>) -> Next {
        let (policy, mut call) = self.start_facts();
        let now = self.retrier.time.now();
        call.hedge_delay = hedge_delay;
        let (session, act) = Session::start(policy, &mut self.ledger, call, now);
        self.phase = Phase::running(session, None);
        self.next(now, act)
    }

    /// The attempt under way takes time: the timer of its limit.
    pub(super) fn pending(&mut self) -> Option<Pin<Box<Z::Timer>>>
    where
        Z: Sleep,
    {
        self.limit().map(|limit| Box::pin(self.retrier.time.sleep(limit)))
    }

    /// The attempt under way takes time: how much it may take.
    pub(super) fn limit(&mut self) -> Option<Span> {
        if let Phase::Unstarted = self.phase {
            self.start();
        }
        match &mut self.phase {
            Phase::First(first) => {
                first.takes_time(&self.retrier.time);
                first.timeout()
            }
            Phase::Running(running) => running.launched?.attempt.timeout,
            Phase::Unstarted => None,
        }
    }

    /// The attempt under way, to be kept by whoever keeps several.
    pub(super) fn take_launched(&mut self) -> Option<Launched> {
        self.running().launched.take()
    }

    /// The attempt under way succeeded, and nobody asks what it took. Nobody has to hear of it where
    /// nothing was started.
    #[inline]
    pub(super) fn succeed(&mut self, outcome: &Outcome) {
        if !matches!(self.phase, Phase::Unstarted) {
            self.tell_success(outcome);
        }
    }

    fn tell_success(&mut self, outcome: &Outcome) {
        match self.phase {
            Phase::First(first) => {
                self.phase = Phase::Unstarted;
                let retrier = self.retrier;
                let draw = &mut || retrier.draw(1).next_u64();
                let (ledger, precision) = (&mut self.ledger, retrier.precision());
                first.succeed(ledger, (&retrier.time, precision), outcome, draw);
            }
            Phase::Running(_) => {
                self.settle(outcome);
            }
            Phase::Unstarted => {}
        }
    }

    /// The attempt under way settled.
    #[cold]
    pub(super) fn settle(&mut self, outcome: &Outcome) -> (Next, Mark) {
        match self.take_launched() {
            Some(launched) => self.settle_copy(launched, outcome),
            None => (self.cancel(), Mark { attempt: 0, at: Span::ZERO }),
        }
    }

    /// One of the attempts under way settled.
    pub(super) fn settle_copy(&mut self, launched: Launched, outcome: &Outcome) -> (Next, Mark) {
        let (retrier, now) = (self.retrier, self.retrier.time.now());
        let attempt = launched.attempt.number;
        let mut draw = retrier.draw(attempt);
        let mut ledger = self.ledger;
        let session = &mut self.running().session;
        let mark = Mark { attempt, at: now - session.retry().started() };
        let act = session.on_outcome(&mut ledger, now, launched, outcome, &mut draw);
        match act {
            Act::Wait(Wait::Until(at)) => {
                observe::retried(retrier.name(), attempt, at - now, outcome);
            }
            Act::Call(_) => observe::retried(retrier.name(), attempt, Span::ZERO, outcome),
            _ => {}
        }
        (self.next(now, act), mark)
    }

    /// A wait is over, or a further copy is due.
    pub(super) fn wake(&mut self) -> Next {
        let (mut ledger, now) = (self.ledger, self.retrier.time.now());
        let act = self.running().session.on_wake(&mut ledger, now);
        self.next(now, act)
    }

    /// The caller gave up, before the attempt that was next.
    pub(super) fn cancel(&mut self) -> Next {
        self.give_up(false)
    }

    /// The caller gave up; `made` says whether the attempt that it left was made.
    #[cold]
    fn give_up(&mut self, made: bool) -> Next {
        let (retrier, mut ledger) = (self.retrier, self.ledger);
        let now = retrier.time.now();
        let running = self.running();
        let left = running.launched.take();
        let mut act = running.session.cancel(&mut ledger, now);
        match left {
            Some(launched) if made => retrier.abandon(ledger, launched),
            Some(launched) => retrier.withdraw(ledger, launched),
            None => {}
        }
        if let (Act::Done(done), Some(_), false) = (&mut act, left, made) {
            done.attempts = done.attempts.saturating_sub(1);
        }
        self.next(now, act)
    }

    #[inline]
    fn start_facts(&self) -> (&'r Policy, Call) {
        let call = if self.idempotent { Call::idempotent() } else { Call::once() };
        (self.retrier.policy_for(nested::is_inside()), call)
    }

    /// The session, started now if nothing has started it.
    fn running(&mut self) -> &mut RunningCall<'r> {
        if let Phase::Unstarted = self.phase {
            self.start();
        }
        if let Phase::First(mut first) = self.phase {
            first.takes_time(&self.retrier.time);
            let (session, launched) = first.session();
            self.phase = Phase::running(session, Some(launched));
        }
        match &mut self.phase {
            Phase::Running(running) => running,
            Phase::Unstarted | Phase::First(_) => unreachable!("the session was started just now"),
        }
    }

    fn next(&mut self, now: Instant, act: Act) -> Next {
        let name = self.retrier.name();
        let running = self.running();
        if let Act::Hedge(launched) = act {
            observe::hedged(name, launched.attempt.number);
        }
        match act {
            Act::Call(launched) | Act::Hedge(launched) => {
                running.launched = Some(launched);
                let started = running.session.retry().started();
                let turn = Turn::of(self.retrier.policy(), started, now, &launched.attempt);
                Next::Call(Turn { is_copy: matches!(act, Act::Hedge(_)), ..turn })
            }
            Act::Wait(Wait::Until(at)) => {
                if running.session.is_held() {
                    observe::held(name, at - now);
                }
                Next::Wait(at - now)
            }
            Act::Wait(Wait::Copies { hedge_at }) => Next::Copies(hedge_at),
            Act::Done(done) => {
                if !running.ended {
                    observe::ended(name, &done);
                }
                running.ended = true;
                Next::Done(done)
            }
        }
    }
}

impl<Z: Clock, L> Drop for CallGuard<'_, Z, L>
where
    for<'l> &'l L: Ledger,
{
    #[inline]
    fn drop(&mut self) {
        let under_way = match &self.phase {
            Phase::Unstarted => false,
            Phase::First(_) => true,
            Phase::Running(running) => !running.ended,
        };
        if under_way {
            self.give_up(true);
        }
    }
}
