//! Calls that succeed at the first try: the price of having a policy when nothing goes wrong.

use std::error::Error;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::{Policy, Retrier, StdTime, TokioTime};
use tokio::runtime::Runtime;

use crate::group::{Effort, Group, GroupRow};
use crate::operation::{Failed, asynch, blocking};
use crate::reasons;

const BASE: Duration = Duration::from_millis(100);

macro_rules! loops {
    ($tokio:ident, |$x:ident| $call:expr) => {
        |n| {
            $tokio.block_on(async {
                for $x in 0..n {
                    let _ = black_box($call.await);
                }
            })
        }
    };
    (|$x:ident| $call:expr) => {
        |n| {
            for $x in 0..n {
                let _ = black_box($call);
            }
        }
    };
}
pub(crate) use loops;

pub(crate) fn rows(tokio: &Runtime, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let mut rows = plain(tokio)?.rows(effort);
    rows.extend(guarded(tokio, effort)?);
    rows.extend(on_this_thread()?.rows(effort));
    Ok(rows)
}

/// Retry alone.
// tidy: long because it is one table of the peers
fn plain(tokio: &Runtime) -> Result<Group<'_>, Box<dyn Error>> {
    let policy = Policy::builder().budget(BudgetPlan::Unlimited).build()?;
    let ours = Retrier::new(policy, TokioTime);
    let again = again::RetryPolicy::exponential(BASE).with_jitter(true);
    let execution = execution_policy::ExecutionPolicyBuilder::<u64, Failed>::new()
        .retry(execution_policy::Retry::exponential().max_attempts(3))
        .build();
    Ok(Group::new("first try", loops!(tokio, |x| asynch(x)))
        .case("stagger", "", move |n| {
            tokio.block_on(async {
                for x in 0..n {
                    let _ = black_box(ours.retry(|| asynch(x)).when(|_: &Failed| true).await);
                }
            })
        })
        .case(
            "backon",
            "",
            loops!(tokio, |x| {
                let rule = backon::ExponentialBuilder::default().with_jitter();
                backon::Retryable::retry(|| asynch(x), rule)
            }),
        )
        .because(reasons::LOOP)
        .case(
            "tokio-retry",
            "",
            loops!(tokio, |x| {
                use tokio_retry::strategy::{ExponentialBackoff, jitter};
                let rule = ExponentialBackoff::from_millis(2).factor(50).map(jitter).take(3);
                tokio_retry::Retry::start(rule, || asynch(x))
            }),
        )
        .because(reasons::LOOP)
        .case(
            "tokio-retry2",
            "",
            loops!(tokio, |x| {
                use tokio_retry2::{
                    RetryError,
                    strategy::{ExponentialBackoff, jitter},
                };
                let rule = ExponentialBackoff::from_millis(2).factor(50).map(jitter).take(3);
                tokio_retry2::Retry::spawn(rule, || async move {
                    asynch(x).await.map_err(RetryError::transient)
                })
            }),
        )
        .because(reasons::LOOP)
        .case(
            "backoff",
            "",
            loops!(tokio, |x| {
                backoff::future::retry(backoff::ExponentialBackoff::default(), || async move {
                    asynch(x).await.map_err(backoff::Error::transient)
                })
            }),
        )
        .case("again", "", move |n| {
            tokio.block_on(async {
                for x in 0..n {
                    let _ = black_box(again.retry(|| asynch(x)).await);
                }
            })
        })
        .because(reasons::LOOP)
        .case("execution-policy", "", move |n| {
            tokio.block_on(async {
                for x in 0..n {
                    let _ = black_box(execution.run(async || asynch(x).await).await);
                }
            })
        }))
}

/// With a budget and a breaker, as far as a peer has them.
fn guarded(tokio: &Runtime, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    use google_cloud_gax::{
        exponential_backoff::ExponentialBackoff, retry_policy, retry_throttler,
    };
    use retry_policy::{Aip194Strict, RetryPolicy, RetryPolicyExt};
    let policy = Policy::builder().breaker(BreakerPlan::default()).build()?;
    let ours = Retrier::new(policy, TokioTime);
    // A timer of one's own reads the coarse clock, tokio's cannot: a test may have paused it.
    let coarse = Retrier::new(policy, |delay: Duration| tokio::time::sleep(delay));
    let execution = execution_policy::ExecutionPolicyBuilder::<u64, Failed>::new()
        .retry(
            execution_policy::Retry::exponential()
                .max_attempts(3)
                .budget(execution_policy::RetryBudget::standard()),
        )
        .circuit_breaker(execution_policy::CircuitBreaker::failure_ratio())
        .build();
    let throttler: retry_throttler::SharedRetryThrottler =
        Arc::new(Mutex::new(retry_throttler::AdaptiveThrottler::default()));
    let policy: Arc<dyn RetryPolicy> = Arc::new(Aip194Strict.with_attempt_limit(3));
    let rule: Arc<dyn google_cloud_gax::backoff_policy::BackoffPolicy> =
        Arc::new(ExponentialBackoff::default());
    Ok(Group::new("first try, budget and breaker", loops!(tokio, |x| asynch(x)))
        .case("stagger", "", loops!(tokio, |x| ours.retry(|| asynch(x)).when(|_: &Failed| true)))
        .case(
            "stagger",
            "own timer",
            loops!(tokio, |x| coarse.retry(|| asynch(x)).when(|_: &Failed| true)),
        )
        .because(reasons::OURS)
        .case("execution-policy", "", loops!(tokio, |x| execution.run(async || asynch(x).await)))
        .case(
            "google-cloud-gax",
            "throttler, no breaker",
            loops!(tokio, |x| {
                google_cloud_gax::retry_loop_internal::retry_loop(
                    async move |_: Option<Duration>| -> google_cloud_gax::Result<u64> {
                        Ok(asynch(x).await.unwrap_or_default())
                    },
                    async |delay: Duration| tokio::time::sleep(delay).await,
                    true,
                    Arc::clone(&throttler),
                    Arc::clone(&policy),
                    Arc::clone(&rule),
                )
            }),
        )
        .because(reasons::NO_BREAKER)
        .rows(effort))
}

/// Blocking.
fn on_this_thread() -> Result<Group<'static>, Box<dyn Error>> {
    let policy = Policy::builder().budget(BudgetPlan::Unlimited).build()?;
    let ours = Retrier::new(policy, StdTime);
    Ok(Group::new("first try, blocking", loops!(|x| blocking(x)))
        .case("stagger", "", move |n| {
            for x in 0..n {
                let _ =
                    black_box(ours.retry_blocking(|| blocking(x)).when(|_: &Failed| true).call());
            }
        })
        .case(
            "backon",
            "",
            loops!(|x| {
                let rule = backon::ExponentialBuilder::default().with_jitter();
                backon::BlockingRetryable::retry(|| blocking(x), rule).call()
            }),
        )
        .because(reasons::BLOCKING_LOOP)
        .case(
            "retry",
            "",
            loops!(|x| {
                use retry::delay::{Exponential, jitter};
                retry::retry(Exponential::from_millis(100).map(jitter).take(3), || blocking(x))
            }),
        )
        .because(reasons::BLOCKING_LOOP)
        .case(
            "backoff",
            "",
            loops!(|x| {
                let rule = backoff::ExponentialBackoff::default();
                backoff::retry(rule, || blocking(x).map_err(backoff::Error::transient))
            }),
        ))
}
