//! The retry throttle of gRPC (gRFC A6): no retries while failures outweigh successes.

use super::{Level, Paid, Settled};
use crate::{ConfigError, Ratio};

/// gRFC A6: `maxTokens` lies in (0, 1000].
const MAX_TOKENS: u32 = 1_000;
/// gRFC A6: the ratio counts to three decimals, so thousandths of a token are exact.
const MILLI: u32 = 1_000;

/// A count that every failure lowers by one token and every success raises by a part of one.
///
/// Retries are granted while it is above half of its maximum. The count stays within 0 and that
/// maximum (grpc/proposal pull request 27), so a long good time buys no long bad one.
///
/// ```
/// use stagger_core::budget::{Settled, ThrottlePlan};
/// use stagger_core::Ratio;
/// let plan = ThrottlePlan::new(10, Ratio::from_percent(10))?;
/// let mut state = plan.start();
/// for _ in 0..5 {
///     assert!(plan.ask(state).is_some());
///     state = plan.on_settled(state, Settled::Failed);
/// }
/// assert!(plan.ask(state).is_none());
/// assert_eq!(state.milli_tokens(), 5_000);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottlePlan {
    max_milli: u32,
    credit_milli: u32,
}

impl ThrottlePlan {
    /// A throttle of at most `max_tokens`, to which a success gives `token_ratio` of a token.
    /// Decimals beyond the third are ignored, as gRFC A6 says.
    ///
    /// # Errors
    /// `budget.max_tokens` outside 1..=1000, `budget.token_ratio` below 0.001.
    pub fn new(max_tokens: u32, token_ratio: Ratio) -> Result<Self, ConfigError> {
        if !(1..=MAX_TOKENS).contains(&max_tokens) {
            return Err(ConfigError::new("budget.max_tokens", max_tokens, "from 1 to 1000"));
        }
        let credit_milli = token_ratio.ppm() / (Ratio::SCALE / MILLI);
        if credit_milli == 0 {
            let given = token_ratio.as_f64();
            return Err(ConfigError::new("budget.token_ratio", given, "at least 0.001"));
        }
        Ok(Self { max_milli: max_tokens * MILLI, credit_milli })
    }

    /// The most tokens the count reaches.
    #[must_use]
    pub const fn max_tokens(&self) -> u32 {
        self.max_milli / MILLI
    }

    /// The deposit of a success, in parts of a token, to three decimals.
    #[must_use]
    pub const fn token_ratio(&self) -> Ratio {
        // OK because the credit came from a ratio in parts per million, divided by the same number.
        Ratio::from_ppm(self.credit_milli * (Ratio::SCALE / MILLI))
    }

    /// The count before anything happened: full.
    #[must_use]
    pub const fn start(&self) -> ThrottleState {
        ThrottleState(self.max_milli as u64)
    }

    /// Grants while the count is above half of its maximum; takes nothing, because the failure that
    /// led here has already been counted.
    #[inline]
    #[must_use]
    pub fn ask(&self, state: ThrottleState) -> Option<Paid> {
        (state.0 > self.half()).then_some(Paid::FREE)
    }

    /// The count after an attempt settled.
    #[inline]
    #[must_use]
    pub fn on_settled(&self, state: ThrottleState, settled: Settled) -> ThrottleState {
        ThrottleState(match settled {
            Settled::Failed => state.0.saturating_sub(u64::from(MILLI)),
            Settled::FirstTry | Settled::AfterRetry(_) => {
                let raised = state.0.saturating_add(u64::from(self.credit_milli));
                raised.min(u64::from(self.max_milli))
            }
        })
    }

    /// Returns the level of the count; `retries` is the number of failures after which it refuses.
    #[must_use]
    pub fn level(&self, state: ThrottleState) -> Level {
        Level {
            retries: state.0.saturating_sub(self.half()).div_ceil(u64::from(MILLI)),
            held: state.0,
            capacity: u64::from(self.max_milli),
        }
    }

    /// Half of the maximum in milli-tokens: whole, because a thousand is even.
    const fn half(&self) -> u64 {
        (self.max_milli / 2) as u64
    }
}

/// The count in thousandths of a token: one word, fit for a compare-exchange loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThrottleState(u64);

impl ThrottleState {
    /// The count of this word, as [`ThrottleState::to_bits`] gave it.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The count as one word.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The count in thousandths of a token.
    #[must_use]
    pub const fn milli_tokens(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_beyond_the_third_are_ignored() {
        let ratio = Ratio::from_ppm(599_900);
        let plan = ThrottlePlan::new(10, ratio).unwrap();
        assert_eq!(plan.token_ratio(), Ratio::from_ppm(599_000));
    }

    #[test]
    fn throttles_that_never_close_or_never_open_are_refused() {
        let field = |max, ppm| ThrottlePlan::new(max, Ratio::from_ppm(ppm)).unwrap_err().field();
        assert_eq!(field(0, 100_000), "budget.max_tokens");
        assert_eq!(field(1_001, 100_000), "budget.max_tokens");
        assert_eq!(field(10, 0), "budget.token_ratio");
        assert_eq!(field(10, 999), "budget.token_ratio");
    }

    #[test]
    fn an_odd_maximum_keeps_its_half() {
        let plan = ThrottlePlan::new(3, Ratio::ONE).unwrap();
        assert!(plan.ask(ThrottleState(1_501)).is_some());
        assert!(plan.ask(ThrottleState(1_500)).is_none());
    }
}
