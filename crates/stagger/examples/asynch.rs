//! Three callers share one destination that is busy at first.
//!
//! `cargo run -p stagger --example asynch --features tokio`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stagger::{Backoff, Error, Policy, Retrier};

/// The server's answer when it cannot serve.
#[derive(Debug)]
struct Busy {
    retry_after: Duration,
}

/// A destination, with what its callers share.
#[derive(Clone)]
struct Inventory {
    server: Retrier,
    requests: Arc<AtomicU32>,
}

impl Inventory {
    async fn count(&self, item: &str) -> Result<u32, Error<Busy>> {
        let call = self.server.retry(|| self.request(item)).when(|_| true);
        call.retry_after(|busy| Some(busy.retry_after)).await
    }

    /// Stands in for the network: busy for the first four requests.
    async fn request(&self, item: &str) -> Result<u32, Busy> {
        match self.requests.fetch_add(1, Ordering::Relaxed) {
            0..4 => Err(Busy { retry_after: Duration::from_millis(20) }),
            _ => Ok(u32::try_from(item.len()).unwrap_or(u32::MAX)),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::builder()
        .backoff(Backoff::exponential(Duration::from_millis(10), Duration::from_secs(1))?)
        .deadline(Duration::from_secs(5))
        .build()?;
    let inventory = Inventory { server: Retrier::of(policy), requests: Arc::default() };
    let callers = ["bolt", "nut", "washer"].map(|item| {
        let inventory = inventory.clone();
        tokio::spawn(async move { inventory.count(item).await })
    });
    for caller in callers {
        match caller.await? {
            Ok(count) => println!("{count} left"),
            Err(failed) => println!("{}", failed.stop()),
        }
    }
    println!("{} requests", inventory.requests.load(Ordering::Relaxed));
    Ok(())
}
