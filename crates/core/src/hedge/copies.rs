//! The copies of one call, and when the next one is due.

use super::plan::HedgePlan;
use crate::outcome::{Hint, Outcome, Verdict};
use crate::time::{Instant, Span};

/// One hedged call: how many copies went out, and when the next may.
///
/// The rules are gRPC's (gRFC A6): a further copy each time the delay passes; a non-fatal failure
/// sends the next at once; pushback delays it, and negative pushback means no more; a fatal failure
/// or an answer ends it. Copies already under way may still answer.
///
/// ```
/// use stagger_core::hedge::{HedgePlan, Hedging};
/// use stagger_core::{Instant, Outcome, Span, Verdict};
/// let plan = HedgePlan::fixed(Span::from_millis(100), 3)?;
/// let start = Instant::ORIGIN;
/// let mut call = Hedging::start(&plan, plan.delay(None), start);
/// let due = start + Span::from_millis(100);
/// assert_eq!(call.next(), Some(due));
///
/// call.launch(due);
/// let failed = due + Span::from_millis(20);
/// call.settle(failed, &Outcome::new(Verdict::Transient));
/// assert_eq!(call.next(), Some(failed), "a non-fatal failure sends the next copy at once");
///
/// call.launch(failed);
/// assert_eq!(call.next(), None, "three copies are out");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedging {
    delay: Span,
    /// The due time of the next copy; [`Instant::FAR`] if there is none. An `Option` would cost
    /// every call eight bytes.
    next: Instant,
    /// Copies there may be: at most five, by the plan's bound.
    copies: u8,
    launched: u8,
    in_flight: u8,
}

impl Hedging {
    /// Without a plan there is one copy an attempt: it went out, and its outcome is here.
    pub(crate) const ALONE_AND_BACK: Self =
        Self { delay: Span::ZERO, next: Instant::FAR, copies: 1, launched: 1, in_flight: 0 };

    /// The first copy, the call itself, goes out at `now`; `delay` is [`HedgePlan::delay`].
    #[must_use]
    pub fn start(plan: &HedgePlan, delay: Span, now: Instant) -> Self {
        let mut call = Self::plan(Some(plan), Some(delay));
        call.restart(now);
        call
    }

    /// Nothing sent yet. Without a plan there is one copy and never a second.
    #[inline]
    pub(crate) fn plan(plan: Option<&HedgePlan>, delay: Option<Span>) -> Self {
        let (copies, delay) = match plan {
            Some(plan) => (plan.copies(), delay.unwrap_or_else(|| plan.delay(None))),
            None => (1, Span::ZERO),
        };
        // OK because a plan has at most five copies.
        let copies = u8::try_from(copies).unwrap_or(u8::MAX);
        Self { delay, next: Instant::FAR, copies, launched: 0, in_flight: 0 }
    }

    /// A first copy goes out at `now`, with the copies of its own to follow.
    #[inline]
    pub(crate) fn restart(&mut self, now: Instant) {
        self.launched = 0;
        self.in_flight = 0;
        self.send(now);
    }

    /// The due time of the next copy; `None` if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        (self.next != Instant::FAR).then_some(self.next)
    }

    /// Copies sent so far, the first included.
    #[must_use]
    pub const fn launched(&self) -> u32 {
        self.launched as u32
    }

    /// Copies that have neither answered nor failed. When there are none and none is due, the call
    /// has failed with the last failure.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight as u32
    }

    /// A copy went out at `now`.
    pub fn launch(&mut self, now: Instant) {
        if self.next().is_some() {
            self.send(now);
        } else {
            self.launched = self.launched.saturating_add(1);
            self.in_flight = self.in_flight.saturating_add(1);
        }
    }

    /// No further copy: the budget, the breaker or the attempt count refused one.
    pub const fn stop(&mut self) {
        self.next = Instant::FAR;
    }

    /// A copy settled at `now`.
    #[inline]
    pub fn settle(&mut self, now: Instant, outcome: &Outcome) {
        self.in_flight = self.in_flight.saturating_sub(1);
        match (outcome.verdict, outcome.hint) {
            // An answer or a fatal failure: the copies under way are the caller's to cancel.
            (Verdict::Ok | Verdict::Permanent | Verdict::Cancelled, _) | (_, Some(Hint::Never)) => {
                self.stop();
            }
            _ if self.next().is_none() => {}
            (_, Some(Hint::Exactly(wait) | Hint::AtLeast(wait))) => self.next = now + wait,
            (_, None) => self.next = now,
        }
    }

    #[inline]
    fn send(&mut self, now: Instant) {
        self.launched = self.launched.saturating_add(1);
        self.in_flight = self.in_flight.saturating_add(1);
        self.next = if self.launched < self.copies { now + self.delay } else { Instant::FAR };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ConfigError;

    const FAILED: Outcome = Outcome::new(Verdict::Transient);

    fn at(ms: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(ms)
    }

    fn three_copies() -> Result<Hedging, ConfigError> {
        let plan = HedgePlan::fixed(Span::from_millis(100), 3)?;
        Ok(Hedging::start(&plan, plan.delay(None), at(0)))
    }

    #[test]
    fn pushback_delays_the_next_copy_and_then_the_usual_delay_holds() -> Result<(), ConfigError> {
        let mut call = three_copies()?;
        call.settle(at(10), &FAILED.with_hint(Hint::Exactly(Span::from_millis(500))));
        assert_eq!((call.next(), call.in_flight()), (Some(at(510)), 0));
        call.launch(at(510));
        assert_eq!(call.next(), Some(at(610)));
        Ok(())
    }

    #[test]
    fn negative_pushback_and_fatal_failures_stop_hedging_for_good() -> Result<(), ConfigError> {
        for last in [
            FAILED.with_hint(Hint::Never),
            Outcome::new(Verdict::Permanent),
            Outcome::new(Verdict::Cancelled),
            Outcome::OK,
        ] {
            let mut call = three_copies()?;
            call.launch(at(100));
            call.settle(at(110), &last);
            call.settle(at(120), &FAILED);
            assert_eq!((call.next(), call.in_flight()), (None, 0), "{last:?}");
        }
        Ok(())
    }

    #[test]
    fn a_refused_copy_is_not_asked_for_again() -> Result<(), ConfigError> {
        let mut call = three_copies()?;
        call.stop();
        call.settle(at(150), &FAILED);
        assert_eq!(call.next(), None);
        Ok(())
    }

    #[test]
    fn no_delay_sends_all_copies_at_once_and_no_more() -> Result<(), ConfigError> {
        let plan = HedgePlan::fixed(Span::ZERO, 5)?;
        let mut call = Hedging::start(&plan, plan.delay(None), at(0));
        while call.next() == Some(at(0)) {
            call.launch(at(0));
        }
        assert_eq!((call.launched(), call.next()), (5, None));
        Ok(())
    }
}
