//! The same call with stagger.

use crate::shop::{Fault, fetch};

// The guide shows what follows.
use std::time::Duration;

use stagger::{Backoff, ConfigError, Error, Jitter, Policy, Ratio, Retrier};

/// Once for the destination: its clones share the budget.
pub fn server() -> Result<Retrier, ConfigError> {
    let delays = Backoff::exponential(Duration::from_millis(500), Duration::from_secs(60))?
        .with_factor(1.5)?
        .with_jitter(Jitter::Symmetric(Ratio::from_percent(50)))?; // theirs; full is better
    let policy = Policy::builder()
        .backoff(delays)
        .unlimited_attempts()
        .deadline(Duration::from_secs(15 * 60))
        .build()?;
    Ok(Retrier::of(policy))
}

pub async fn stock(server: &Retrier) -> Result<usize, Error<Fault>> {
    server
        .retry(|| fetch("bolt"))
        .when(|error| error.is_busy())
        .retry_after(|error| error.is_busy().then_some(Duration::from_secs(2)))
        .await
}
