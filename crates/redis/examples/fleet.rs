//! Many processes, one budget: retries of a whole fleet, counted in Redis or Valkey.
//!
//! A budget in each process is a burst from each process: forty buckets of ten are four hundred
//! retries at once. Here forty processes lease their permits from one bucket, a few at a time, in the
//! background: no call waits for the store. When it goes away, each falls back to its own fortieth.
//! (They are forty ledgers of one program here, each with a connection of its own.)
//!
//! `STAGGER_TEST_REDIS=$(scripts/redis start FOLDER) cargo run -p stagger-redis --example fleet`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::sync::Arc;

use stagger::budget::TokenPlan;
use stagger::{Backoff, Clock, ConfigError, Policy, Retrier, Sleep, Span, Stop, TokioTime};
use stagger_redis::{SharedLedger, SharedOptions, SharedStore};

const PROCESSES: u32 = 40;
/// Processes that meet no outage, and hold a lease that they do not use.
const LUCKY: usize = 10;
/// The retries that the bucket of the whole fleet holds; nothing refills it while all fails.
const BUCKET: u32 = 80;

type Process = Retrier<TokioTime, SharedLedger>;

fn policy() -> Result<Policy, ConfigError> {
    Policy::builder()
        .backoff(Backoff::exponential(Span::from_millis(1), Span::from_millis(20))?)
        .max_attempts(4)
        .budget(TokenPlan::new(BUCKET, 1)?.with_first_try(0)?)
        .build()
}

/// One process, which joins the fleet by the name of the budget.
async fn join(url: &str, name: &str) -> Result<Process, Box<dyn Error>> {
    // Two permits in a lease: what a process holds and does not use is lost to the others.
    let options = SharedOptions::new(PROCESSES)?.with_lease(2)?;
    let store = SharedStore::connect(url, options).await?;
    let policy = policy()?;
    let ledger = store.ledger(name, &policy)?;
    Ok(Retrier::new(policy, TokioTime).with_ledger(ledger))
}

/// Calls a server that is down until the process is refused for half a second; its retries.
async fn outage(process: Process) -> u32 {
    let (mut retries, mut quiet) = (0, TokioTime.now());
    while TokioTime.now() - quiet < Span::from_millis(500) {
        let failed = process.retry(async || Err::<(), _>("down")).when(|_| true).await;
        let failed = failed.expect_err("the server is down");
        assert!(matches!(failed.stop(), Stop::BudgetEmpty | Stop::AttemptsExhausted));
        if failed.attempts() > 1 {
            (retries, quiet) = (retries + failed.attempts() - 1, TokioTime.now());
        }
        TokioTime.sleep(Span::from_millis(20)).await;
    }
    retries
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let Ok(url) = std::env::var("STAGGER_TEST_REDIS") else {
        println!("skipped: STAGGER_TEST_REDIS is not set");
        return Ok(());
    };
    let name = format!("example-{}", std::process::id());
    let mut fleet = Vec::new();
    for _ in 0..PROCESSES {
        fleet.push(join(&url, &name).await?);
    }
    let ledgers: Vec<_> = fleet.iter().map(|process| Arc::clone(process.ledger())).collect();
    let stats = |ledger: &Arc<SharedLedger>| ledger.stats(TokioTime.now());

    // The first call of a process asks for its first lease, however it goes.
    let unlucky = fleet.split_off(LUCKY);
    for (process, ledger) in fleet.iter().zip(&ledgers) {
        assert!(process.retry(async || Ok(())).when(|_: &&str| true).await.is_ok());
        while stats(ledger).permits == 0 {
            if stats(ledger).store_down {
                return Err("the store is away".into());
            }
            TokioTime.sleep(Span::from_millis(1)).await;
        }
    }
    // For the others, the server is down, all at once.
    let outages: Vec<_> = unlucky.into_iter().map(|one| tokio::spawn(outage(one))).collect();
    let mut retries = 0;
    for one in outages {
        retries += one.await?;
    }
    let held: u64 = ledgers.iter().map(|ledger| stats(ledger).permits).sum();
    println!("{PROCESSES} processes: {retries} retries and {held} permits held, of {BUCKET}");
    assert_eq!(u64::from(retries) + held, u64::from(BUCKET), "not one more, and none is lost");

    // What a process did not use goes back when it ends, and the next process has it.
    for ledger in &ledgers {
        ledger.close().await;
    }
    let next = join(&url, &name).await?;
    let left = outage(next).await;
    println!("they end: the next process has the {left} that were held");
    assert_eq!(u64::from(left), held);
    Ok(())
}
