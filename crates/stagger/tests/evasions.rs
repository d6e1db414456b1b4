//! Layouts that people use must not make retries cheaper: outer timeouts, cancelled tasks, hedges, closed ports.
//!
//! Each layout plays 2000 calls in 20 s of virtual time against a server that never answers, and counts the
//! attempts on the wire. The default budget allows a tenth of the calls, one retry in 20 s, and two in
//! hand.

#![cfg(feature = "tokio")]

use std::error::Error;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stagger::hedge::HedgePlan;
use stagger::{Outcome, Policy, PolicyBuilder, Retrier, Span, TokioTime, Verdict};

type Done = Result<(), Box<dyn Error>>;

const CALLS: u32 = 2_000;
/// Between two calls: 100 a second, for 20 s.
const GAP: Duration = Duration::from_millis(10);
/// A tenth of the calls, the floor of 20 s, two in hand, and a random part of another.
const ALLOWED: u32 = CALLS / 10 + 1 + 2 + 1;
/// As long as callers wait who do not leave their time limit to the policy.
const OUTER: Duration = Duration::from_millis(900);

#[derive(Clone, Debug)]
struct Hung;

impl std::fmt::Display for Hung {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("never answered")
    }
}

impl Error for Hung {}

fn policy() -> PolicyBuilder {
    Policy::builder().max_attempts(3).attempt_timeout(Span::from_millis(500))
}

/// The retries on the wire of all calls, each made by `call` in a task of its own.
fn retries<F>(
    policy: PolicyBuilder,
    call: fn(Retrier<TokioTime>, Arc<AtomicU32>) -> F,
) -> Result<u32, Box<dyn Error>>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let retrier = Retrier::new(policy.build()?, TokioTime);
    let wire = Arc::new(AtomicU32::new(0));
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..CALLS {
            tasks.spawn(call(retrier.clone(), Arc::clone(&wire)));
            tokio::time::sleep(GAP).await;
        }
        while tasks.join_next().await.is_some() {}
    });
    Ok(wire.load(Ordering::Relaxed) - CALLS)
}

/// One attempt on the wire, which is never answered.
async fn hang(wire: Arc<AtomicU32>) -> Result<(), Hung> {
    wire.fetch_add(1, Ordering::Relaxed);
    pending().await
}

async fn plain(retrier: Retrier<TokioTime>, wire: Arc<AtomicU32>) {
    let _hung = retrier.retry(|| hang(Arc::clone(&wire))).when(|_: &Hung| true).await;
}

#[test]
fn the_policys_own_deadline_lets_a_tenth_retry() -> Done {
    let retried = retries(policy().deadline(Span::from_millis(900)), plain)?;
    assert!((1..=ALLOWED).contains(&retried), "{retried} retries");
    Ok(())
}

#[test]
fn an_outer_timeout_switched_the_budget_off() -> Done {
    let retried = retries(policy(), |retrier, wire| async {
        let _elapsed = tokio::time::timeout(OUTER, plain(retrier, wire)).await;
    })?;
    assert!((1..=ALLOWED).contains(&retried), "{retried} retries");
    Ok(())
}

#[test]
fn a_task_that_is_aborted_switched_the_budget_off() -> Done {
    // As a server's handler is dropped when its client disconnects.
    let retried = retries(policy(), |retrier, wire| async {
        let task = tokio::spawn(plain(retrier, wire));
        tokio::time::sleep(OUTER).await;
        task.abort();
    })?;
    assert!((1..=ALLOWED).contains(&retried), "{retried} retries");
    Ok(())
}

#[test]
fn hedged_calls_under_an_outer_timeout_switched_the_budget_off() -> Done {
    let hedged = policy().hedge(HedgePlan::fixed(Span::from_millis(100), 2)?);
    let retried = retries(hedged, |retrier, wire| async move {
        let call = retrier.retry(|| hang(Arc::clone(&wire))).when(|_: &Hung| true).hedged();
        let _elapsed = tokio::time::timeout(OUTER, call).await;
    })?;
    assert!((1..=ALLOWED).contains(&retried), "{retried} retries");
    Ok(())
}

#[test]
fn refused_connections_bypassed_the_budget() -> Done {
    let retried = retries(policy().max_attempts(4), |retrier, wire| async move {
        let refused = |_: &Hung| Outcome::new(Verdict::Unprocessed);
        let attempt = || {
            wire.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Err::<(), Hung>(Hung))
        };
        let _refused = retrier.retry(attempt).classify(refused).await;
    })?;
    assert!((1..=ALLOWED).contains(&retried), "{retried} retries");
    Ok(())
}

#[cfg(feature = "tower")]
#[test]
fn a_timeout_layer_outside_switched_the_budget_off() -> Done {
    use stagger::tower::StaggerLayer;
    use tower::{Layer, Service, ServiceExt, service_fn};

    let retried = retries(policy(), |retrier, wire| async move {
        let server = service_fn(move |(): ()| hang(Arc::clone(&wire)));
        let layer = StaggerLayer::new(retrier).when(|_: &Hung| true);
        let mut service = tower::timeout::Timeout::new(layer.layer(server), OUTER);
        if let Ok(service) = service.ready().await {
            let _elapsed = service.call(()).await;
        }
    })?;
    assert!((1..=ALLOWED).contains(&retried), "{retried} retries");
    Ok(())
}

#[test]
fn a_policy_with_a_breaker_on_a_ledger_without_one_refused_every_call() -> Done {
    use stagger::breaker::BreakerPlan;
    let plain = Policy::default();
    let guarded = Policy::builder().breaker(BreakerPlan::builder().build()?).build()?;
    let ledger = Arc::new(stagger::LocalLedger::new(&plain));
    let retrier = Retrier::new(guarded, TokioTime).with_ledger(ledger);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let call = retrier.retry(async || Ok::<_, Hung>(7)).when(|_| true);
    let answer = runtime.block_on(call.into_future());
    assert!(matches!(answer, Ok(7)), "{answer:?}");
    Ok(())
}
