//! Three callers share one destination that is busy at first.
//!
//! `cargo run -p stagger --example asynch --features tokio`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stagger::{Backoff, Error, Hint, Outcome, Policy, Retrier, Span, TokioTime, Verdict};

/// The server's answer when it cannot serve.
#[derive(Debug)]
struct Busy {
    retry_after: Span,
}

/// A destination, with what its callers share.
#[derive(Clone)]
struct Inventory {
    retrier: Retrier<TokioTime>,
    requests: Arc<AtomicU32>,
}

impl Inventory {
    async fn count(&self, item: &str) -> Result<u32, Error<Busy>> {
        let classifier = |busy: &Busy| {
            Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(busy.retry_after))
        };
        self.retrier.classify(classifier).run(|| self.request(item)).await
    }

    /// Stands in for the network: busy for the first four requests.
    async fn request(&self, item: &str) -> Result<u32, Busy> {
        match self.requests.fetch_add(1, Ordering::Relaxed) {
            0..4 => Err(Busy { retry_after: Span::from_millis(20) }),
            _ => Ok(u32::try_from(item.len()).unwrap_or(u32::MAX)),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::builder()
        .backoff(Backoff::exponential(Span::from_millis(10), Span::from_secs(1))?)
        .deadline(Span::from_secs(5))
        .build()?;
    let retrier = Retrier::new(policy, TokioTime);
    let inventory = Inventory { retrier, requests: Arc::default() };
    let callers = ["bolt", "nut", "washer"].map(|item| {
        let inventory = inventory.clone();
        tokio::spawn(async move { inventory.count(item).await })
    });
    for caller in callers {
        match caller.await? {
            Ok(count) => println!("{count} left"),
            Err(failed) => println!("{failed}"),
        }
    }
    println!("{} requests", inventory.requests.load(Ordering::Relaxed));
    Ok(())
}
