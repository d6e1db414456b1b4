//! The settling order: which "no" comes first after a failed attempt, and which delay if none does.

use super::machine::Phase;
use super::{Ask, Retry, Step, Stop};
use crate::budget::{BudgetPlan, Charge};
use crate::entropy::Entropy;
use crate::outcome::{Cause, Hint, Outcome, Remedy, Verdict};
use crate::policy::Policy;
use crate::time::{Instant, Span};

impl Retry {
    #[inline(always)]
    pub(super) fn settle(
        &mut self,
        policy: &Policy,
        now: Instant,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> Step {
        let mut call = *self;
        if outcome.progress {
            (call.attempts, call.retries, call.prev) = (0, 0, policy.backoff().base());
        }
        let settling = Settling { policy, now, outcome, call };
        if let Some(remedy) = settling.remedy() {
            if self.spent.first_use(remedy as u8) {
                self.remedy = Some(remedy);
                return self.ask_breaker(policy, now);
            }
        }
        match settling.delay(entropy) {
            Err(stop) => self.end(now, stop, outcome.hint.and_then(Hint::span)),
            Ok((own, delay)) => self.back_off(policy, now, outcome, (own, delay)),
        }
    }

    /// Notes the delay, and asks the budget for it. A refused connection costs as much as any failure:
    /// a crashed server refuses everybody, and free retries would be a storm at its restart.
    #[inline(always)]
    fn back_off(
        &mut self,
        policy: &Policy,
        now: Instant,
        outcome: &Outcome,
        (own, delay): (Span, Span),
    ) -> Step {
        if outcome.progress {
            (self.attempts, self.retries) = (0, 0);
        }
        let restart = matches!(outcome.hint, Some(Hint::Exactly(_)));
        self.retries = if restart { 0 } else { self.retries.saturating_add(1) };
        self.prev = if restart { policy.backoff().base() } else { own };
        self.wake = now + delay;
        if *policy.budget() == BudgetPlan::Unlimited {
            return self.wait();
        }
        let charge = Settling::charge(outcome);
        self.phase = Phase::AskingBudget(charge);
        Step::Ask(Ask::Budget(charge))
    }
}

/// One failed attempt of a call, about to be settled.
struct Settling<'a> {
    policy: &'a Policy,
    now: Instant,
    outcome: &'a Outcome,
    call: Retry,
}

impl Settling<'_> {
    /// The charge for a retry after this outcome.
    const fn charge(outcome: &Outcome) -> Charge {
        match (outcome.verdict, outcome.cause) {
            (Verdict::Throttled, _) => Charge::Throttled,
            (_, Cause::Timeout) => Charge::Timeout,
            _ => Charge::Retry,
        }
    }

    /// The remedy to try, if it may follow at once. Whether it was tried before is the call's to know.
    #[inline(always)]
    fn remedy(&self) -> Option<Remedy> {
        let remedy = self.outcome.remedy?;
        let counted = remedy != Remedy::Transparent;
        let may = self.outcome.replayable
            && self.outcome.hint != Some(Hint::Never)
            && (!counted || self.policy.limits().attempts_left(self.call.attempts))
            && self.fits(Span::ZERO);
        may.then_some(remedy)
    }

    /// The drawn delay and the delay to wait, or the first reason against a retry.
    #[inline(always)]
    fn delay(&self, entropy: &mut impl Entropy) -> Result<(Span, Span), Stop> {
        self.check_outcome()?;
        self.check_hint()?;
        if !self.policy.limits().attempts_left(self.call.attempts) {
            return Err(Stop::AttemptsExhausted);
        }
        let (own, delay) = self.draw(entropy);
        if self.fits(delay) { Ok((own, delay)) } else { Err(Stop::DeadlineExceeded) }
    }

    #[inline]
    fn check_outcome(&self) -> Result<(), Stop> {
        let verdict = self.outcome.verdict;
        if !verdict.is_retryable() {
            return Err(Stop::Permanent);
        }
        if verdict != Verdict::Unprocessed && !self.call.idempotent {
            return Err(Stop::NotIdempotent);
        }
        if self.outcome.replayable { Ok(()) } else { Err(Stop::NotReplayable) }
    }

    #[inline]
    fn check_hint(&self) -> Result<(), Stop> {
        let rule = self.policy.hints();
        match self.outcome.hint {
            Some(Hint::Never) => Err(Stop::HintForbids),
            Some(Hint::AtLeast(span) | Hint::Exactly(span)) if rule.refuses(span) => {
                Err(Stop::HintTooLong)
            }
            Some(Hint::AtLeast(span)) if !self.fits(rule.certain(span)) => {
                Err(Stop::HintPastDeadline)
            }
            Some(Hint::Exactly(span)) if !self.fits(span) => Err(Stop::HintPastDeadline),
            _ => Ok(()),
        }
    }

    /// The own delay, and what becomes of it under the hint.
    #[inline]
    fn draw(&self, entropy: &mut impl Entropy) -> (Span, Span) {
        let backoff = match self.outcome.verdict {
            Verdict::Throttled => self.policy.throttled_backoff(),
            _ => self.policy.backoff(),
        };
        let own = backoff.delay(self.call.retries.saturating_add(1), self.call.prev, entropy);
        let delay = match self.outcome.hint {
            Some(Hint::Exactly(span)) => span,
            Some(Hint::AtLeast(hint)) => {
                let room = self.policy.limits().room(self.elapsed());
                self.policy.hints().delay_within(room, (own, hint), entropy)
            }
            Some(Hint::Never) | None => own,
        };
        (own, delay)
    }

    /// Whether an attempt after `delay` has time before the deadline.
    #[inline]
    fn fits(&self, delay: Span) -> bool {
        self.policy.limits().fits(self.elapsed() + delay)
    }

    #[inline]
    fn elapsed(&self) -> Span {
        self.call.elapsed(self.now)
    }
}
