//! The token bucket of the AWS SDKs: retries cost tokens, successes bring them back.

use super::{Charge, Level, Paid, Settled};
use crate::ConfigError;

/// The largest bucket. AWS has 500; a bucket of more than a million retries limits nothing.
const MAX_CAPACITY: u32 = 1_000_000;

/// A token bucket that time does not refill: only successes do.
///
/// A retry that cannot be paid in full is refused. A success after a retry gives back what its last
/// retry cost, a success at the first attempt gives one token, and never is there more than the
/// capacity. Source: the "standard" retry mode of the AWS SDKs.
///
/// ```
/// use stagger_core::budget::{Charge, TokenPlan};
/// let plan = TokenPlan::aws_2_1();
/// assert_eq!((plan.capacity(), plan.cost(Charge::Retry)), (500, 14));
/// let small = TokenPlan::new(100, 5)?.with_timeout(20)?;
/// assert_eq!(small.cost(Charge::Timeout), 20);
/// assert!(TokenPlan::new(100, 101).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenPlan {
    capacity: u32,
    initial: u32,
    retry: u32,
    timeout: u32,
    throttled: u32,
    hedge: u32,
    first_try: u32,
}

impl TokenPlan {
    /// A full bucket of `capacity` tokens in which every charge costs `cost` and a success at the
    /// first attempt gives one.
    ///
    /// # Errors
    /// `budget.capacity` outside 1..=1000000, `budget.retry` outside 1..=capacity.
    pub fn new(capacity: u32, cost: u32) -> Result<Self, ConfigError> {
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(ConfigError::new("budget.capacity", capacity, "from 1 to 1000000"));
        }
        let plan = Self::uniform(capacity, cost);
        plan.payable("budget.retry", cost)?;
        Ok(plan)
    }

    /// The AWS rules of 2019 (2.0): capacity 500, a retry costs 5, after a timeout 10.
    #[must_use]
    pub const fn aws_2_0() -> Self {
        Self { timeout: 10, ..Self::uniform(500, 5) }
    }

    /// The AWS rules of 2026 (2.1): capacity 500, a retry costs 14, after throttling 5.
    #[must_use]
    pub const fn aws_2_1() -> Self {
        Self { throttled: 5, ..Self::uniform(500, 14) }
    }

    /// The same bucket in which a retry after a timeout costs `cost` tokens.
    ///
    /// # Errors
    /// `budget.timeout` outside 1..=capacity.
    pub fn with_timeout(self, cost: u32) -> Result<Self, ConfigError> {
        self.payable("budget.timeout", cost)?;
        Ok(Self { timeout: cost, ..self })
    }

    /// The same bucket in which a retry after throttling costs `cost` tokens.
    ///
    /// # Errors
    /// `budget.throttled` outside 1..=capacity.
    pub fn with_throttled(self, cost: u32) -> Result<Self, ConfigError> {
        self.payable("budget.throttled", cost)?;
        Ok(Self { throttled: cost, ..self })
    }

    /// The same bucket in which a hedge costs `cost` tokens; by default as much as a retry.
    ///
    /// # Errors
    /// `budget.hedge` outside 1..=capacity.
    pub fn with_hedge(self, cost: u32) -> Result<Self, ConfigError> {
        self.payable("budget.hedge", cost)?;
        Ok(Self { hedge: cost, ..self })
    }

    /// The same bucket in which a success at the first attempt gives `credit` tokens, default 1.
    ///
    /// # Errors
    /// `budget.first_try` above the capacity.
    pub fn with_first_try(self, credit: u32) -> Result<Self, ConfigError> {
        self.holds("budget.first_try", credit)?;
        Ok(Self { first_try: credit, ..self })
    }

    /// The same bucket, started with `tokens` instead of full.
    ///
    /// # Errors
    /// `budget.initial` above the capacity.
    pub fn with_initial(self, tokens: u32) -> Result<Self, ConfigError> {
        self.holds("budget.initial", tokens)?;
        Ok(Self { initial: tokens, ..self })
    }

    /// The most tokens the bucket holds.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The tokens the bucket starts with.
    #[must_use]
    pub const fn initial(&self) -> u32 {
        self.initial
    }

    /// The tokens that a success at the first attempt gives.
    #[must_use]
    pub const fn first_try(&self) -> u32 {
        self.first_try
    }

    /// The tokens that `charge` takes.
    #[must_use]
    #[inline]
    pub const fn cost(&self, charge: Charge) -> u32 {
        match charge {
            Charge::Retry => self.retry,
            Charge::Timeout => self.timeout,
            Charge::Throttled => self.throttled,
            Charge::Hedge => self.hedge,
        }
    }

    /// The bucket before anything happened.
    #[must_use]
    pub const fn start(&self) -> TokenState {
        TokenState(self.initial as u64)
    }

    /// Takes the price of `charge`: the grant and the bucket after it, or `None` when it holds less.
    #[inline]
    #[must_use]
    pub fn ask(&self, state: TokenState, charge: Charge) -> Option<(Paid, TokenState)> {
        let cost = self.cost(charge);
        let left = state.0.checked_sub(u64::from(cost))?;
        Some((Paid::new(cost, 0), TokenState(left)))
    }

    /// The bucket after a grant was given back.
    #[inline]
    #[must_use]
    pub fn refund(&self, state: TokenState, paid: Paid) -> TokenState {
        self.add(state, paid.amount())
    }

    /// The bucket after an attempt settled. A success whose last retry was free counts like one at
    /// the first attempt, so that every success brings something back.
    #[inline]
    #[must_use]
    pub fn on_settled(&self, state: TokenState, settled: Settled) -> TokenState {
        match settled {
            Settled::Failed => state,
            Settled::AfterRetry(paid) if paid.amount() > 0 => self.add(state, paid.amount()),
            Settled::FirstTry | Settled::AfterRetry(_) => self.add(state, self.first_try),
        }
    }

    /// Returns the level of the bucket; `retries` counts those at the price of [`Charge::Retry`].
    #[must_use]
    pub fn level(&self, state: TokenState) -> Level {
        Level {
            retries: state.0 / u64::from(self.retry),
            held: state.0,
            capacity: u64::from(self.capacity),
        }
    }

    const fn uniform(capacity: u32, cost: u32) -> Self {
        Self {
            capacity,
            initial: capacity,
            retry: cost,
            timeout: cost,
            throttled: cost,
            hedge: cost,
            first_try: 1,
        }
    }

    #[inline]
    fn add(&self, state: TokenState, tokens: u32) -> TokenState {
        TokenState(state.0.saturating_add(u64::from(tokens)).min(u64::from(self.capacity)))
    }

    /// A price of zero would never end, one above the capacity would never be granted.
    fn payable(&self, field: &'static str, cost: u32) -> Result<(), ConfigError> {
        if (1..=self.capacity).contains(&cost) {
            return Ok(());
        }
        let bound = alloc::format!("from 1 to budget.capacity ({})", self.capacity);
        Err(ConfigError::new(field, cost, bound))
    }

    fn holds(&self, field: &'static str, tokens: u32) -> Result<(), ConfigError> {
        if tokens <= self.capacity {
            return Ok(());
        }
        let bound = alloc::format!("at most budget.capacity ({})", self.capacity);
        Err(ConfigError::new(field, tokens, bound))
    }
}

/// The tokens in a bucket: one word, fit for a compare-exchange loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenState(u64);

impl TokenState {
    /// The bucket of this word, as [`TokenState::to_bits`] gave it.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bucket as one word.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The tokens in the bucket.
    #[must_use]
    pub const fn tokens(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_that_cannot_be_paid_in_full_takes_nothing() {
        let plan = TokenPlan::aws_2_1().with_initial(13).unwrap();
        assert_eq!(plan.ask(plan.start(), Charge::Retry), None);
        let (paid, after) = plan.ask(plan.start(), Charge::Throttled).unwrap();
        assert_eq!((paid.amount(), after.tokens()), (5, 8));
    }

    #[test]
    fn buckets_that_never_end_or_never_grant_are_refused() {
        let fields = [
            TokenPlan::new(0, 1).unwrap_err(),
            TokenPlan::new(MAX_CAPACITY + 1, 1).unwrap_err(),
            TokenPlan::new(10, 0).unwrap_err(),
            TokenPlan::aws_2_0().with_timeout(501).unwrap_err(),
            TokenPlan::aws_2_0().with_throttled(0).unwrap_err(),
            TokenPlan::aws_2_0().with_hedge(0).unwrap_err(),
            TokenPlan::aws_2_0().with_first_try(501).unwrap_err(),
            TokenPlan::aws_2_0().with_initial(501).unwrap_err(),
        ]
        .map(|error| error.field());
        let names = ["capacity", "capacity", "retry", "timeout", "throttled", "hedge", "first_try"];
        for (field, name) in fields.iter().zip(names) {
            assert_eq!(field.strip_prefix("budget."), Some(name));
        }
        assert_eq!(fields[7], "budget.initial");
    }
}
