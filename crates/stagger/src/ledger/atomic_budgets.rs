//! Budgets whose whole memory is one word: the token bucket and the throttle.

use stagger_core::budget::{
    Charge, Level, Paid, Settled, ThrottlePlan, ThrottleState, TokenPlan, TokenState,
};

use super::sync::{AtomicU64, Ordering};

/// A token bucket in one word.
#[derive(Debug)]
pub(super) struct TokenBucket {
    plan: TokenPlan,
    state: AtomicState,
}

impl TokenBucket {
    pub(super) fn new(plan: TokenPlan) -> Self {
        Self { plan, state: AtomicState::new(plan.start().to_bits()) }
    }

    pub(super) fn ask(&self, charge: Charge) -> Option<Paid> {
        self.state.decide(|bits| {
            let (paid, after) = self.plan.ask(TokenState::from_bits(bits), charge)?;
            Some((paid, after.to_bits()))
        })
    }

    pub(super) fn refund(&self, paid: Paid) {
        self.state.change(|bits| self.plan.refund(TokenState::from_bits(bits), paid).to_bits());
    }

    pub(super) fn on_settled(&self, settled: Settled) {
        self.state
            .change(|bits| self.plan.on_settled(TokenState::from_bits(bits), settled).to_bits());
    }

    pub(super) fn level(&self) -> Level {
        self.plan.level(TokenState::from_bits(self.state.get()))
    }
}

/// A throttle in one word.
#[derive(Debug)]
pub(super) struct Throttle {
    plan: ThrottlePlan,
    state: AtomicState,
}

impl Throttle {
    pub(super) fn new(plan: ThrottlePlan) -> Self {
        Self { plan, state: AtomicState::new(plan.start().to_bits()) }
    }

    /// Takes nothing, so reading is enough.
    pub(super) fn ask(&self) -> Option<Paid> {
        self.plan.ask(ThrottleState::from_bits(self.state.get()))
    }

    pub(super) fn on_settled(&self, settled: Settled) {
        self.state
            .change(|bits| self.plan.on_settled(ThrottleState::from_bits(bits), settled).to_bits());
    }

    pub(super) fn level(&self) -> Level {
        self.plan.level(ThrottleState::from_bits(self.state.get()))
    }
}

/// State that is decided on and replaced as one. Nothing else is read along with it, so no order
/// between words is asked of the memory.
#[derive(Debug)]
struct AtomicState(AtomicU64);

impl AtomicState {
    fn new(bits: u64) -> Self {
        Self(AtomicU64::new(bits))
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces the word when `decide` grants; a decision on a word that has changed is made anew.
    fn decide<T>(&self, decide: impl Fn(u64) -> Option<(T, u64)>) -> Option<T> {
        let mut bits = self.get();
        loop {
            let (answer, after) = decide(bits)?;
            match self.swap(bits, after) {
                Ok(()) => return Some(answer),
                Err(found) => bits = found,
            }
        }
    }

    /// Replaces the word by what `change` makes of it. A full bucket stays as it is, and is then
    /// only read, so that clean first attempts on many threads do not fight for it.
    fn change(&self, change: impl Fn(u64) -> u64) {
        let _ = self.decide(|bits| {
            let after = change(bits);
            (after != bits).then_some(((), after))
        });
    }

    fn swap(&self, bits: u64, after: u64) -> Result<(), u64> {
        self.0.compare_exchange_weak(bits, after, Ordering::Relaxed, Ordering::Relaxed).map(|_| ())
    }
}
