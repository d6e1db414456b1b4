//! The settings of hedging, checked once.

use super::latencies::Latencies;
use crate::error::ConfigError;
use crate::ratio::Ratio;
use crate::time::Span;

/// Most copies of a call. gRPC clamps `maxAttempts` at 5 (gRFC A6); copies run at the same time,
/// so more would be an attack on the server.
const MAX_COPIES: u32 = 5;
/// Longest wait for a copy: an hour is beyond every deadline that hedging could help to keep.
const MAX_DELAY: Span = Span::from_secs(3600);

/// The delay before a further copy, and the most copies of a call.
///
/// ```
/// use stagger_core::hedge::HedgePlan;
/// use stagger_core::{Ratio, Span};
/// let p95 = HedgePlan::quantile(Ratio::from_percent(95), Span::from_millis(200), 2)?;
/// assert_eq!(p95.delay(None), Span::from_millis(200), "nothing measured yet");
/// let error = HedgePlan::fixed(Span::from_millis(50), 1).unwrap_err();
/// assert_eq!(error.to_string(), "hedge.copies = 1: must be from 2 to 5");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgePlan {
    /// The fixed delay, or the one used while too few latencies are known.
    delay: Span,
    quantile: Option<Ratio>,
    copies: u32,
}

impl HedgePlan {
    /// A further copy every `delay`, up to `copies` in all, the first call included.
    ///
    /// No delay at all sends all copies at once, as gRPC's `hedgingDelay` of zero does.
    ///
    /// # Errors
    /// `hedge.delay` above one hour; `hedge.copies` not from 2 to 5.
    pub fn fixed(delay: impl Into<Span>, copies: u32) -> Result<Self, ConfigError> {
        let delay = delay.into();
        if delay > MAX_DELAY {
            return Err(ConfigError::new("hedge.delay", delay, "at most 1h"));
        }
        if !(2..=MAX_COPIES).contains(&copies) {
            return Err(ConfigError::new("hedge.copies", copies, "from 2 to 5"));
        }
        Ok(Self { delay, quantile: None, copies })
    }

    /// A further copy once a call takes longer than this quantile of the latencies seen lately, and
    /// after `fallback` while too few are known (Dean and Barroso, "The Tail at Scale", 2013: p95).
    ///
    /// # Errors
    /// `hedge.quantile` not above 0 and below 100 %, and as for [`HedgePlan::fixed`].
    pub fn quantile(
        quantile: Ratio,
        fallback: impl Into<Span>,
        copies: u32,
    ) -> Result<Self, ConfigError> {
        if quantile == Ratio::ZERO || quantile >= Ratio::ONE {
            return Err(ConfigError::new("hedge.quantile", quantile, "above 0% and below 100%"));
        }
        Ok(Self { quantile: Some(quantile), ..Self::fixed(fallback, copies)? })
    }

    /// Returns the delay of a call that starts now before its next copy; at most one hour.
    #[must_use]
    pub fn delay(&self, latencies: Option<&Latencies>) -> Span {
        let measured = self.quantile.zip(latencies).and_then(|(q, seen)| seen.quantile(q));
        measured.unwrap_or(self.delay).min(MAX_DELAY)
    }

    /// Copies there may be, the first call included: 2 to 5.
    #[must_use]
    pub const fn copies(&self) -> u32 {
        self.copies
    }

    /// The quantile of the latencies that a call waits for, unless its delay is fixed.
    #[must_use]
    pub const fn latency_quantile(&self) -> Option<Ratio> {
        self.quantile
    }

    /// Whether [`delay`](Self::delay) reads latencies, so that they are worth keeping.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        self.quantile.is_some()
    }
}
