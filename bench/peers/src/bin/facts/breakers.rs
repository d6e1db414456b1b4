//! Half-open breakers: floods, and probes that are dropped.

use std::error::Error;
use std::future::pending;
use std::thread::sleep;
use std::time::Duration;

use failsafe::CircuitBreaker;
use stagger::breaker::{BreakerPlan, Report};
use stagger::engine::Ledger;
use stagger::{Instant, LocalLedger, Policy, Retrier, Span, TokioTime};

use crate::fact;

const OPEN: Duration = Duration::from_millis(20);

pub(crate) fn facts() -> Result<(), Box<dyn Error>> {
    flood()?;
    dropped_probe()
}

fn policy() -> Result<Policy, Box<dyn Error>> {
    let open = Span::from(OPEN);
    let plan = BreakerPlan::builder().consecutive(1).open_time(open).open_cap(open).build()?;
    Ok(Policy::builder().max_attempts(1).breaker(plan).build()?)
}

fn flood() -> Result<(), Box<dyn Error>> {
    let rule = failsafe::failure_policy::consecutive_failures(1, failsafe::backoff::constant(OPEN));
    let theirs = failsafe::Config::new().failure_policy(rule).build();
    let _ = theirs.call(|| Err::<(), ()>(()));
    #[expect(clippy::disallowed_methods, reason = "a peer has no clock of its own to move")]
    sleep(2 * OPEN);
    let theirs = (0..1000).filter(|_| theirs.is_call_permitted()).count();

    let ledger = LocalLedger::new(&policy()?);
    let mut ours = &ledger;
    if let Some(ticket) = ours.admit(Instant::ORIGIN).ticket() {
        ours.report(Instant::ORIGIN, ticket, Report::Failure, &mut || 0);
    }
    let later = Instant::ORIGIN + Span::from(2 * OPEN);
    let ours = (0..1000).filter(|_| ours.admit(later).ticket().is_some()).count();
    fact("half-open, 1000 calls at once: let through", "failsafe", theirs, ours);
    Ok(())
}

fn dropped_probe() -> Result<(), Box<dyn Error>> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let theirs = tokio.block_on(async {
        let rule = execution_policy::CircuitBreaker::consecutive_failures(1).open_for(OPEN);
        let all = execution_policy::ExecutionPolicyBuilder::<u64, std::fmt::Error>::new()
            .retry(execution_policy::Retry::none())
            .circuit_breaker(rule)
            .build();
        let _ = all.run(async || Err(std::fmt::Error)).await;
        tokio::time::sleep(2 * OPEN).await;
        let _ = tokio::time::timeout(OPEN, all.run(async || pending().await)).await;
        let mut through = 0;
        for _ in 0..20 {
            tokio::time::sleep(OPEN).await;
            through += u32::from(all.run(async || Ok(1)).await.is_ok());
        }
        through
    });
    let retrier = Retrier::new(policy()?, TokioTime);
    let ours = tokio.block_on(async {
        let _ = retrier.retry(async || Err::<u64, ()>(())).when(|()| true).await;
        tokio::time::sleep(2 * OPEN).await;
        let probe = retrier.retry(pending::<Result<u64, ()>>).when(|()| true);
        let _ = tokio::time::timeout(OPEN, probe).await;
        let mut through = 0;
        for _ in 0..20 {
            tokio::time::sleep(OPEN).await;
            let healthy = retrier.retry(async || Ok::<_, ()>(1_u64)).when(|()| true);
            through += u32::from(healthy.await.is_ok());
        }
        through
    });
    fact(
        "the half-open probe is cancelled, then 20 healthy calls: let through",
        "execution-policy",
        theirs,
        ours,
    );
    Ok(())
}
