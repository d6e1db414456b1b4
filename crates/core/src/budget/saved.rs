//! The saved state of a budget, with which another process can continue.

use super::{
    Budget, BudgetPlan, IntervalState, ThrottleState, TokenPlan, TokenState, WindowState,
    account::BudgetState,
};
use crate::ConfigError;

/// The memory of a budget as words, for a file or a store that several processes share.
///
/// The words mean something to the plan they were saved under only; whoever keeps them keeps the
/// plan beside them. Instants are kept as they are, so all processes must count from one origin.
///
/// ```
/// use stagger_core::budget::{Budget, BudgetPlan, Charge, TokenPlan};
/// use stagger_core::Instant;
/// let plan: BudgetPlan = TokenPlan::new(10, 5)?.into();
/// let mut here = Budget::new(plan);
/// assert!(here.ask(Instant::ORIGIN, Charge::Retry).is_some());
///
/// let mut elsewhere = Budget::restore(plan, &here.save())?;
/// assert!(elsewhere.ask(Instant::ORIGIN, Charge::Retry).is_some());
/// assert!(elsewhere.ask(Instant::ORIGIN, Charge::Retry).is_none(), "both are spent");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedBudget([u64; SavedBudget::WORDS]);

impl SavedBudget {
    /// The words of every memory: as many as the largest kind needs; what a kind does not need is 0.
    pub const WORDS: usize = IntervalState::WORDS;

    /// A memory of these words; [`Budget::restore`] checks what they say.
    #[must_use]
    pub const fn from_words(words: [u64; Self::WORDS]) -> Self {
        Self(words)
    }

    /// The words.
    #[must_use]
    pub const fn words(&self) -> &[u64; Self::WORDS] {
        &self.0
    }
}

impl Budget {
    /// The saved state.
    #[must_use]
    pub fn save(&self) -> SavedBudget {
        let mut words = [0; SavedBudget::WORDS];
        match self.state() {
            BudgetState::Nothing => {}
            BudgetState::Window(state) => {
                words[..WindowState::WORDS].copy_from_slice(&state.to_words());
            }
            BudgetState::Tokens(state) => words[0] = state.to_bits(),
            BudgetState::Throttle(state) => words[0] = state.to_bits(),
            BudgetState::Interval(state) => words = state.to_words(),
        }
        SavedBudget(words)
    }

    /// A budget under `plan` that remembers what `saved` says.
    ///
    /// # Errors
    /// Words that no budget under this plan can have left: more tokens than its capacity, a slot
    /// that there is not, words where the kind has none.
    pub fn restore(plan: BudgetPlan, saved: &SavedBudget) -> Result<Self, ConfigError> {
        let words = &saved.0;
        let state = match &plan {
            BudgetPlan::Unlimited | BudgetPlan::None => {
                none_from(0, words).map(|()| BudgetState::Nothing)
            }
            BudgetPlan::Window(plan) => {
                let (own, rest) = words.split_at(WindowState::WORDS);
                let state = own.try_into().ok().and_then(|own| WindowState::from_words(own, plan));
                state.filter(|_| rest.iter().all(|word| *word == 0)).map(BudgetState::Window)
            }
            BudgetPlan::Tokens(plan) => tokens(plan, words).map(BudgetState::Tokens),
            BudgetPlan::Throttle(plan) => {
                let held = words[0] <= plan.start().to_bits();
                let state = BudgetState::Throttle(ThrottleState::from_bits(words[0]));
                none_from(1, words).filter(|()| held).map(|()| state)
            }
            BudgetPlan::Interval(_) => {
                Some(BudgetState::Interval(IntervalState::from_words(words)))
            }
        };
        let refused = || ConfigError::new("budget", "what was saved", "a memory of this very plan");
        state.map(|state| Self::with_state(plan, state)).ok_or_else(refused)
    }
}

fn tokens(plan: &TokenPlan, words: &[u64; SavedBudget::WORDS]) -> Option<TokenState> {
    let held = words[0] <= u64::from(plan.capacity());
    none_from(1, words).filter(|()| held).map(|()| TokenState::from_bits(words[0]))
}

/// Whether the words from `place` on are all unused.
fn none_from(place: usize, words: &[u64; SavedBudget::WORDS]) -> Option<()> {
    words[place..].iter().all(|word| *word == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Charge, IntervalPlan, Settled, ThrottlePlan, WindowPlan};
    use crate::{Instant, Ratio, Span};

    fn plans() -> [BudgetPlan; 6] {
        [
            BudgetPlan::Unlimited,
            BudgetPlan::None,
            WindowPlan::default().into(),
            TokenPlan::new(10, 5).unwrap().into(),
            ThrottlePlan::new(10, Ratio::from_percent(50)).unwrap().into(),
            IntervalPlan::new(3, Span::from_secs(7)).unwrap().into(),
        ]
    }

    #[test]
    fn a_budget_that_moved_between_processes_granted_more_than_one_that_stayed() {
        for plan in plans() {
            let (mut stays, mut moves) = (Budget::new(plan), Budget::new(plan));
            for step in 0_u64..400 {
                let now = Instant::from_nanos(step * 230_000_000);
                moves = Budget::restore(plan, &moves.save()).unwrap();
                if step % 3 == 0 {
                    stays.on_first(now);
                    moves.on_first(now);
                }
                let (one, other) = (stays.ask(now, Charge::Retry), moves.ask(now, Charge::Retry));
                assert_eq!(one, other, "{plan:?} at step {step}");
                match one {
                    Some(paid) if step % 5 == 0 => {
                        stays.refund(now, paid);
                        moves.refund(now, paid);
                    }
                    _ => {
                        let settled =
                            if step % 2 == 0 { Settled::Failed } else { Settled::FirstTry };
                        stays.on_settled(now, settled);
                        moves.on_settled(now, settled);
                    }
                }
                assert_eq!(stays.level(now), moves.level(now), "{plan:?} at step {step}");
            }
        }
    }

    #[test]
    fn words_that_no_budget_left_behind_are_refused() {
        let all = SavedBudget::from_words([u64::MAX; SavedBudget::WORDS]);
        for plan in plans() {
            let any_instants_will_do = matches!(plan, BudgetPlan::Interval(_));
            assert_eq!(Budget::restore(plan, &all).is_ok(), any_instants_will_do, "{plan:?}");
        }
        let mut words = [0; SavedBudget::WORDS];
        words[0] = 11;
        let plan = TokenPlan::new(10, 5).unwrap().into();
        assert!(Budget::restore(plan, &SavedBudget::from_words(words)).is_err());
        words[0] = 10;
        assert!(Budget::restore(plan, &SavedBudget::from_words(words)).is_ok());
        words[1] = 1;
        assert!(Budget::restore(plan, &SavedBudget::from_words(words)).is_err());
    }
}
