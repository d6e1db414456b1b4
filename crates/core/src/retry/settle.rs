//! The settling order: which "no" comes first after a failed attempt, and which delay if none does.

use super::{Retry, Stop};
use crate::budget::Charge;
use crate::entropy::Entropy;
use crate::outcome::{Cause, Hint, Outcome, Remedy, Verdict};
use crate::policy::Policy;
use crate::time::{Instant, Span};

/// One failed attempt of a call, about to be settled.
pub(super) struct Settling<'a> {
    pub(super) policy: &'a Policy,
    pub(super) now: Instant,
    pub(super) outcome: &'a Outcome,
    pub(super) call: Retry,
}

impl Settling<'_> {
    /// The charge for a retry after this outcome.
    pub(super) const fn charge(outcome: &Outcome) -> Charge {
        match (outcome.verdict, outcome.cause) {
            (Verdict::Throttled, _) => Charge::Throttled,
            (_, Cause::Timeout) => Charge::Timeout,
            _ => Charge::Retry,
        }
    }

    /// The remedy to try, if it may follow at once. Whether it was tried before is the call's to know.
    #[inline(always)]
    pub(super) fn remedy(&self) -> Option<Remedy> {
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
    pub(super) fn delay(&self, entropy: &mut impl Entropy) -> Result<(Span, Span), Stop> {
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
