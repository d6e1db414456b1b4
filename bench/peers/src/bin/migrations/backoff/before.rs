//! The call as users of backoff make it.

use crate::shop::{Fault, fetch};

// The guide shows what follows.
use std::time::Duration;

use backoff::{Error, ExponentialBackoff, future::retry};

pub async fn stock() -> Result<usize, Fault> {
    retry(ExponentialBackoff::default(), || async {
        match fetch("bolt").await {
            Ok(stock) => Ok(stock),
            Err(error) if error.is_busy() => Err(Error::retry_after(error, Duration::from_secs(2))),
            Err(error) => Err(Error::permanent(error)),
        }
    })
    .await
}
