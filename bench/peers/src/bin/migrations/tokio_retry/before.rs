//! The call as users of tokio-retry make it.

use crate::shop::{Fault, fetch};

// The guide shows what follows.
use std::time::Duration;

use tokio_retry::RetryIf;
use tokio_retry::strategy::{ExponentialBackoff, jitter};

pub async fn stock() -> Result<usize, Fault> {
    let delays = ExponentialBackoff::from_millis(2).factor(50).max_delay(Duration::from_secs(10));
    let delays = delays.map(jitter).take(3);
    RetryIf::start(delays, || fetch("bolt"), |error: &Fault| error.is_busy()).await
}
