//! No retry while too much has failed, ever since the process began.

use stagger_core::Ratio;
use stagger_core::budget::{Paid, Settled};

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
