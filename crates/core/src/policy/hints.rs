//! Bounds on obeying a server's hint.

use crate::entropy::Entropy;
use crate::error::ConfigError;
use crate::ratio::Ratio;
use crate::time::Span;

/// The most that spread adds to a hint: beyond half a minute the herd is as thin as it needs to be.
const MAX_SPREAD: Span = Span::from_secs(30);

/// The handling of a hint above the longest accepted one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LongHint {
    /// End the call at once and hand the hint to the caller, who can reschedule.
    #[default]
    Stop,
    /// Wait for the longest hint instead. The server has said in advance that this attempt will fail.
    Shorten,
    /// Wait for the own delay plus this at most (the rule of the AWS SDKs, with 5 s).
    OwnDelayPlus(Span),
}

/// The calls that a hint delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HintScope {
    /// The call that was given it. A limit is often that of one key or one route, which nobody but the
    /// server knows, and other calls to it would be held for nothing.
    #[default]
    Call,
    /// All calls to the destination: for servers whose limits are those of the whole client. An
    /// attempt that would start before the end of the hint waits for it, first attempts included, at
    /// most [`HintRule::max`] long; where that does not fit before the deadline the call ends. A
    /// [`Ledger`](crate::retry::Ledger) keeps it, if it is of a kind that can.
    Destination,
}

/// The rule by which hints bound the delay: never below the hint, and spread upward from it.
///
/// ```
/// use stagger_core::{Entropy, HintRule, Span};
/// let rule = HintRule::default();
/// let (own, hint) = (Span::from_secs(2), Span::from_secs(10));
/// let mut highest = || u64::MAX;
/// assert_eq!(rule.delay(own, hint, &mut highest), Span::from_secs(15));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HintRule {
    max: Span,
    spread: Ratio,
    long: LongHint,
    scope: HintScope,
}

impl HintRule {
    /// Hints up to `max` are obeyed; `spread` is the share of a hint that is added at random, so
    /// that callers told the same instant do not meet there.
    ///
    /// # Errors
    /// A `spread` above 1.
    pub fn new(max: impl Into<Span>, spread: Ratio, long: LongHint) -> Result<Self, ConfigError> {
        let max = max.into();
        if spread > Ratio::ONE {
            return Err(ConfigError::new("hints.spread", spread.as_f64(), "from 0 to 1"));
        }
        Ok(Self { max, spread, long, scope: HintScope::Call })
    }

    /// The same rule with hints that these calls keep to. Default: [`HintScope::Call`].
    ///
    /// ```
    /// use stagger_core::{HintRule, HintScope};
    /// let rule = HintRule::default().with_scope(HintScope::Destination);
    /// assert_eq!(rule.scope(), HintScope::Destination);
    /// ```
    #[must_use]
    pub const fn with_scope(mut self, scope: HintScope) -> Self {
        self.scope = scope;
        self
    }

    /// The rule of the AWS SDKs: no spread, and at most 5 s above the own delay.
    pub(crate) const AWS: Self = Self {
        max: Span::ZERO,
        spread: Ratio::ZERO,
        long: LongHint::OwnDelayPlus(Span::from_secs(5)),
        scope: HintScope::Call,
    };

    /// The longest hint that is waited for.
    #[must_use]
    pub const fn max(&self) -> Span {
        self.max
    }

    /// The share of a hint that may be added to it.
    #[must_use]
    pub const fn spread(&self) -> Ratio {
        self.spread
    }

    /// The handling of longer hints.
    #[must_use]
    pub const fn long(&self) -> LongHint {
        self.long
    }

    /// The calls that a hint delays.
    #[must_use]
    pub const fn scope(&self) -> HintScope {
        self.scope
    }

    /// Whether one call's hint holds others too.
    #[inline]
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.scope == HintScope::Destination
    }

    /// The longest time that another call's hint may hold an attempt.
    pub(crate) fn longest_pause(&self) -> Span {
        match self.long {
            LongHint::Stop | LongHint::Shorten => self.max,
            LongHint::OwnDelayPlus(more) => more,
        }
    }

    /// Returns the pause of all calls that this hint causes, and the span over which their starts are spread.
    pub(crate) fn pause(&self, hint: Span) -> (Span, Span) {
        let pause = hint.min(self.longest_pause());
        (pause, self.spread.of_span(pause).min(MAX_SPREAD))
    }

    /// Whether this hint ends the call.
    #[inline]
    pub(crate) fn refuses(&self, hint: Span) -> bool {
        hint > self.max && self.long == LongHint::Stop
    }

    /// The hint as far as it is obeyed, given the own delay.
    pub(crate) fn obeyed(&self, own: Span, hint: Span) -> Span {
        match self.long {
            LongHint::Stop => hint,
            LongHint::Shorten => hint.min(self.max),
            LongHint::OwnDelayPlus(more) => hint.min(own + more),
        }
    }

    /// The part of a hint that is waited for whatever the own delay turns out to be.
    pub(crate) fn certain(&self, hint: Span) -> Span {
        match self.long {
            LongHint::OwnDelayPlus(_) => Span::ZERO,
            LongHint::Stop | LongHint::Shorten => self.obeyed(Span::ZERO, hint),
        }
    }

    /// The delay under a hint: the longer of `own` and `hint`, plus spread. Takes one word.
    #[must_use]
    pub fn delay(&self, own: Span, hint: Span, entropy: &mut impl Entropy) -> Span {
        self.delay_within(Span::MAX, (own, hint), entropy)
    }

    /// The same with the spread cut to what keeps the delay within `room`: a spread that ran past
    /// the deadline would turn a hint that can be obeyed into a refusal.
    pub(crate) fn delay_within(
        &self,
        room: Span,
        (own, hint): (Span, Span),
        entropy: &mut impl Entropy,
    ) -> Span {
        let hint = self.obeyed(own, hint);
        let least = own.max(hint);
        let spread = self.spread.of_span(hint).min(MAX_SPREAD).min(room - least);
        least + entropy.draw(Span::ZERO, spread)
    }
}

impl Default for HintRule {
    /// Hints up to 60 s, spread by half, longer ones end the call: a caller who waits a minute for
    /// one answer is rare, and one who waits longer should be asked.
    fn default() -> Self {
        Self {
            max: Span::from_secs(60),
            spread: Ratio::from_percent(50),
            long: LongHint::Stop,
            scope: HintScope::Call,
        }
    }
}
