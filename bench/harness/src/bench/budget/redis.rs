//! Calls of several processes with one budget in Redis.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use stagger::{SharedOptions, SharedStore, StoreFallback};

use super::caller::{LayoutCaller, caller, policy, retrier};
use super::redis_clock::RedisClock;
use super::upstream::Upstream;
use crate::rig::Redis;

/// Processes of the fleet, each with a connection and leases of its own. Calls go to one after another.
const PROCESSES: u32 = 4;

/// Real leases from a real Redis, whose script is told the virtual time.
pub(super) async fn shared_redis(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let redis = Redis::start("bench-budget-redis")
        .map_err(|error| format!("{error}; --layouts picks those that need no Redis"))?;
    let clock = RedisClock::start(redis)?;
    // Without its store this fleet makes no retries, so the figures are those of the leases.
    let options = SharedOptions::new(PROCESSES)?.with_fallback(StoreFallback::Refuse)?;
    let mut fleet = Vec::new();
    for _ in 0..PROCESSES {
        let store = SharedStore::connect(clock.url(), options.clone()).await?;
        let retrier = retrier(policy())?;
        let ledger = store.ledger("upstream", retrier.policy())?;
        fleet.push(retrier.with_ledger(ledger));
    }
    let next = AtomicUsize::new(0);
    Ok(caller(move || {
        let _running = &clock;
        let process = next.fetch_add(1, Ordering::Relaxed) % fleet.len();
        let (retrier, upstream) = (fleet[process].clone(), upstream.clone());
        async move {
            let call = retrier.retry_if(|_: &io::Error| true).run(|| upstream.clone().answer());
            let _failed = call.await;
        }
    }))
}
