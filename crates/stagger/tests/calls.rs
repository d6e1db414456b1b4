//! Async calls in tokio's paused time: limits, hints, cancellation, breaker, nesting.
#![cfg(feature = "tokio")]

use std::cell::Cell;
use std::future::pending;
use std::time::Duration;

use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::{
    Backoff, CallReport, Cause, Clock, ConfigError, Error, Hint, Jitter, Outcome, Policy,
    PolicyBuilder, Retrier, Span, Stop, TokioTime, Verdict,
};

/// Delays of 1, 2, 4, ... seconds, and no budget in the way.
fn seconds() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?;
    let backoff = backoff.with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

fn starts(policy: PolicyBuilder) -> Result<Starts, ConfigError> {
    let retrier = Retrier::new(policy.build()?, TokioTime);
    Ok(Starts { retrier, begun: TokioTime.now(), at: Cell::default() })
}

/// A destination that notes when its attempts start, in milliseconds.
struct Starts {
    retrier: Retrier<TokioTime>,
    begun: stagger::Instant,
    at: Cell<Vec<u64>>,
}

impl Starts {
    fn note(&self) {
        let mut at = self.at.take();
        at.push((TokioTime.now() - self.begun).as_nanos() / 1_000_000);
        self.at.set(at);
    }

    fn elapsed(&self) -> Span {
        TokioTime.now() - self.begun
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

#[tokio::test(start_paused = true)]
async fn no_last_wait_that_no_attempt_can_follow() -> Done {
    // ihrwein/backoff #42, jd/tenacity PR 423
    let server = starts(seconds()?.max_attempts(9).deadline(Span::from_secs(5)))?;
    let call = server
        .retrier
        .retry(async || {
            server.note();
            Err::<(), _>("busy")
        })
        .when(|_| true);
    let failed = call.await.unwrap_err();
    assert_eq!(server.at.take(), [0, 1_000, 3_000]);
    assert_eq!(server.elapsed(), Span::from_secs(3), "it ends at the third failure");
    assert_eq!((failed.stop(), failed.attempts()), (Stop::DeadlineExceeded, 3));
    assert_eq!(failed.elapsed(), Span::from_secs(3));
    assert_eq!(failed.into_inner(), Some("busy"));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_does_not_use_up_the_whole_deadline() -> Done {
    // PostHog/terraform-provider-posthog PR 157
    let policy = seconds()?.max_attempts(9).attempt_timeout(Span::from_secs(30));
    let server = starts(policy.deadline(Span::from_secs(100)))?;
    let limits = Cell::new(Vec::new());
    let call = server
        .retrier
        .retry_with(async |attempt| {
            server.note();
            let mut seen = limits.take();
            seen.push((attempt.timeout, attempt.remaining));
            limits.set(seen);
            pending::<Result<(), ()>>().await
        })
        .when(|_: &()| true);
    let failed = call.await.unwrap_err();
    // The fourth gets what is left: 100 - (30 + 1 + 30 + 2 + 30 + 4) = 3 s.
    assert_eq!(server.at.take(), [0, 31_000, 63_000, 97_000]);
    let secs = |s| Some(Span::from_secs(s));
    assert_eq!(
        limits.take(),
        [(secs(30), secs(100)), (secs(30), secs(69)), (secs(30), secs(37)), (secs(3), secs(3))]
    );
    assert_eq!(server.elapsed(), Span::from_secs(100));
    assert_eq!((failed.stop(), failed.get_ref()), (Stop::DeadlineExceeded, None));
    assert!(failed.history().iter().all(|attempt| attempt.cause == Cause::Timeout));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_its_future() -> Done {
    // oracle/oci-go-sdk #133
    let server = starts(seconds()?)?;
    let call = server
        .retrier
        .retry(async || {
            server.note();
            Err::<(), _>(())
        })
        .classify(|_: &()| wait_for(30));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    assert_eq!(server.elapsed(), Span::from_secs(1));
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(server.at.take(), [0], "no attempt comes after");
    Ok(())
}

fn wait_for(secs: u64) -> Outcome {
    Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(Span::from_secs(secs)))
}

#[tokio::test(start_paused = true)]
async fn a_hint_bounds_the_delay_from_below_and_a_long_one_is_handed_back() -> Done {
    let server = starts(seconds()?)?;
    let call = server
        .retrier
        .retry(async || {
            server.note();
            Err::<(), _>(0)
        })
        .classify(|_: &u64| wait_for(10));
    assert_eq!(call.await.unwrap_err().stop(), Stop::AttemptsExhausted);
    let at = server.at.take();
    assert!(at.windows(2).all(|two| (10_000..=15_000).contains(&(two[1] - two[0]))), "{at:?}");

    let call = server.retrier.retry(async || Err::<(), _>(7)).classify(|_: &u64| wait_for(3_600));
    let failed = call.await.unwrap_err();
    let hour = Span::from_secs(3_600);
    assert_eq!((failed.stop(), failed.hint()), (Stop::HintTooLong, Some(hour)));
    assert!(failed.to_string().ends_with("; the server asks to stay away for 3600s"));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_attempt_is_not_tried_again() -> Done {
    // jd/tenacity #529: a retry rule that matches everything retried cancellations too.
    let server = starts(seconds()?)?;
    let call = server
        .retrier
        .retry(async || {
            server.note();
            Err::<(), _>("cancelled by the caller")
        })
        .classify(|_: &&str| Outcome::new(Verdict::Cancelled));
    let failed = call.await.unwrap_err();
    assert_eq!(
        (failed.stop(), failed.into_inner()),
        (Stop::Cancelled, Some("cancelled by the caller"))
    );
    assert_eq!(server.at.take(), [0]);
    Ok(())
}

fn breaker(failures: u32) -> Result<BreakerPlan, ConfigError> {
    BreakerPlan::builder().consecutive(failures).build()
}

#[tokio::test(start_paused = true)]
async fn callers_who_give_up_do_not_open_the_breaker() -> Done {
    // tsouza/cerberus PR 738
    let server = starts(seconds()?.max_attempts(1).breaker(breaker(5)?))?;
    for _ in 0..9 {
        let call = server.retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true);
        assert!(tokio::time::timeout(Duration::from_millis(10), call).await.is_err());
    }
    for _ in 0..80 {
        let call = server.retrier.retry(async || Ok(())).when(|_: &()| true);
        assert_eq!(call.await, Ok(()));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn attempts_that_run_out_of_time_do_open_the_breaker() -> Done {
    let policy = seconds()?.max_attempts(1).attempt_timeout(Span::from_secs(1));
    let server = starts(policy.breaker(breaker(5)?))?;
    for _ in 0..5 {
        let call = server.retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true);
        assert_eq!(call.await.map_err(|failed| failed.stop()), Err(Stop::AttemptsExhausted));
    }
    let call = server.retrier.retry(async || Ok(())).when(|_: &()| true);
    assert_eq!(call.await.map_err(|failed| failed.stop()), Err(Stop::BreakerOpen));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_costs_neither_time_nor_budget() -> Done {
    // resilience4j/resilience4j #920
    let server = starts(seconds()?.breaker(breaker(1)?).budget(BudgetPlan::default()))?;
    let call = server
        .retrier
        .retry(async || {
            server.note();
            Err::<(), _>("refused")
        })
        .when(|_| true);
    let failed = call.await.unwrap_err();
    // The breaker opens at the first failure, and is asked after the wait.
    assert_eq!((failed.stop(), failed.attempts()), (Stop::BreakerOpen, 1));
    assert_eq!(failed.into_inner(), Some("refused"), "the real error is kept");
    assert_eq!(server.elapsed(), Span::from_secs(1));

    let call = server
        .retrier
        .retry(async || {
            server.note();
            Ok(())
        })
        .when(|_: &&str| true);
    let refused = call.await.unwrap_err();
    assert_eq!((refused.stop(), refused.attempts()), (Stop::BreakerOpen, 0));
    assert_eq!((refused.elapsed(), refused.into_inner()), (Span::ZERO, None));
    assert_eq!(server.at.take(), [0], "the network saw one attempt");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_ends_the_call_or_pauses_it() -> Done {
    // aws/aws-sdk-go-v2 #3413
    for (pauses, after) in [(false, Span::ZERO), (true, Span::from_secs(1))] {
        let server = starts(seconds()?.budget(BudgetPlan::None).pause_when_empty(pauses))?;
        let call = server.retrier.retry(async || Err::<(), _>("busy")).when(|_| true);
        let failed = call.await.unwrap_err();
        assert_eq!((failed.stop(), server.elapsed()), (Stop::BudgetEmpty, after));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_bad_reply_is_returned_as_it_is_when_the_attempts_end() -> Done {
    let server = starts(seconds()?)?;
    let classifier = |reply: &Result<u16, String>| match reply {
        Ok(503) => Outcome::new(Verdict::Transient),
        Ok(_) => Outcome::OK,
        Err(_) => Outcome::new(Verdict::Permanent),
    };
    let mut report = CallReport::default();
    let call =
        server.retrier.retry(async || Ok(503)).classify_result(classifier).report(&mut report);
    assert_eq!(call.await, Ok(503));
    assert_eq!((report.stop(), report.attempts()), (Some(Stop::AttemptsExhausted), 3));
    assert_eq!(report.elapsed(), Span::from_secs(3));
    let at: Vec<_> = report.history().iter().map(|attempt| attempt.at).collect();
    assert_eq!(at, [Span::ZERO, Span::from_secs(1), Span::from_secs(3)]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_success_after_retries_can_be_told_from_a_clean_one() -> Done {
    let server = starts(seconds()?)?;
    for retries in [0, 2] {
        let mut report = CallReport::default();
        let mut left = retries;
        let call = server.retrier.retry(|| {
            let answer = if left == 0 { Ok("answer") } else { Err(()) };
            left = u32::saturating_sub(left, 1);
            std::future::ready(answer)
        });
        assert_eq!(call.when(|()| true).report(&mut report).await, Ok("answer"));
        assert_eq!((report.stop(), report.attempts()), (Some(Stop::Succeeded), retries + 1));
        let verdicts: Vec<_> = report.history().iter().map(|attempt| attempt.verdict).collect();
        assert_eq!(verdicts.last(), Some(&Verdict::Ok));
        assert_eq!(
            verdicts.iter().filter(|v| **v == Verdict::Transient).count(),
            verdicts.len() - 1
        );
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn elapsed_counts_the_first_attempt_though_nobody_asked_for_the_time() -> Done {
    let server = starts(seconds()?)?;
    let call = server
        .retrier
        .retry(async || {
            tokio::time::sleep(Duration::from_secs(7)).await;
            Err::<(), _>(())
        })
        .when(|_| false);
    assert_eq!(call.await.unwrap_err().elapsed(), Span::from_secs(7));
    Ok(())
}

/// Three layers of three attempts each around a server that is always busy.
async fn three_layers(nested: bool) -> Result<(u32, u32), ConfigError> {
    let layer = || -> Result<Retrier<TokioTime>, ConfigError> {
        let policy = seconds()?.max_attempts(3).build()?;
        let retrier = Retrier::new(policy, TokioTime);
        Ok(if nested { retrier.with_nested_retries() } else { retrier })
    };
    let (outer, middle, inner) = (layer()?, layer()?, layer()?);
    let upstream = Cell::new(0);
    let call = outer.retry(|| {
        let call = middle.retry(|| {
            let call = inner.retry(async || {
                upstream.set(upstream.get() + 1);
                Err::<(), _>(())
            });
            call.when(|()| true).into_future()
        });
        call.into_future()
    });
    let result: Result<(), Error<Error<Error<()>>>> = call.await;
    Ok((upstream.get(), result.map_or_else(|failed| failed.attempts(), |()| 0)))
}

#[tokio::test(start_paused = true)]
async fn layers_do_not_multiply_unless_told_to() -> Done {
    // HKUDS/nanobot #2760, apache/curator PR 346
    assert_eq!(three_layers(false).await?, (3, 3));
    assert_eq!(three_layers(true).await?, (27, 3));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_beside_an_attempt_is_not_inside_it() -> Done {
    let outer = starts(seconds()?)?;
    let beside = starts(seconds()?)?;
    let call = outer
        .retrier
        .retry(async || {
            tokio::task::yield_now().await;
            Err::<(), _>(())
        })
        .when(|_| true);
    let other = beside
        .retrier
        .retry(async || {
            tokio::task::yield_now().await;
            Err::<(), _>(())
        })
        .when(|_| true);
    let (one, two) = tokio::join!(call, other);
    assert_eq!((one.unwrap_err().attempts(), two.unwrap_err().attempts()), (3, 3));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn thousands_of_calls_to_a_dead_server_stay_within_its_budget() -> Done {
    const CALLS: u32 = 5_000;
    let backoff = Backoff::exponential(Span::from_millis(100), Span::from_secs(10))?;
    let policy = Policy::builder().backoff(backoff).max_attempts(4).build()?;
    let retrier = Retrier::new(policy, TokioTime);
    let attempts = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let (retrier, attempts) = (retrier.clone(), attempts.clone());
            tokio::spawn(async move {
                let call = retrier
                    .retry(async || {
                        attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        Err::<(), _>(())
                    })
                    .when(|_| true);
                call.await.unwrap_err().stop()
            })
        })
        .collect();
    let mut refused = 0;
    for call in calls {
        refused += u32::from(call.await? == Stop::BudgetEmpty);
    }
    let attempts = attempts.load(std::sync::atomic::Ordering::Relaxed);
    // 10 % of the first attempts, and the three of one call that are in hand.
    assert_eq!(attempts, CALLS + CALLS / 10 + 3);
    assert!(refused > CALLS * 8 / 10, "{refused}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_seed_fixes_the_delays_and_nothing_else_does() -> Done {
    let backoff = Backoff::constant(Span::from_secs(1)).with_jitter(Jitter::Full)?;
    let policy = Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited).build()?;
    let seeded = Retrier::new(policy, TokioTime).with_seed(7);
    let mut took = Vec::new();
    for retrier in [&seeded, &seeded, &Retrier::new(policy, TokioTime)] {
        let call = retrier.retry(async || Err::<(), _>(())).when(|_| true);
        took.push(call.await.unwrap_err().elapsed());
    }
    assert_eq!(took[0], took[1]);
    assert_ne!(
        took[0], took[2],
        "two delays of a second agree to the millisecond once in a million"
    );
    Ok(())
}
