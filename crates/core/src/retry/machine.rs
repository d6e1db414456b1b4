//! The state of one call, and how it moves.

use super::start::Start;
use super::{Action, Ask, Attempt, Done, Permit, Step, Stop, Wait};
use crate::budget::{BudgetPlan, Charge};
use crate::entropy::Entropy;
use crate::hedge::Hedging;
use crate::outcome::{Hint, Outcome, Remedy, Verdict};
use crate::policy::Policy;
use crate::time::{Instant, Span};

/// The properties of a call that the machine needs before the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Whether doing it twice is the same as doing it once: by its method, by an idempotency key,
    /// or on the caller's word.
    pub idempotent: bool,
    /// The delay before a second copy; `None` takes the policy's own delay.
    pub hedge_delay: Option<Span>,
}

impl Call {
    /// A call that may be repeated.
    #[must_use]
    pub const fn idempotent() -> Self {
        Self { idempotent: true, hedge_delay: None }
    }

    /// A call that is repeated only when the server cannot have acted on it.
    #[must_use]
    pub const fn once() -> Self {
        Self { idempotent: false, hedge_delay: None }
    }

    /// The same call with a measured delay before its second copy.
    #[must_use]
    pub const fn with_hedge_delay(mut self, delay: Span) -> Self {
        self.hedge_delay = Some(delay);
        self
    }
}

/// One call under a policy: 64 bytes of plain data, owned by the call alone.
///
/// Every method takes the policy and the time, and answers with the next [`Step`]. An event that
/// does not fit (a wake too early, an outcome after the end) changes nothing and repeats the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub(super) started: Start,
    /// The end of the wait. While copies are under way, the end of the longest hint that one of them
    /// was given.
    pub(super) wake: Instant,
    /// The last delay that was drawn; the base before the first.
    pub(super) prev: Span,
    pub(super) hedging: Hedging,
    /// Calls made since the start, or since an attempt made progress.
    pub(super) attempts: u32,
    /// Delays drawn since the start, since an attempt made progress, or since a pushback restarted
    /// the exponent.
    pub(super) retries: u32,
    pub(super) phase: Phase,
    pub(super) spent: Spent,
    pub(super) remedy: Option<Remedy>,
    pub(super) idempotent: bool,
}

/// The phase of a call: attempting, waiting, or asking for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    AskingBudget(Charge),
    Waiting,
    AskingBreaker,
    Running,
    AskingHedgeBudget,
    AskingHedgeBreaker,
    Ended(Stop),
}

/// The flags of things that a call may use once: each remedy, and the server's welcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent(pub(super) u8);

impl Spent {
    /// One copy was told never to come back, while others were still under way.
    const WELCOME: u8 = 64;

    const fn is_used(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub(super) const fn first_use(&mut self, bit: u8) -> bool {
        let fresh = !self.is_used(bit);
        self.0 |= bit;
        fresh
    }
}

impl Retry {
    /// Begins a call.
    #[inline]
    pub fn start(policy: &Policy, call: Call, now: Instant) -> (Self, Step) {
        let mut retry = Self {
            started: Start::at(now),
            wake: now,
            prev: policy.backoff().base(),
            hedging: Hedging::plan(policy.hedge(), call.hedge_delay),
            attempts: 0,
            retries: 0,
            phase: Phase::AskingBreaker,
            spent: Spent::default(),
            remedy: None,
            idempotent: call.idempotent,
        };
        let step = retry.ask_breaker(policy, now);
        (retry, step)
    }

    /// An attempt settled.
    #[inline]
    pub fn on_outcome(
        &mut self,
        policy: &Policy,
        now: Instant,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> Step {
        // The common end, and the only path whose cost matters: everything else waits anyway.
        if matches!((self.phase, outcome.verdict), (Phase::Running, Verdict::Ok)) {
            return self.end(now, Stop::Succeeded, None);
        }
        self.on_other_outcome(policy, now, outcome, entropy)
    }

    /// An attempt settled, for a driver that meets failures as often as successes, such as a
    /// simulator: the same as [`on_outcome`](Self::on_outcome), which puts them out of the way.
    #[inline(always)]
    pub fn on_any_outcome(
        &mut self,
        policy: &Policy,
        now: Instant,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> Step {
        let alone = self.hedging.launched() == 1 && self.hedging.in_flight() == 1;
        let plain = alone && self.phase == Phase::Running && !self.spent.is_used(Spent::WELCOME);
        if plain && outcome.verdict.is_retryable() {
            self.hedging.settle(now, outcome);
            return self.settle(policy, now, outcome, entropy);
        }
        // In a copy, so that the state of a call that never comes here need not be in memory.
        let mut copy = *self;
        let step = copy.on_outcome(policy, now, outcome, entropy);
        *self = copy;
        step
    }

    /// The answer to [`Step::Ask`].
    pub fn on_permit(&mut self, policy: &Policy, now: Instant, permit: Permit) -> Step {
        match (self.phase, permit) {
            (Phase::AskingBudget(_), Permit::Granted) => self.wait(),
            (Phase::AskingBudget(_), _) => self.refused_by_budget(policy, now),
            (Phase::AskingBreaker, Permit::Granted) => self.launch(policy, now),
            (Phase::AskingBreaker, Permit::RefusedUntil(at)) if self.can_wait(policy, now, at) => {
                self.wake = at;
                self.wait()
            }
            (Phase::AskingBreaker, Permit::HeldUntil(at)) => self.hold(policy, now, at),
            (Phase::AskingBreaker, Permit::PacedUntil(at))
                if policy.limits().fits(self.elapsed(at)) =>
            {
                self.wake = at;
                self.wait()
            }
            (Phase::AskingBreaker, Permit::PacedUntil(_) | Permit::Throttled) => {
                self.end(now, Stop::Throttled, None)
            }
            (Phase::AskingBreaker, Permit::Refused | Permit::RefusedUntil(_)) => {
                self.end(now, Stop::BreakerOpen, None)
            }
            (Phase::AskingBreaker, Permit::QueuedUntil(at)) => {
                self.wake = at;
                self.wait()
            }
            (Phase::AskingBreaker, Permit::Full) => self.end(now, Stop::ConcurrencyLimited, None),
            (Phase::AskingBreaker, Permit::RateLimited) => self.end(now, Stop::RateLimited, None),
            (Phase::AskingHedgeBudget, Permit::Granted) => self.ask_hedge_breaker(policy, now),
            (Phase::AskingHedgeBreaker, Permit::Granted) => self.launch_copy(policy, now),
            (Phase::AskingHedgeBudget | Phase::AskingHedgeBreaker, _) => self.no_hedge(policy, now),
            (Phase::Waiting | Phase::Running | Phase::Ended(_), _) => self.again(policy, now),
        }
    }

    /// The wait is over, or a further copy is due.
    #[inline(always)]
    pub fn on_wake(&mut self, policy: &Policy, now: Instant) -> Step {
        match self.phase {
            Phase::Waiting if now >= self.wake => {
                if policy.limits().fits(self.elapsed(now)) {
                    self.ask_breaker(policy, now)
                } else {
                    self.end(now, Stop::DeadlineExceeded, None)
                }
            }
            Phase::Running if self.hedge_at(policy).is_some_and(|due| due <= now) => {
                if policy.limits().fits(self.elapsed(now)) {
                    self.ask_hedge_budget(policy, now)
                } else {
                    self.no_hedge(policy, now)
                }
            }
            _ => self.again(policy, now),
        }
    }

    /// The wait may be over sooner: a place may have been handed to the attempt that waits for one.
    #[inline]
    pub(super) fn hasten(&mut self, now: Instant) {
        if self.phase == Phase::Waiting {
            self.wake = self.wake.min(now);
        }
    }

    /// The caller gave up; nothing follows.
    pub fn cancel(&mut self, now: Instant) -> Step {
        match self.phase {
            Phase::Ended(stop) => Step::Act(Action::Done(self.done(now, stop))),
            _ => self.end(now, Stop::Cancelled, None),
        }
    }

    /// Attempts made so far that count.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The start of the call. After a resume it may lie before the clock's origin, which is then returned.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started.instant()
    }

    /// The time since the call began, in a process before this one included.
    #[must_use]
    #[inline]
    pub fn elapsed(&self, now: Instant) -> Span {
        self.started.elapsed(now)
    }

    /// The last delay that was drawn.
    #[must_use]
    pub const fn last_delay(&self) -> Span {
        self.prev
    }

    #[cold]
    #[inline(never)]
    fn on_other_outcome(
        &mut self,
        policy: &Policy,
        now: Instant,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> Step {
        if !self.is_running() {
            return self.again(policy, now);
        }
        self.hedging.settle(now, outcome);
        match outcome.verdict {
            Verdict::Ok => self.end(now, Stop::Succeeded, None),
            Verdict::Cancelled => self.end(now, Stop::Cancelled, None),
            // One failed copy among several decides nothing, unless it proves that all will fail.
            verdict if self.hedging.in_flight() > 0 && verdict.is_retryable() => {
                if outcome.hint == Some(Hint::Never) {
                    self.spent.first_use(Spent::WELCOME);
                }
                let wait = outcome.hint.and_then(Hint::span).unwrap_or(Span::ZERO);
                self.wake = self.wake.max(now + wait);
                self.phase = Phase::Running;
                self.on_wake(policy, now)
            }
            _ if self.spent.is_used(Spent::WELCOME) => {
                self.settle(policy, now, &outcome.with_hint(Hint::Never), entropy)
            }
            _ => self.settle(policy, now, &self.with_hint_of_round(now, outcome), entropy),
        }
    }

    /// The outcome with what is left of the longest hint that a copy before it was given, if that is
    /// longer than its own: several hints, and the longest wins.
    fn with_hint_of_round(&self, now: Instant, outcome: &Outcome) -> Outcome {
        let left = self.wake - now;
        let may_return = self.hedging.launched() > 1 && outcome.verdict.is_retryable();
        if may_return && left > outcome.hint.and_then(Hint::span).unwrap_or(Span::ZERO) {
            return outcome.with_hint(Hint::AtLeast(left));
        }
        *outcome
    }

    #[inline]
    pub(super) fn wait(&mut self) -> Step {
        self.phase = Phase::Waiting;
        Step::Act(Action::Wait(Wait::Until(self.wake)))
    }

    fn refused_by_budget(&mut self, policy: &Policy, now: Instant) -> Step {
        let pause = if policy.pauses_when_empty() { self.wake - now } else { Span::ZERO };
        self.phase = Phase::Ended(Stop::BudgetEmpty);
        Step::Act(Action::Done(Done { pause, ..self.done(now, Stop::BudgetEmpty) }))
    }

    /// Waits for the end of the pause, if the deadline allows that.
    fn hold(&mut self, policy: &Policy, now: Instant, until: Instant) -> Step {
        if !policy.limits().fits(self.elapsed(until)) {
            return self.end(now, Stop::HintPastDeadline, Some(until - now));
        }
        self.wake = until;
        self.wait()
    }

    #[inline]
    pub(super) fn ask_breaker(&mut self, policy: &Policy, now: Instant) -> Step {
        if !is_guarded(policy) {
            return self.launch(policy, now);
        }
        self.phase = Phase::AskingBreaker;
        Step::Ask(Ask::Breaker)
    }

    fn can_wait(&self, policy: &Policy, now: Instant, until: Instant) -> bool {
        policy.waits_for_breaker() && until > now && policy.limits().fits(self.elapsed(until))
    }

    #[inline]
    fn launch(&mut self, policy: &Policy, now: Instant) -> Step {
        let remedy = self.remedy.take();
        if remedy != Some(Remedy::Transparent) {
            self.attempts = self.attempts.saturating_add(1);
        }
        self.hedging.restart(now);
        self.phase = Phase::Running;
        Step::Act(Action::Attempt(Attempt { remedy, ..self.attempt(policy, now) }))
    }

    fn launch_copy(&mut self, policy: &Policy, now: Instant) -> Step {
        self.attempts = self.attempts.saturating_add(1);
        self.hedging.launch(now);
        self.phase = Phase::Running;
        Step::Act(Action::Hedge(self.attempt(policy, now)))
    }

    #[inline]
    fn attempt(&self, policy: &Policy, now: Instant) -> Attempt {
        let timeout = policy.limits().attempt_limit(self.elapsed(now));
        Attempt { number: self.attempts, timeout, remedy: None, hedge_at: self.hedge_at(policy) }
    }

    /// The due time of a further copy: never for a call that must not run twice, nor so late that
    /// the deadline would leave it no time.
    #[inline]
    fn hedge_at(&self, policy: &Policy) -> Option<Instant> {
        let next = self.hedging.next()?;
        let limits = policy.limits();
        let may = self.idempotent && limits.attempts_left(self.attempts);
        (may && limits.fits(self.elapsed(next))).then_some(next)
    }

    fn ask_hedge_budget(&mut self, policy: &Policy, now: Instant) -> Step {
        if *policy.budget() == BudgetPlan::Unlimited {
            return self.ask_hedge_breaker(policy, now);
        }
        self.phase = Phase::AskingHedgeBudget;
        Step::Ask(Ask::Budget(Charge::Hedge))
    }

    fn ask_hedge_breaker(&mut self, policy: &Policy, now: Instant) -> Step {
        if !is_guarded(policy) {
            return self.launch_copy(policy, now);
        }
        self.phase = Phase::AskingHedgeBreaker;
        Step::Ask(Ask::Breaker)
    }

    /// A refusal just means no hedge: the copies under way go on.
    fn no_hedge(&mut self, policy: &Policy, now: Instant) -> Step {
        self.hedging.stop();
        self.phase = Phase::Running;
        self.again(policy, now)
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::AskingHedgeBudget | Phase::AskingHedgeBreaker)
    }

    #[inline]
    pub(super) fn end(&mut self, now: Instant, stop: Stop, hint: Option<Span>) -> Step {
        self.phase = Phase::Ended(stop);
        Step::Act(Action::Done(Done { hint, ..self.done(now, stop) }))
    }

    #[inline]
    fn done(&self, now: Instant, stop: Stop) -> Done {
        let elapsed = self.elapsed(now);
        Done { stop, attempts: self.attempts, elapsed, hint: None, pause: Span::ZERO }
    }

    /// The step that the call is at, for an event that does not fit.
    fn again(&self, policy: &Policy, now: Instant) -> Step {
        match self.phase {
            Phase::AskingBudget(charge) => Step::Ask(Ask::Budget(charge)),
            Phase::AskingHedgeBudget => Step::Ask(Ask::Budget(Charge::Hedge)),
            Phase::AskingBreaker | Phase::AskingHedgeBreaker => Step::Ask(Ask::Breaker),
            Phase::Waiting => Step::Act(Action::Wait(Wait::Until(self.wake))),
            Phase::Running => {
                Step::Act(Action::Wait(Wait::Copies { hedge_at: self.hedge_at(policy) }))
            }
            Phase::Ended(stop) => Step::Act(Action::Done(self.done(now, stop))),
        }
    }
}

/// Whether a destination may refuse or hold an attempt that the call has decided on.
#[inline]
fn is_guarded(policy: &Policy) -> bool {
    policy.breaker().is_some() || policy.hints().is_shared() || policy.limits_first()
}
