//! tonic: the retries of a service config, which no crate reads, written at each call.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tonic::{Code, Status};

/// A generated client.
#[derive(Default)]
struct Orders {
    calls: AtomicU32,
}

impl Orders {
    /// Away at first.
    async fn get(&self, order: u32) -> Result<u32, Status> {
        match self.calls.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Status::unavailable("away")),
            _ => Ok(order),
        }
    }
}

pub(crate) async fn service_config() -> Result<u32, Status> {
    let client = Orders::default();
    let policy = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(1))
        .with_max_times(3)
        .with_jitter();
    let get = || client.get(7);
    get.retry(policy).when(|status| status.code() == Code::Unavailable).await
}
