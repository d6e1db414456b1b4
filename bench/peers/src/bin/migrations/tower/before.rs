//! The service as users of tower make it.

use crate::shop::Fault;

// The guide shows what follows.
use std::sync::Arc;
use std::time::Duration;

use tower::BoxError;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, Retry};
use tower::util::rng::HasherRng;

#[derive(Clone)]
pub struct RetryBusy {
    retries: u32,
    backoff: ExponentialBackoff,
    budget: Arc<TpsBudget>,
}

impl Policy<&'static str, usize, Fault> for RetryBusy {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        _: &mut &'static str,
        result: &mut Result<usize, Fault>,
    ) -> Option<Self::Future> {
        match result {
            Ok(_) => {
                self.budget.deposit();
                None
            }
            Err(error) if error.is_busy() && self.retries > 0 && self.budget.withdraw() => {
                self.retries -= 1;
                Some(self.backoff.next_backoff())
            }
            Err(_) => None,
        }
    }

    fn clone_request(&mut self, item: &&'static str) -> Option<&'static str> {
        Some(*item)
    }
}

pub fn retried<S>(server: S) -> Result<Retry<RetryBusy, S>, BoxError> {
    let (base, cap) = (Duration::from_millis(100), Duration::from_secs(10));
    let mut delays = ExponentialBackoffMaker::new(base, cap, 0.99, HasherRng::default())?;
    let (backoff, budget) = (delays.make_backoff(), Arc::new(TpsBudget::default()));
    Ok(Retry::new(RetryBusy { retries: 3, backoff, budget }, server))
}
