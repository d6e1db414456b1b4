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
    copies: u32,
    launched: u32,
    in_flight: u32,
    next: Option<Instant>,
}

impl Hedging {
    /// The first copy, the call itself, goes out at `now`; `delay` is [`HedgePlan::delay`].
    #[must_use]
    pub fn start(plan: &HedgePlan, delay: Span, now: Instant) -> Self {
        let copies = plan.copies();
        Self { delay, copies, launched: 1, in_flight: 1, next: Some(now + delay) }
    }

    /// When the next copy is due; `None` when there will be none.
    #[must_use]
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Copies sent so far, the first included.
    #[must_use]
    pub const fn launched(&self) -> u32 {
        self.launched
    }

    /// Copies that have neither answered nor failed. When there are none and none is due, the call
    /// has failed with the last failure.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// A copy went out at `now`.
    pub fn launch(&mut self, now: Instant) {
        self.launched = self.launched.saturating_add(1);
        self.in_flight = self.in_flight.saturating_add(1);
        let more = self.next.is_some() && self.launched < self.copies;
        self.next = more.then(|| now + self.delay);
    }

    /// No further copy: the budget, the breaker or the attempt count refused one.
    pub fn stop(&mut self) {
        self.next = None;
    }

    /// A copy settled at `now`.
    pub fn settle(&mut self, now: Instant, outcome: &Outcome) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.next = match (outcome.verdict, outcome.hint) {
            // An answer or a fatal failure: the copies under way are the caller's to cancel.
            (Verdict::Ok | Verdict::Permanent | Verdict::Cancelled, _) | (_, Some(Hint::Never)) => {
                None
            }
            (_, Some(Hint::Exactly(wait) | Hint::AtLeast(wait))) => self.next.map(|_| now + wait),
            (_, None) => self.next.map(|_| now),
        };
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
