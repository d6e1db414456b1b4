//! The longest hint that is obeyed.

use stagger_core::{ConfigError, HintRule, LongHint, Ratio, Span};

use super::delays::third;
use super::draft::{Draft, neat};

/// The longest hint of those who wait and of those who do not: the window of many rate limits.
const USUAL: Span = Span::from_secs(60);
const PATIENT: Span = Span::from_secs(15 * 60);
/// The share of a hint that is added at random.
const SPREAD: Ratio = Ratio::from_percent(50);

impl Draft<'_> {
    /// The hint rule: never shorter than the cap, for what we would wait anyway we also wait when asked.
    ///
    /// # Errors
    /// None: the share is a constant.
    pub(super) fn settle_hints(&mut self) -> Result<(), ConfigError> {
        if self.attempts == 1 {
            return Ok(());
        }
        let cap = self.backoff.cap().max(self.throttled.map_or(Span::ZERO, |rule| rule.cap()));
        let (max, reason) = match (
            self.answers.slo,
            self.answers.rate_limited,
            self.answers.background,
        ) {
            (Some(slo), true, _) => (
                slo,
                "as long as the SLO; what does not fit before the deadline ends the call, hint in hand",
            ),
            (Some(slo), false, _) => (
                neat(third(slo)),
                "a third of the SLO; a longer hint ends the call, and its caller can reschedule",
            ),
            (None, _, true) => (
                PATIENT,
                "the window of many rate limits; a job can be rescheduled for longer ones",
            ),
            (None, true, false) => {
                (USUAL, "the limit says when it ends: asking before is one more refusal")
            }
            (None, false, false) => {
                (CAPPED, "no longer than our own cap: who waits wants to know rather than wait")
            }
        };
        self.hints = HintRule::new(max.max(cap), SPREAD, LongHint::Stop)?;
        self.because("hints.max", reason);
        self.because(
            "hints.spread",
            "upward only: callers told the same instant do not meet there",
        );
        self.because("hints.long", "a call that the server has refused in advance is not made");
        Ok(())
    }

    /// The time that one obeyed hint may take, where the deadline is made to hold it.
    pub(super) fn longest_hint(&self) -> Span {
        let obeyed = self.answers.rate_limited && !self.answers.background && self.attempts > 1;
        if obeyed { USUAL.saturating_add(SPREAD.of_span(USUAL)) } else { Span::ZERO }
    }
}

/// As the usual cap.
const CAPPED: Span = Span::from_secs(10);
