//! Concurrency limits and rate limits under the drivers: queues, turns, and places that are given back.
#![cfg(feature = "tokio")]

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use stagger::budget::BudgetPlan;
use stagger::concurrency::ConcurrencyPlan;
use stagger::hedge::HedgePlan;
use stagger::rate_limit::RatePlan;
use stagger::{
    Backoff, Cancel, Clock, ConcurrencyStats, Instant, Policy, PolicyBuilder, Rate, Retrier, Span,
    Stop, TokioTime,
};

type Done = Result<(), Box<dyn std::error::Error>>;

/// One attempt a call, unless more are asked for, and no budget in the way.
fn single() -> PolicyBuilder {
    let backoff = Backoff::constant(Span::from_millis(1));
    Policy::builder().backoff(backoff).max_attempts(1).budget(BudgetPlan::Unlimited)
}

fn places(places: u32, queued: u32) -> Result<ConcurrencyPlan, stagger::ConfigError> {
    ConcurrencyPlan::new(places)?.with_queue(queued, Span::from_secs(60))
}

fn of(policy: PolicyBuilder) -> Result<Retrier, stagger::ConfigError> {
    Ok(Retrier::of(policy.build()?))
}

fn stats(retrier: &Retrier) -> ConcurrencyStats {
    let now = TokioTime.now();
    retrier.ledger().stats(now).concurrency_limit.expect("the policy has a limit")
}

fn held(retrier: &Retrier) -> (u64, u64) {
    (stats(retrier).in_flight, stats(retrier).queued)
}

/// Counts the attempts that run at once.
#[derive(Default)]
struct Gauge {
    now: AtomicU32,
    most: AtomicU32,
}

struct Running<'a>(&'a Gauge);

impl Gauge {
    fn enter(&self) -> Running<'_> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Running(self)
    }

    fn most(&self) -> u32 {
        self.most.load(Ordering::SeqCst)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A call whose attempt takes so long.
async fn slow(retrier: Retrier, ms: u64) -> Result<(), Stop> {
    let attempt = || async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok::<(), ()>(())
    };
    retrier.retry(attempt).when(|_: &()| true).await.map_err(|end| end.stop())
}

/// Lets every task run until it waits.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn more_attempts_were_in_flight_than_places() -> Done {
    let retrier = of(single().concurrency_limit(places(4, 100)?))?;
    let (gauge, order) = (Arc::new(Gauge::default()), Arc::new(Mutex::new(Vec::new())));
    let begun = TokioTime.now();
    let mut tasks = Vec::new();
    for number in 0..20 {
        let (retrier, gauge, order) = (retrier.clone(), Arc::clone(&gauge), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let attempt = || async {
                let _running = gauge.enter();
                order.lock().expect("no test panics in it").push(number);
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok::<(), ()>(())
            };
            retrier.retry(attempt).when(|_: &()| true).await.is_ok()
        }));
        settle().await;
    }
    for task in tasks {
        assert!(task.await?);
    }
    assert_eq!(gauge.most(), 4);
    assert_eq!(*order.lock().expect("no test panics in it"), (0..20).collect::<Vec<_>>());
    assert_eq!(TokioTime.now() - begun, Span::from_millis(500), "places are never idle");
    assert_eq!((held(&retrier), stats(&retrier).waits), ((0, 0), 16));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_place_made_an_attempt_or_was_charged() -> Done {
    let policy = single().budget(BudgetPlan::default()).concurrency_limit(ConcurrencyPlan::new(1)?);
    let retrier = of(policy)?;
    let first = tokio::spawn(slow(retrier.clone(), 1_000));
    settle().await;
    let level = retrier.ledger().stats(TokioTime.now()).level;
    let mut attempts = 0;
    let second = retrier
        .retry(|| {
            attempts += 1;
            async { Ok(()) }
        })
        .when(|_: &u8| true);
    let end = second.await.expect_err("there is one place");
    assert_eq!((end.stop(), end.attempts()), (Stop::ConcurrencyLimited, 0));
    assert_eq!(
        end.to_string().split(" in ").next(),
        Some("concurrency limit reached after 0 attempts")
    );
    assert!(end.to_string().ends_with("/docs/guides/limits.md"), "{end}");
    assert_eq!((attempts, end.get_ref()), (0, None));
    assert_eq!(retrier.ledger().stats(TokioTime.now()).level, level);
    assert_eq!(stats(&retrier).refusals, 1);
    assert_eq!(first.await?, Ok(()));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_place_went_past_its_end() -> Done {
    let plan = ConcurrencyPlan::new(1)?.with_queue(5, Span::from_millis(300))?;
    let retrier = of(single().concurrency_limit(plan))?;
    let first = tokio::spawn(slow(retrier.clone(), 1_000));
    settle().await;
    let begun = TokioTime.now();
    assert_eq!(slow(retrier.clone(), 1).await, Err(Stop::ConcurrencyLimited));
    assert_eq!(TokioTime.now() - begun, Span::from_millis(300));
    let hurried =
        Retrier::of(single().concurrency_limit(plan).deadline(Span::from_millis(100)).build()?);
    let hurried = hurried.with_ledger(Arc::clone(retrier.ledger()));
    let begun = TokioTime.now();
    assert!(slow(hurried, 1).await.is_err());
    assert_eq!(TokioTime.now() - begun, Span::from_millis(100));
    assert_eq!((first.await?, held(&retrier)), (Ok(()), (0, 0)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_kept_its_place_or_its_turn() -> Done {
    let retrier = of(single().concurrency_limit(places(1, 5)?))?;
    let hangs = || {
        let retrier = retrier.clone();
        tokio::spawn(
            async move { retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true).await },
        )
    };
    let (holds, waits, last) = (hangs(), hangs(), hangs());
    settle().await;
    assert_eq!(held(&retrier), (1, 2));
    waits.abort();
    settle().await;
    assert_eq!(held(&retrier), (1, 1));
    holds.abort();
    settle().await;
    assert_eq!(held(&retrier), (1, 0), "the place was handed on");
    last.abort();
    settle().await;
    assert_eq!(held(&retrier), (0, 0));
    // One that is dropped after it was handed a place, and before it looked.
    let first = tokio::spawn(slow(retrier.clone(), 10));
    settle().await;
    {
        let mut queued = Box::pin(slow(retrier.clone(), 10));
        let polled = tokio::time::timeout(Duration::ZERO, &mut queued).await;
        assert!(polled.is_err());
        assert_eq!(first.await?, Ok(()));
        assert_eq!(held(&retrier), (1, 0));
    }
    assert_eq!(held(&retrier), (0, 0));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_panic_kept_its_place() -> Done {
    let retrier = of(single().concurrency_limit(ConcurrencyPlan::new(1)?))?;
    let fails = retrier.clone();
    let task = tokio::spawn(async move {
        let attempt = || async { panic!("an attempt panics") };
        fails.retry::<(), (), _, _>(attempt).when(|()| true).await.is_ok()
    });
    assert!(task.await.is_err_and(|error| error.is_panic()));
    assert_eq!(held(&retrier), (0, 0));
    let call = || {
        retrier
            .retry_blocking(|| -> Result<(), ()> { panic!("so does this") })
            .when(|_: &()| true)
            .call()
    };
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    assert_eq!(held(&retrier), (0, 0));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_between_two_attempts_kept_its_place() -> Done {
    let backoff = Backoff::constant(Span::from_secs(1));
    let policy = single().backoff(backoff).max_attempts(2);
    let retrier = of(policy.concurrency_limit(ConcurrencyPlan::new(1)?))?;
    let mut left = 2;
    let one = retrier
        .retry(|| {
            left -= 1;
            std::future::ready(if left == 1 { Err(()) } else { Ok(()) })
        })
        .when(|_| true);
    let between = async {
        settle().await;
        let before = held(&retrier);
        (before, slow(retrier.clone(), 10).await)
    };
    let (end, (before, other)) = tokio::join!(one, between);
    assert_eq!((before, other), ((0, 0), Ok(())));
    assert!(end.is_ok());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_hedged_call_waited_for_a_place() -> Done {
    let hedge = HedgePlan::fixed(Span::from_millis(10), 3)?;
    let policy = single().max_attempts(3).hedge(hedge).concurrency_limit(places(2, 9)?);
    let retrier = of(policy)?;
    let gauge = Gauge::default();
    let call = retrier
        .retry(|| async {
            let _running = gauge.enter();
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(())
        })
        .when(|_: &()| true)
        .hedged();
    assert!(call.await.is_ok());
    assert_eq!((gauge.most(), stats(&retrier).refusals, stats(&retrier).waits), (2, 1, 0));
    assert_eq!(held(&retrier), (0, 0));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn attempts_started_faster_than_the_rate() -> Done {
    let plan = RatePlan::new(Rate::per_second(10), 3)?.with_max_wait(Span::from_secs(1));
    let retrier = of(single().max_attempts(2).rate_limit(plan))?;
    let begun = TokioTime.now();
    let starts = Arc::new(Mutex::new(Vec::<Span>::new()));
    let mut tasks = Vec::new();
    for _ in 0..20 {
        let (retrier, starts) = (retrier.clone(), Arc::clone(&starts));
        tasks.push(tokio::spawn(async move {
            let attempt = || {
                starts.lock().expect("no test panics in it").push(TokioTime.now() - begun);
                async { Ok::<(), ()>(()) }
            };
            retrier.retry(attempt).when(|_: &()| true).await.map_err(|end| end.stop())
        }));
    }
    let mut ends = Vec::new();
    for task in tasks {
        ends.push(task.await?);
    }
    let starts: Vec<u64> = starts
        .lock()
        .expect("no test panics in it")
        .iter()
        .map(|at| at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(starts, [0, 0, 0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
    let refused = ends.iter().filter(|end| **end == Err(Stop::RateLimited)).count();
    assert_eq!((refused, ends.len()), (7, 20));
    let rate = retrier.ledger().stats(TokioTime.now()).rate_limit.ok_or("no limit")?;
    assert_eq!((rate.waits, rate.refusals), (10, 7));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_retry_was_not_counted_against_the_rate() -> Done {
    let plan = RatePlan::new(Rate::per_second(1), 1)?;
    let retrier = of(single().max_attempts(3).rate_limit(plan))?;
    let (begun, mut starts) = (TokioTime.now(), Vec::<Span>::new());
    let call = retrier.retry(|| {
        starts.push(TokioTime.now() - begun);
        std::future::ready(Err::<(), _>(()))
    });
    assert_eq!(call.when(|()| true).await.map_err(|end| end.stop()), Err(Stop::AttemptsExhausted));
    assert_eq!(starts, [Span::ZERO, Span::from_secs(1), Span::from_secs(2)]);
    Ok(())
}

#[test]
fn a_thread_that_waited_for_a_place_was_not_woken() -> Done {
    let retrier = of(single().concurrency_limit(places(2, 64)?))?;
    let (gauge, done) = (Gauge::default(), AtomicU32::new(0));
    // A wake-up that is lost would cost one of these calls the minute that it may wait.
    let begun: Instant = TokioTime.now();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let call = retrier
                        .retry_blocking(|| {
                            let _running = gauge.enter();
                            thread::yield_now();
                            Ok::<(), ()>(())
                        })
                        .when(|_: &()| true)
                        .call();
                    assert!(call.is_ok());
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!((done.load(Ordering::Relaxed), held(&retrier)), (1_600, (0, 0)));
    assert!(gauge.most() <= 2);
    assert!(TokioTime.now() - begun < Span::from_secs(60));
    Ok(())
}

#[test]
fn a_task_on_another_thread_was_not_woken() -> Done {
    let retrier = of(single().concurrency_limit(places(2, 64)?))?;
    let gauge = Gauge::default();
    let begun = TokioTime.now();
    thread::scope(|scope| {
        for seed in 0..4_u32 {
            let (retrier, gauge) = (&retrier, &gauge);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                runtime.expect("a runtime").block_on(async {
                    for number in 0..200_u32 {
                        let attempt = || async {
                            let _running = gauge.enter();
                            tokio::task::yield_now().await;
                            Ok::<(), ()>(())
                        };
                        let call = retrier.retry(attempt).when(|_: &()| true);
                        // Some are dropped while they wait, or in their attempt.
                        if (number * 7 + seed) % 5 == 0 {
                            tokio::select! {
                                biased;
                                _ = call => {}
                                () = tokio::task::yield_now() => {}
                            }
                        } else {
                            assert!(call.await.is_ok());
                        }
                    }
                });
            });
        }
    });
    assert!(gauge.most() <= 2);
    assert_eq!(held(&retrier), (0, 0));
    assert!(TokioTime.now() - begun < Span::from_secs(60));
    Ok(())
}

#[test]
fn a_cancelled_thread_waited_on_for_a_place() -> Done {
    let retrier = of(single().concurrency_limit(places(1, 1)?))?;
    let (cancel, inside) = (Cancel::new(), retrier.clone());
    let stops = retrier
        .retry_blocking(|| {
            let (waiting, handle) = (inside.clone().with_nested_retries(), cancel.clone());
            let waits = thread::spawn(move || {
                let call = waiting.retry_blocking(|| Ok::<(), ()>(())).when(|()| true);
                call.cancel(&handle).call().map_err(|end| end.stop())
            });
            while held(&inside).1 == 0 {
                thread::yield_now();
            }
            cancel.cancel();
            Ok::<_, ()>(waits.join().expect("nothing panics"))
        })
        .when(|_: &()| true)
        .call();
    assert_eq!(stops.map_err(|end| end.stop()), Ok(Err(Stop::Cancelled)));
    assert_eq!(held(&retrier), (0, 0));
    Ok(())
}
