//! Budgets that are not the engine's: buckets and breakers of the literature, and a window of whole slots.

use stagger_core::budget::{Paid, Settled, WindowPlan};
use stagger_core::{Instant, Ratio};

use crate::plan::{Deposit, Paying};

/// The bucket of one process, in millionths of a retry. It is full at first.
///
/// Brooker, "Fixing retries with token buckets and circuit breakers" (2022), pays by calls;
/// Finagle's and the SRE book's budgets pay by requests as well, gRPC's throttle by successes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DepositBucket {
    rule: Deposit,
    level: u64,
}

impl DepositBucket {
    pub(super) fn new(rule: Deposit) -> Self {
        Self { rule, level: capacity(rule) }
    }

    pub(super) fn on_first(&mut self) {
        if self.rule.paying == Paying::Calls {
            self.pay(self.rule.amount);
        }
    }

    pub(super) fn on_settled(&mut self, settled: Settled) {
        let succeeded = matches!(settled, Settled::FirstTry | Settled::AfterRetry(_));
        if succeeded && self.rule.paying == Paying::Successes {
            self.pay(self.rule.amount);
        }
    }

    pub(super) fn ask(&mut self) -> Option<Paid> {
        self.level = self.level.checked_sub(RETRY)?;
        Some(Paid::new(1, 0))
    }

    pub(super) fn refund(&mut self, paid: Paid) {
        if paid != Paid::FREE {
            self.pay(Ratio::ONE);
        }
    }

    fn pay(&mut self, amount: Ratio) {
        self.level = (self.level + u64::from(amount.ppm())).min(capacity(self.rule));
    }
}

/// The price of a retry.
const RETRY: u64 = Ratio::SCALE as u64;

fn capacity(rule: Deposit) -> u64 {
    u64::from(rule.bucket) * RETRY
}

/// A breaker for retries alone, over the whole life of a process.
///
/// Brooker, "Fixing retries with token buckets and circuit breakers" (2022): it lets first attempts
/// through and stops all retries, which is why it helps less than its name promises.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetime {
    most: Ratio,
    attempts: u64,
    failed: u64,
}

impl Lifetime {
    pub(super) const fn new(most: Ratio) -> Self {
        Self { most, attempts: 0, failed: 0 }
    }

    pub(super) const fn on_settled(&mut self, settled: Settled) {
        self.attempts += 1;
        if matches!(settled, Settled::Failed) {
            self.failed += 1;
        }
    }

    pub(super) fn ask(&self) -> Option<Paid> {
        let failed = u128::from(self.failed) * u128::from(Ratio::SCALE);
        let bound = u128::from(self.attempts) * u128::from(self.most.ppm());
        (failed <= bound).then_some(Paid::FREE)
    }
}

const SLOTS: usize = WindowPlan::SLOTS;

/// The same share and floor as the engine's window, by another rule: the retries of a window never
/// exceed its earnings, and each retry counts until its slot leaves the window.
///
/// This was the engine's own rule. In an outage it spends a window's earnings at once, refuses until
/// they leave the window, and then spends them at once again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowBlock {
    plan: WindowPlan,
    /// First attempts and retries by slot, the oldest first.
    slots: [(u64, u64); SLOTS],
    /// The slots since the origin.
    turn: u64,
}

impl WindowBlock {
    pub(super) const fn new(plan: WindowPlan) -> Self {
        Self { plan, slots: [(0, 0); SLOTS], turn: 0 }
    }

    pub(super) fn on_first(&mut self, now: Instant) {
        self.newest(now).0 += 1;
    }

    pub(super) fn ask(&mut self, now: Instant) -> Option<Paid> {
        self.turn_to(now);
        let firsts = self.slots.iter().map(|slot| slot.0).sum();
        let retries: u64 = self.slots.iter().map(|slot| slot.1).sum();
        let room = self.plan.level_of(firsts, 0).capacity > retries;
        room.then(|| {
            self.newest(now).1 += 1;
            Paid::new(1, 0)
        })
    }

    /// Gives a retry back that was just granted.
    pub(super) fn refund(&mut self, now: Instant) {
        let slot = self.newest(now);
        slot.1 = slot.1.saturating_sub(1);
    }

    fn newest(&mut self, now: Instant) -> &mut (u64, u64) {
        self.turn_to(now);
        &mut self.slots[SLOTS - 1]
    }

    fn turn_to(&mut self, now: Instant) {
        let turn = now.as_nanos() / self.plan.slot().as_nanos();
        for _ in 0..(turn.saturating_sub(self.turn)).min(SLOTS as u64) {
            self.slots.rotate_left(1);
            self.slots[SLOTS - 1] = (0, 0);
        }
        self.turn = self.turn.max(turn);
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Span;

    use super::*;

    #[test]
    fn ten_successes_pay_for_a_retry_and_the_bucket_never_overflows() {
        let amount = Ratio::from_percent(10);
        let mut bucket =
            DepositBucket::new(Deposit { paying: Paying::Successes, amount, bucket: 2 });
        assert_eq!([(); 3].map(|()| bucket.ask().is_some()), [true, true, false]);
        for _ in 0..9 {
            bucket.on_settled(Settled::FirstTry);
        }
        assert_eq!(bucket.ask(), None);
        bucket.on_settled(Settled::AfterRetry(Paid::FREE));
        assert!(bucket.ask().is_some());
        for _ in 0..1_000 {
            bucket.on_settled(Settled::FirstTry);
        }
        assert_eq!([(); 3].map(|()| bucket.ask().is_some()), [true, true, false]);
    }

    #[test]
    fn a_window_is_spent_at_once_and_comes_back_at_once() {
        let mut block = WindowBlock::new(WindowPlan::default());
        let mut by_second = [0; 40];
        for call in 0..4_000_u64 {
            let now = Instant::ORIGIN + Span::from_millis(10 * call);
            block.on_first(now);
            if call >= 1_000 {
                by_second[(call / 100) as usize] += usize::from(block.ask(now).is_some());
            }
        }
        assert!(by_second[10] > 90 && by_second[20] > 90 && by_second[30] > 90, "{by_second:?}");
        assert!(by_second[12..20].iter().all(|&retries| retries <= 2), "{by_second:?}");
    }
}
