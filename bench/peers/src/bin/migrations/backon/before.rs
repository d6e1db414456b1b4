//! The call as users of backon make it.

use crate::shop::{Fault, fetch, log};

// The guide shows what follows.
use backon::{ExponentialBuilder, Retryable};

pub async fn stock() -> Result<usize, Fault> {
    (|| fetch("bolt"))
        .retry(ExponentialBuilder::default().with_jitter().with_max_times(3))
        .when(|error| error.is_busy())
        .notify(|error, delay| log(format!("{error} after {delay:?}")))
        .await
}
