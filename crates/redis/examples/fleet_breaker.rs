//! Many processes, one breaker: a few that call often warn the many that call seldom.
//!
//! A breaker needs some calls to decide by, here ten. One that is each process's own lets every process
//! fail that often, and probe by itself from then on. Shared in Redis or Valkey, it opens for all when
//! it opens for one, and one process probes for all. No call waits for the store.
//! (They are forty ledgers of one program here, each with a connection of its own.)
//!
//! `STAGGER_TEST_REDIS=$(scripts/redis start FOLDER) cargo run -p stagger-redis --example fleet_breaker`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stagger::breaker::{BreakerPlan, StateKind};
use stagger::{Clock, ConfigError, Policy, Retrier, Sleep, Span, TokioTime};
use stagger_redis::{SharedLedger, SharedOptions, SharedStats, SharedStore};

const PROCESSES: u32 = 40;
/// Those that call every 10 ms; the others call every 200 ms.
const BUSY: u32 = 4;
/// The length of the outage, and of the whole run.
const OUTAGE: Span = Span::from_secs(4);
const TOGETHER: Span = Span::from_secs(8);

/// Opens after ten failures in a row, for one second, and a half more at random.
fn policy() -> Result<Policy, ConfigError> {
    let second = Span::from_secs(1);
    let plan = BreakerPlan::builder().consecutive(10).open_time(second).open_cap(second);
    Policy::builder().max_attempts(1).breaker(plan.build()?).build()
}

/// The requests that reached a server while it was down, and the processes that could call it again in the end.
struct Outcome {
    in_vain: u64,
    recovered: u32,
    probes_leased: u64,
}

async fn outage(url: &str, shared: bool) -> Result<Outcome, Box<dyn Error>> {
    let name = format!("example-{}-{shared}", std::process::id());
    let (begun, in_vain) = (TokioTime.now(), Arc::new(AtomicU64::new(0)));
    let (mut ledgers, mut processes) = (Vec::new(), Vec::new());
    for number in 0..PROCESSES {
        let options = SharedOptions::new(PROCESSES)?.with_shared_breaker(shared);
        let ledger = SharedStore::connect(url, options).await?.ledger(&name, &policy()?)?;
        let retrier = Retrier::new(policy()?, TokioTime).with_ledger(Arc::clone(&ledger));
        let every = Span::from_millis(if number < BUSY { 10 } else { 200 });
        ledgers.push(ledger);
        processes.push(tokio::spawn(calls(retrier, every, begun, Arc::clone(&in_vain))));
    }
    for process in processes {
        process.await?;
    }
    let stats: Vec<_> = ledgers.iter().map(|ledger| ledger.stats(TokioTime.now())).collect();
    let is_closed = |it: &SharedStats| it.ledger.breaker == Some(StateKind::Closed);
    Ok(Outcome {
        in_vain: in_vain.load(Ordering::Relaxed),
        recovered: stats.iter().map(|it| u32::from(is_closed(it))).sum(),
        probes_leased: stats.iter().map(|it| it.probes_leased).sum(),
    })
}

async fn calls(
    retrier: Retrier<TokioTime, SharedLedger>,
    every: Span,
    begun: stagger::Instant,
    in_vain: Arc<AtomicU64>,
) {
    while TokioTime.now() - begun < TOGETHER {
        let call = retrier
            .retry(async || {
                if TokioTime.now() - begun >= OUTAGE {
                    return Ok(());
                }
                in_vain.fetch_add(1, Ordering::Relaxed);
                Err("down")
            })
            .when(|_| true);
        // Refused or failed: the next one is due all the same.
        let _ = call.await;
        TokioTime.sleep(every).await;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let Ok(url) = std::env::var("STAGGER_TEST_REDIS") else {
        println!("skipped: STAGGER_TEST_REDIS is not set");
        return Ok(());
    };
    let (own, shared) = tokio::join!(outage(&url, false), outage(&url, true));
    for (what, it) in [("a breaker each", &own), ("one breaker", &shared)] {
        let Ok(Outcome { in_vain, recovered, probes_leased }) = it else { continue };
        println!(
            "{PROCESSES} processes, {what}: {in_vain} calls in vain, {probes_leased} probes leased, \
             {recovered} processes call again"
        );
    }
    let (own, shared) = (own?, shared?);
    assert!(shared.in_vain * 2 < own.in_vain, "those that call seldom were warned");
    assert_eq!(shared.recovered, PROCESSES, "it has closed for all");
    Ok(())
}
