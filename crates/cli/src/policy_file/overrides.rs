//! Single settings of a backoff that flags put on top of a policy's.

use stagger_core::{Backoff, ConfigError, Envelope, Jitter, Span};

/// The flags that replace settings of the backoff; the others stay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) base: Option<Span>,
    pub(crate) cap: Option<Span>,
    pub(crate) factor: Option<f64>,
    pub(crate) jitter: Option<Jitter>,
}

impl Overrides {
    /// The rule with the settings on top; `cap` where no flag says one.
    ///
    /// # Errors
    /// Settings that the engine refuses.
    pub(crate) fn on(&self, rule: &Backoff, cap: Span) -> Result<Backoff, ConfigError> {
        let base = self.base.unwrap_or(rule.base());
        let changed = match (rule.envelope(), self.cap) {
            // A constant envelope's cap is its base, and follows it.
            (Envelope::Constant, None) => Backoff::constant(base),
            (envelope, asked) => Backoff::new(envelope, base, asked.unwrap_or(cap))?,
        };
        let changed = match self.factor {
            Some(factor) => changed.with_factor(factor)?,
            None => changed,
        };
        changed.with_jitter(self.jitter.unwrap_or(rule.jitter()))
    }
}
