//! Budgets as the literature has them: a bucket that calls or successes pay into, and no retry while too
//! much has failed ever since the process began.

use stagger_core::Ratio;
use stagger_core::budget::{Paid, Settled};

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

#[cfg(test)]
mod tests {
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
}
