//! One process of the fleet: calls a server that is down, and says how often when it is asked.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use stagger::budget::{FloorRate, WindowPlan};
use stagger::{
    Backoff, Clock, LocalLedger, Policy, Rate, Retrier, SharedLedger, SharedOptions, SharedStore,
    Span, TokioTime,
};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::time::{MissedTickBehavior, interval};

use super::count::Count;
use super::timed::Timed;
use crate::rig::run_here;
use xtask_workbench::emit;

/// The name of the budget in the store.
const NAME: &str = "fleet";

/// The address of the store, the number of processes that share it, and the rate of calls of each.
#[derive(Debug, Args)]
pub(crate) struct FleetMember {
    #[arg(long)]
    url: String,
    #[arg(long)]
    processes: u32,
    #[arg(long)]
    lease: u32,
    /// Milliseconds from call to call
    #[arg(long)]
    every_ms: u64,
}

/// Calls until its standard input ends.
pub(crate) fn member(member: &FleetMember) -> Result<bool, Box<dyn Error>> {
    run_here(calls(member))?;
    Ok(true)
}

/// 10 % and one retry a second, of the fleet as of each process.
pub(super) fn policy() -> Result<Policy, Box<dyn Error>> {
    let backoff = Backoff::exponential(Span::from_millis(10), Span::from_millis(100))?;
    let budget = WindowPlan::default().with_floor(FloorRate::Add(Rate::per_second(1)));
    Ok(Policy::builder().backoff(backoff).max_attempts(4).budget(budget).build()?)
}

/// Calls to one destination under one kind of ledger.
struct FleetCaller<L> {
    retrier: Retrier<TokioTime, Timed<L>>,
    /// Attempts, first and further ones.
    attempts: Arc<AtomicU64>,
}

async fn calls(member: &FleetMember) -> Result<(), Box<dyn Error>> {
    let options = SharedOptions::new(member.processes)?.with_lease(member.lease)?;
    let store = SharedStore::connect(&member.url, options).await?;
    let policy = policy()?;
    let shared = FleetCaller::<SharedLedger>::new(policy, store.ledger(NAME, &policy)?);
    let local = FleetCaller::<LocalLedger>::new(policy, Arc::new(LocalLedger::new(&policy)));
    let mut orders = BufReader::new(stdin()).lines();
    let mut beat = interval(Duration::from_millis(member.every_ms));
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut firsts = 0;
    loop {
        // A line ends a phase; the end of all lines ends the process.
        let line = tokio::select! {
            _ = beat.tick() => {
                firsts += 1;
                shared.call();
                local.call();
                continue;
            }
            line = orders.next_line() => line?,
        };
        if line.is_none() {
            shared.retrier.ledger().ledger.close().await;
            return Ok(());
        }
        let count = count(&shared, &local, firsts);
        firsts = 0;
        emit(&format!("{}\n", serde_json::to_string(&count)?));
    }
}

impl<L: Send + Sync + 'static> FleetCaller<L>
where
    for<'l> &'l L: stagger::retry::Ledger,
{
    fn new(policy: Policy, ledger: Arc<L>) -> Self {
        let retrier = Retrier::new(policy, TokioTime).with_ledger(Arc::new(Timed::new(ledger)));
        Self { retrier, attempts: Arc::default() }
    }

    /// One call to a server that is down, in the background.
    fn call(&self) {
        let (retrier, attempts) = (self.retrier.clone(), Arc::clone(&self.attempts));
        tokio::spawn(async move {
            let call = retrier.retry_if(|_: &&str| true).run(async || {
                attempts.fetch_add(1, Ordering::Relaxed);
                Err::<(), _>("down")
            });
            // Every call fails: the server is down.
            let _ = call.await;
        });
    }
}

fn count(
    shared: &FleetCaller<SharedLedger>,
    local: &FleetCaller<LocalLedger>,
    firsts: u64,
) -> Count {
    let stats = shared.retrier.ledger().ledger.stats(TokioTime.now());
    let retries = |attempts: &AtomicU64| attempts.swap(0, Ordering::Relaxed).saturating_sub(firsts);
    Count {
        firsts,
        retries_shared: retries(&shared.attempts),
        retries_local: retries(&local.attempts),
        held: stats.permits,
        away: u64::from(stats.store_down),
        shared_us: shared.retrier.ledger().take_longest(),
        local_us: local.retrier.ledger().take_longest(),
    }
}
