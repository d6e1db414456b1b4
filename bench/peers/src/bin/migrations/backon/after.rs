//! The same call with stagger.

use crate::shop::{Fault, fetch, log};

// The guide shows what follows.
use std::time::Duration;

use stagger::{Backoff, ConfigError, Error, Policy, Retrier};

/// Once for the destination: its clones share the budget.
pub fn server() -> Result<Retrier, ConfigError> {
    let delays = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60))?;
    Ok(Retrier::of(Policy::builder().backoff(delays).max_attempts(4).build()?))
}

pub async fn stock(server: &Retrier) -> Result<usize, Error<Fault>> {
    server
        .retry(|| fetch("bolt"))
        .when(|error| error.is_busy())
        .notify(|error, delay| log(format!("{error:?} after {delay:?}")))
        .await
}
