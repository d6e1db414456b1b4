//! One call with its ledger: the machine's questions answered, what was taken given back.

use super::{
    Action, Ask, Attempt, Call, Done, Entrance, Launched, Ledger, LimitPermit, Permit, Retry, Step,
    Stop, Wait,
};
use crate::adaptive::{AdaptiveReport, Pacing};
use crate::breaker::{Admission, Report, Ticket};
use crate::budget::{Paid, Settled};
use crate::entropy::Entropy;
use crate::outcome::{Hint, Outcome, Remedy, Verdict};
use crate::policy::Policy;
use crate::time::{Instant, Span};

/// A [`Retry`] whose permits come from a [`Ledger`], for drivers that only want to call and wait.
///
/// ```
/// use stagger_core::retry::{Action, Call, PlainLedger, Session, Stop};
/// use stagger_core::{budget::BudgetPlan, Instant, Outcome, Policy, Verdict};
/// let policy = Policy::builder().budget(BudgetPlan::None).build()?;
/// let mut ledger = PlainLedger::new(&policy);
/// let (mut call, act) = Session::start(&policy, &mut ledger, Call::idempotent(), Instant::ORIGIN);
/// let Action::Attempt(first) = act else { panic!("nothing stands before the first attempt") };
/// let failed = Outcome::new(Verdict::Transient);
/// let act = call.on_outcome(&mut ledger, Instant::ORIGIN, first, &failed, &mut || 0);
/// assert!(matches!(act, Action::Done(done) if done.stop == Stop::BudgetEmpty));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Session<'p> {
    policy: &'p Policy,
    call: Detached,
}

/// A [`Session`] without its policy, for a driver that owns the policy and the call together.
///
/// ```
/// use stagger_core::retry::{Call, PlainLedger, Session};
/// use stagger_core::{Instant, Policy};
/// let policy = Policy::default();
/// let mut ledger = PlainLedger::new(&policy);
/// let (call, _) = Session::start(&policy, &mut ledger, Call::idempotent(), Instant::ORIGIN);
/// assert_eq!(call.detach().attach(&policy).retry(), call.retry());
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a call that is not attached again gives nothing back"]
pub struct Detached {
    retry: Retry,
    /// A budget grant that no attempt has followed yet.
    granted: Option<Paid>,
    /// Whether the adaptive limit let an attempt pass that is not made yet.
    paced: bool,
    /// The share in the destination's limits of an attempt that is not made yet.
    permit: LimitPermit,
    /// The hint of the last outcome, for ends that the machine decides after it has left it behind.
    hint: Option<Span>,
    /// The latest start of the next attempt, however long the destination is paused.
    hold_end: Option<Instant>,
    /// Whether the first attempt was made, which may come after a wait for the breaker.
    begun: bool,
}

impl Detached {
    /// The same call again, under the policy that it was started with.
    #[must_use]
    #[inline]
    pub const fn attach(self, policy: &Policy) -> Session<'_> {
        Session { policy, call: self }
    }

    /// The share of the next attempt in the limits of the destination, as [`Session::limit_permit`].
    #[must_use]
    #[inline]
    pub const fn limit_permit(&self) -> &LimitPermit {
        &self.permit
    }

    #[inline]
    const fn new(retry: Retry, begun: bool) -> Self {
        let permit = LimitPermit::NONE;
        Self { retry, granted: None, paced: false, permit, hint: None, hold_end: None, begun }
    }
}

impl<'p> Session<'p> {
    /// Begins a call.
    #[inline]
    pub fn start(
        policy: &'p Policy,
        ledger: &mut (impl Ledger + ?Sized),
        call: Call,
        now: Instant,
    ) -> (Self, Action) {
        let (retry, step) = Retry::start(policy, call, now);
        let mut session = Self { policy, call: Detached::new(retry, false) };
        let act = session.answer(ledger, now, step);
        (session, act)
    }

    /// Begins a call whose breaker has refused the first attempt until an instant.
    #[cold]
    pub(super) fn refused(
        policy: &'p Policy,
        (call, until): (Call, Instant),
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
    ) -> (Self, Action) {
        let (mut retry, mut step) = Retry::start(policy, call, now);
        if let Step::Ask(Ask::Breaker) = step {
            step = retry.on_permit(policy, now, Permit::RefusedUntil(until));
        }
        let mut session = Self { policy, call: Detached::new(retry, false) };
        let act = session.answer(ledger, now, step);
        (session, act)
    }

    /// An attempt settled.
    #[inline]
    pub fn on_outcome(
        &mut self,
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        launched: Launched,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> Action {
        Self::tell(ledger, now, launched, outcome, entropy);
        self.call.hint = outcome.hint.and_then(Hint::span);
        if self.policy.hints().is_shared() {
            self.share_hint(ledger, now, outcome, entropy);
        }
        let step = self.call.retry.on_outcome(self.policy, now, outcome, entropy);
        self.answer(ledger, now, step)
    }

    /// The wait is over, or a further copy is due; or a place was handed to a call that
    /// [waits in the queue](Self::limit_permit).
    #[inline]
    pub fn on_wake(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) -> Action {
        if self.call.permit.is_queued() {
            self.call.retry.hasten(now);
        }
        let step = self.call.retry.on_wake(self.policy, now);
        self.answer(ledger, now, step)
    }

    /// The caller gave up. Attempts that were made must be given back with [`Session::abandon`], one
    /// that was decided on and never made with [`Session::withdraw`].
    pub fn cancel(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) -> Action {
        let step = self.call.retry.cancel(now);
        self.answer(ledger, now, step)
    }

    /// This attempt was made and no caller waits for its outcome any more: the caller gave up, or another
    /// copy answered for it. The breaker gets its ticket back as neutral; the budget keeps the charge.
    ///
    /// The server works on it all the same. If abandoned attempts were free, an outer timeout, a
    /// disconnected client or a hedge would switch the budget off while everything is slow.
    pub fn abandon(
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        launched: Launched,
        entropy: &mut impl Entropy,
    ) {
        Self::tell(ledger, now, launched, &Outcome::new(Verdict::Cancelled), entropy);
    }

    /// The caller gave up before this attempt was made: its grant is refunded, and the breaker gets
    /// its ticket back as neutral.
    pub fn withdraw(
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        launched: Launched,
        entropy: &mut impl Entropy,
    ) {
        if launched.paced {
            ledger.on_paced(now, AdaptiveReport::Withdrawn);
        }
        Self::abandon(ledger, now, Launched { paced: false, ..launched }, entropy);
        ledger.refund(now, launched.paid);
    }

    /// The state of the call.
    #[must_use]
    pub const fn retry(&self) -> &Retry {
        &self.call.retry
    }

    /// Whether the next attempt waits for the end of the destination's pause.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.call.hold_end.is_some()
    }

    /// Whether the next attempt waits for its turn by the adaptive limit.
    #[must_use]
    pub const fn is_paced(&self) -> bool {
        self.call.paced
    }

    /// The share of the next attempt in the limits of the destination. While it is queued, the driver
    /// wakes the call when [`Ledger::watch`] says so, and at the end of the wait at the latest.
    #[must_use]
    pub const fn limit_permit(&self) -> &LimitPermit {
        &self.call.permit
    }

    /// The policy it was started with.
    #[must_use]
    pub const fn policy(&self) -> &'p Policy {
        self.policy
    }

    /// The machine of the call, if the call has nothing else to remember.
    #[inline]
    pub(super) const fn bare(&self) -> Option<&Retry> {
        let Detached { granted, paced, permit, hint, hold_end, begun, .. } = &self.call;
        let bare = granted.is_none() && !*paced && hint.is_none() && hold_end.is_none();
        let bare = bare && permit.is_none();
        if bare && *begun { Some(&self.call.retry) } else { None }
    }

    /// A call that has made its first attempt and has nothing else to remember.
    #[inline]
    pub(super) const fn waiting(policy: &'p Policy, retry: Retry) -> Self {
        Self { policy, call: Detached::new(retry, true) }
    }

    /// The call without its policy.
    #[inline]
    pub const fn detach(self) -> Detached {
        self.call
    }

    /// The ledger hears of an outcome before the machine does, so that the budget that is asked for
    /// the next attempt knows of this one.
    #[inline]
    fn tell(
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        launched: Launched,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) {
        if let Some(ticket) = launched.ticket {
            ledger.report(now, ticket, Report::of(outcome), &mut || entropy.next_u64());
        }
        if launched.paced {
            ledger.on_paced(now, AdaptiveReport::of(outcome));
        }
        if launched.placed {
            ledger.leave(now, LimitPermit::PLACE);
        }
        match outcome.verdict {
            Verdict::Ok if launched.attempt.number == 1 => {
                ledger.on_settled(now, Settled::FirstTry);
            }
            Verdict::Ok => ledger.on_settled(now, Settled::AfterRetry(launched.paid)),
            // The attempt was on the wire, so its grant stays paid, whatever dropped the call.
            Verdict::Cancelled => {}
            // The server never saw a refused stream, so it says nothing about its load.
            _ if outcome.remedy == Some(Remedy::Transparent) => {}
            verdict if verdict.is_retryable() || outcome.hint == Some(Hint::Never) => {
                ledger.on_settled(now, Settled::Failed);
            }
            _ => {}
        }
    }

    /// Answers the machine's questions until it wants something done.
    #[inline]
    fn answer(
        &mut self,
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        mut step: Step,
    ) -> Action {
        let mut ticket = None;
        loop {
            step = match step {
                Step::Ask(ask) => {
                    let permit = self.ask(ledger, now, ask, &mut ticket);
                    self.call.retry.on_permit(self.policy, now, permit)
                }
                Step::Act(Action::Attempt(attempt)) => {
                    self.begin(ledger, now);
                    return Action::Attempt(self.launched(attempt, ticket));
                }
                Step::Act(Action::Hedge(attempt)) => {
                    return Action::Hedge(self.launched(attempt, ticket));
                }
                Step::Act(Action::Wait(wait)) => {
                    // A grant waits along with its retry, but not with copies: there it was refused.
                    if matches!(wait, Wait::Copies { .. }) {
                        self.give_back(ledger, now);
                    }
                    return Action::Wait(wait);
                }
                Step::Act(Action::Done(done)) => {
                    self.give_back(ledger, now);
                    return Action::Done(Done { hint: self.hint_at(&done), ..done });
                }
            }
        }
    }

    fn ask(
        &mut self,
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        ask: Ask,
        ticket: &mut Option<Ticket>,
    ) -> Permit {
        match ask {
            Ask::Budget(charge) => {
                self.call.granted = ledger.ask(now, charge);
                if self.call.granted.is_some() { Permit::Granted } else { Permit::Refused }
            }
            Ask::Breaker => {
                if let Some(until) = self.held_until(ledger, now) {
                    self.leave(ledger, now);
                    return Permit::HeldUntil(until);
                }
                if let Some(permit) = self.pace(ledger, now) {
                    return permit;
                }
                if let Some(permit) = self.enter(ledger, now) {
                    return permit;
                }
                if self.policy.breaker().is_none() {
                    return Permit::Granted;
                }
                match ledger.admit(now) {
                    Admission::Admitted(admitted) => {
                        *ticket = Some(admitted);
                        Permit::Granted
                    }
                    Admission::Refused { until } => {
                        self.unpace(ledger, now);
                        self.leave(ledger, now);
                        Permit::RefusedUntil(until)
                    }
                }
            }
        }
    }

    /// Asks the adaptive limit, unless it has let this attempt pass already: the answer that keeps the
    /// attempt from starting now.
    fn pace(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) -> Option<Permit> {
        if self.call.paced || self.policy.adaptive().is_none() {
            return None;
        }
        let Pacing::After(wait) = ledger.pace(now) else { return Some(Permit::Throttled) };
        self.call.paced = true;
        let at = now + wait;
        (at > now).then_some(Permit::PacedUntil(at))
    }

    /// Tells the adaptive limit that the attempt that it let pass is not made.
    fn unpace(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) {
        if core::mem::take(&mut self.call.paced) {
            ledger.on_paced(now, AdaptiveReport::Withdrawn);
        }
    }

    /// Asks the concurrency limit and the rate limit: the answer that keeps the attempt from starting now.
    #[inline]
    fn enter(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) -> Option<Permit> {
        if !self.policy.is_limited() {
            return None;
        }
        // A further copy does not wait: it is not made.
        let longest = match self.call.retry.is_running() {
            true => Span::ZERO,
            false => self.policy.limits().room(self.call.retry.elapsed(now)),
        };
        Some(match ledger.enter(now, &mut self.call.permit, longest) {
            Entrance::Open => return None,
            Entrance::At(at) => Permit::PacedUntil(at),
            Entrance::Queued(until) => Permit::QueuedUntil(until),
            Entrance::RateLimited => Permit::RateLimited,
            Entrance::Full => Permit::Full,
        })
    }

    /// Gives back what an attempt that is not made holds of the limits.
    #[inline]
    fn leave(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) {
        let permit = core::mem::take(&mut self.call.permit);
        if !permit.is_none() {
            ledger.leave(now, permit);
        }
    }

    /// Tells the hint of a failed attempt to all calls. A pushback of gRPC is for the call alone.
    #[cold]
    fn share_hint(
        &self,
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) {
        let Some(Hint::AtLeast(hint)) = outcome.hint else { return };
        if outcome.verdict.is_retryable() {
            let (pause, spread) = self.policy.hints().pause(hint);
            ledger.pause(now + pause, spread, &mut || entropy.next_u64());
        }
    }

    /// Until when the pause of the destination holds the next attempt. Hints that come while it waits
    /// may hold it on, but never longer than one could.
    fn held_until(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) -> Option<Instant> {
        let rule = self.policy.hints();
        if !rule.is_shared() || self.call.hold_end.is_some_and(|end| end <= now) {
            return None;
        }
        let until = ledger.paused_until(now)?;
        // A further copy is not held: it is not made.
        if self.call.retry.is_running() {
            return Some(until);
        }
        let end = *self.call.hold_end.get_or_insert(now + rule.longest_pause());
        (end > now).then(|| until.min(end))
    }

    /// The hint that the caller may reschedule by, when it was a permit or the time that was missing.
    #[inline]
    fn hint_at(&self, done: &Done) -> Option<Span> {
        match done.stop {
            Stop::BudgetEmpty
            | Stop::BreakerOpen
            | Stop::Throttled
            | Stop::ConcurrencyLimited
            | Stop::RateLimited
            | Stop::DeadlineExceeded => self.call.hint,
            _ => done.hint,
        }
    }

    #[inline]
    fn begin(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) {
        if !self.call.begun {
            self.call.begun = true;
            ledger.on_first(now);
        }
    }

    #[inline]
    fn launched(&mut self, attempt: Attempt, ticket: Option<Ticket>) -> Launched {
        self.call.hold_end = None;
        let paid = self.call.granted.take().unwrap_or(Paid::FREE);
        let placed = core::mem::take(&mut self.call.permit).is_placed();
        Launched { attempt, ticket, paid, paced: core::mem::take(&mut self.call.paced), placed }
    }

    #[inline]
    fn give_back(&mut self, ledger: &mut (impl Ledger + ?Sized), now: Instant) {
        self.unpace(ledger, now);
        self.leave(ledger, now);
        if let Some(paid) = self.call.granted.take() {
            ledger.refund(now, paid);
        }
    }
}
