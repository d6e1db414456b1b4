//! A cache that is filled at start, without a stampede on what fills it.
//!
//! A thousand keys, each with a task of its own. Started together they arrive together, meet a
//! server that takes 50 at a time, fail together, and come back together. Backoff does not help the
//! first attempt: nothing has failed yet. So each task waits for a random share of the time that the
//! warm-up may take, and the budget keeps the retries to a share of the calls, also when the server
//! is down for all of them. Time is virtual here.
//!
//! `cargo run -p stagger --example warmup --features tokio`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use stagger::{Entropy, OsEntropy, Policy, Retrier, Sleep, Span, TokioTime};

const KEYS: u32 = 1_000;
/// The time limit of the warm-up.
const SPREAD: Span = Span::from_secs(5);
/// The server's time for one key, and the number of keys that it takes at a time.
const WORK: Span = Span::from_millis(20);
const SLOTS: u32 = 50;

/// The server behind the cache.
#[derive(Default)]
struct Origin {
    slots: u32,
    requests: AtomicU32,
    working: AtomicU32,
    /// The most that came at a time.
    peak: AtomicU32,
}

impl Origin {
    async fn load(&self, key: u32) -> Result<u32, &'static str> {
        self.requests.fetch_add(1, Relaxed);
        let working = self.working.fetch_add(1, Relaxed) + 1;
        self.peak.fetch_max(working, Relaxed);
        TokioTime.sleep(WORK).await;
        self.working.fetch_sub(1, Relaxed);
        if working <= self.slots { Ok(key * key) } else { Err("busy") }
    }
}

/// Warms the cache, and counts the keys that it has then.
async fn warm_up(origin: &Arc<Origin>, spread: Span) -> Result<u32, Box<dyn Error>> {
    let retrier = Retrier::new(Policy::default(), TokioTime);
    let tasks: Vec<_> = (0..KEYS)
        .map(|key| {
            let (origin, retrier) = (Arc::clone(origin), retrier.clone());
            tokio::spawn(async move {
                TokioTime.sleep(OsEntropy.draw(Span::ZERO, spread)).await;
                retrier.retry(|| origin.load(key)).when(|_: &&str| true).await.is_ok()
            })
        })
        .collect();
    let mut warm = 0;
    for task in tasks {
        warm += u32::from(task.await?);
    }
    println!(
        "over {spread}: {warm} of {KEYS} keys, {} requests, {} at a time",
        origin.requests.load(Relaxed),
        origin.peak.load(Relaxed),
    );
    Ok(warm)
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let together = Arc::new(Origin { slots: SLOTS, ..Origin::default() });
    assert!(warm_up(&together, Span::ZERO).await? < KEYS / 2);
    assert_eq!(together.peak.load(Relaxed), KEYS);

    let spread = Arc::new(Origin { slots: SLOTS, ..Origin::default() });
    assert_eq!(warm_up(&spread, SPREAD).await?, KEYS);
    assert!(spread.peak.load(Relaxed) <= SLOTS);

    // Nothing works. Three attempts for each key would be 3 000 requests; the budget allows a tenth
    // more than one for each, and a few in hand.
    let down = Arc::new(Origin::default());
    assert_eq!(warm_up(&down, SPREAD).await?, 0);
    assert!(down.requests.load(Relaxed) <= KEYS + KEYS / 10 + 4);
    Ok(())
}
