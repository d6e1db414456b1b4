//! Calls in one line: errors that closures infer, and a budget for each place in the code.
#![cfg(feature = "tokio")]

use std::error::Error;
use std::future::{Future, IntoFuture, pending};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stagger::call::{CallSite, EveryError, Plain, RetryAfter, RetryFuture, SiteRetrier, SiteTime};
use stagger::{
    Breaker, Cancel, Classifier, Policy, Retrier, RetryCall, Retryable, RetryableBlocking, Sleep,
    Stop, TokioTime,
};

type Done = Result<(), Box<dyn Error>>;

#[derive(Debug, PartialEq)]
struct Fault {
    busy: bool,
    after: Option<Duration>,
}

const BUSY: Fault = Fault { busy: true, after: None };

impl Fault {
    fn is_busy(&self) -> bool {
        self.busy
    }
}

/// Answers `Ok` with the number of the try, from the third on.
async fn third(tries: &AtomicU32) -> Result<u32, Fault> {
    tokio::task::yield_now().await;
    let tries = tries.fetch_add(1, Ordering::Relaxed) + 1;
    if tries < 3 { Err(BUSY) } else { Ok(tries) }
}

#[tokio::test(start_paused = true)]
async fn the_error_type_had_to_be_written_at_every_call() -> Done {
    let tries = AtomicU32::new(0);
    assert_eq!(stagger::retry(|| third(&tries)).when(|e| e.is_busy()).await, Ok(3));
    let tries = AtomicU32::new(0);
    let fetch = || third(&tries);
    assert_eq!(fetch.retry(Policy::interactive()).when(|e| e.is_busy()).await, Ok(3));
    let (tries, server) = (AtomicU32::new(0), Retrier::of(Policy::interactive()));
    assert_eq!(server.retry(|| third(&tries)).when(|e| e.is_busy()).await, Ok(3));
    let gone = || async { Err::<(), _>(Fault { busy: false, after: None }) };
    let failed = stagger::retry(gone).when(|e| e.is_busy()).await.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 1));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_spawned_and_named() -> Done {
    fn send<F: Future + Send + 'static>(future: F) -> F {
        future
    }
    let call = stagger::retry(|| async { Err::<(), _>(BUSY) }).when(|e| e.is_busy());
    let failed = tokio::spawn(send(call.into_future())).await?.unwrap_err();
    assert_eq!((failed.attempts(), failed.into_inner()), (3, Some(BUSY)));
    struct Client {
        server: Retrier,
    }
    impl Client {
        async fn get(&self) -> Result<u32, stagger::Error<Fault>> {
            let tries = AtomicU32::new(0);
            self.server.retry(|| third(&tries)).when(Fault::is_busy).await
        }
    }
    let client = Client { server: Retrier::of(Policy::default()) };
    assert_eq!(tokio::spawn(async move { client.get().await }).await?, Ok(3));
    Ok(())
}

/// A call of a place in the code as a future, all parts by their names.
fn future_of<F, Fut, J>(
    call: RetryCall<'static, CallSite, Plain<F>, (), Fault, J>,
) -> RetryFuture<'static, CallSite, Plain<F>, Fut, (), Fault, J, <TokioTime as Sleep>::Timer>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<(), Fault>>,
    J: Classifier<(), Fault>,
{
    call.into_future()
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_call_had_no_name_for_a_struct() -> Done {
    fn hinted<J, F>(
        call: RetryCall<'_, CallSite, Plain<F>, (), Fault, RetryAfter<J, Hint>>,
    ) -> usize {
        size_of_val(&call)
    }
    fn waits_by<Z: SiteTime>() -> usize {
        size_of::<SiteRetrier<Z>>()
    }
    fn alone<F, Fut>(
        breaker: &Breaker,
        op: F,
    ) -> RetryCall<'static, &Retrier, Plain<F>, (), Fault, EveryError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<(), Fault>>,
    {
        breaker.call(op)
    }
    type Hint = fn(&Fault) -> Option<Duration>;
    let busy = || async { Err::<(), _>(BUSY) };
    let failed = future_of(stagger::retry(busy).when(|e| e.is_busy())).await;
    assert_eq!(failed.map_err(|error| error.attempts()), Err(3));
    let hint: Hint = |error| error.after;
    assert!(hinted(stagger::retry(busy).when(|e| e.is_busy()).retry_after(hint)) > 0);
    assert!(waits_by::<TokioTime>() > 0);
    let breaker = Breaker::new(stagger::breaker::BreakerPlan::default());
    assert_eq!(alone(&breaker, busy).await.map_err(|error| error.attempts()), Err(1));
    Ok(())
}

/// A call that fails, always from this place.
async fn fail() -> stagger::Error<Fault> {
    stagger::retry(|| async { Err::<(), _>(BUSY) })
        .when(|e| e.is_busy())
        .await
        .expect_err("busy for ever")
}

#[tokio::test(start_paused = true)]
async fn a_place_in_the_code_that_fails_again_and_again_is_refused_by_its_own_budget() -> Done {
    let (mut retries, mut last) = (0, None);
    for _ in 0..10 {
        let failed = fail().await;
        retries += failed.attempts() - 1;
        last = Some(failed.stop());
    }
    // Two at rest, a tenth for each call, and one in 20 s; without a budget it would be 20.
    assert!((2..=4).contains(&retries), "{retries}");
    assert_eq!(last, Some(Stop::BudgetEmpty));
    let elsewhere = stagger::retry(|| async { Err::<(), _>(BUSY) }).when(|e| e.is_busy()).await;
    assert_eq!(
        elsewhere.map_err(|error| error.attempts()),
        Err(3),
        "another place, another budget"
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_place_share_a_budget_under_every_policy() -> Done {
    let mut retries = 0;
    for deadline in 3..13 {
        let policy = Policy::builder().deadline(Duration::from_secs(deadline)).build()?;
        let call = stagger::retry(|| async { Err::<(), _>(BUSY) }).policy(policy);
        retries += call.when(|e| e.is_busy()).await.unwrap_err().attempts() - 1;
    }
    assert!((2..=4).contains(&retries), "{retries}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_delay_reaches_the_call() -> Done {
    let start = tokio::time::Instant::now();
    let fault =
        || async { Err::<(), _>(Fault { busy: true, after: Some(Duration::from_secs(9)) }) };
    let call = stagger::retry(fault).when(|e| e.is_busy()).retry_after(|e| e.after);
    let mut delays = Vec::new();
    let failed = call.notify(|e, delay| delays.push((e.is_some(), delay))).await;
    assert_eq!(failed.map_err(|error| error.attempts()), Err(3));
    assert!(start.elapsed() >= Duration::from_secs(18));
    assert!(delays.iter().all(|(seen, delay)| *seen && *delay >= Duration::from_secs(9)));
    assert_eq!(delays.len(), 2);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_out_of_time_is_told_without_an_error() -> Done {
    let policy = Policy::builder().attempt_timeout(Duration::from_secs(1)).build()?;
    let mut heard = Vec::new();
    let call = stagger::retry(pending::<Result<(), Fault>>).policy(policy).when(|e| e.is_busy());
    let failed = call.notify(|e, _| heard.push(e.is_none())).await.unwrap_err();
    assert_eq!((failed.attempts(), heard), (3, vec![true, true]));
    Ok(())
}

#[test]
fn a_blocking_call_reads_the_same() {
    let mut tries = 0;
    let fetch = || {
        tries += 1;
        if tries < 3 { Err(BUSY) } else { Ok(tries) }
    };
    assert_eq!(stagger::retry_blocking(fetch).when(|e| e.is_busy()).call(), Ok(3));
    let cancel = Cancel::new();
    cancel.cancel();
    let call = (|| Err::<(), _>(BUSY)).retry_blocking(Policy::default()).when(|e| e.is_busy());
    let failed = call.cancel(&cancel).call().unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Cancelled, 0));
    let server = Retrier::new(Policy::default(), TokioTime);
    let write = server.retry_blocking(|| Err::<(), _>(BUSY)).when(|e| e.is_busy());
    let failed = write.not_idempotent().call().unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::NotIdempotent, 1));
}
