//! Blocking calls: the same rules on a thread, and a wait that can be cut short.

mod support;

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::thread;

use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::{
    Backoff, CallReport, Cancel, Clock, ConfigError, Instant, Jitter, Pause, Policy, PolicyBuilder,
    Retrier, Span, StdTime, Stop,
};
use support::ManualTime;

fn seconds() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?;
    let backoff = backoff.with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

#[test]
fn no_last_wait_that_no_attempt_can_follow() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let policy = seconds()?.max_attempts(9).deadline(Span::from_secs(5)).build()?;
    let mut starts = Vec::new();
    let call = Retrier::new(policy, time.clone());
    let failed = call
        .retry_blocking(|| {
            starts.push(time.elapsed());
            Err::<(), _>("busy")
        })
        .when(|_| true)
        .call()
        .unwrap_err();
    assert_eq!(starts, [0, 1, 3].map(Span::from_secs));
    assert_eq!((failed.stop(), failed.elapsed()), (Stop::DeadlineExceeded, Span::from_secs(3)));
    Ok(())
}

#[test]
fn a_slow_attempt_leaves_less_time_to_the_next() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let policy = seconds()?.attempt_timeout(Span::from_secs(30)).deadline(Span::from_secs(50));
    let retrier = Retrier::new(policy.build()?, time.clone());
    let mut seen = Vec::new();
    let answer = retrier
        .retry_blocking_with(|attempt, previous| {
            seen.push((attempt.number, attempt.timeout, previous.copied()));
            time.advance(Span::from_secs(30));
            if attempt.number == 1 { Err("timed out") } else { Ok(()) }
        })
        .when(|_| true)
        .call();
    assert!(answer.is_ok());
    let secs = |s| Some(Span::from_secs(s));
    assert_eq!(seen, [(1, secs(30), None), (2, secs(19), Some("timed out"))]);
    Ok(())
}

#[test]
fn io_errors_say_themselves_what_heals() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(seconds()?.build()?, time);
    for (kind, attempts) in [
        (ErrorKind::ConnectionReset, 3),
        (ErrorKind::ConnectionRefused, 3),
        (ErrorKind::TimedOut, 3),
        (ErrorKind::NotFound, 1),
        (ErrorKind::Other, 1),
    ] {
        let failed =
            retrier.retry_blocking(|| Err::<(), _>(io::Error::from(kind))).call().unwrap_err();
        assert_eq!(
            (failed.attempts(), failed.into_inner().map(|e| e.kind())),
            (attempts, Some(kind))
        );
    }
    Ok(())
}

#[test]
fn a_wait_ends_within_50_ms_of_the_cancel() -> Result<(), ConfigError> {
    // gojek/heimdall #145; the one test here in which a thread really waits.
    let backoff = Backoff::constant(Span::from_secs(30)).with_jitter(Jitter::None)?;
    let retrier = Retrier::new(Policy::builder().backoff(backoff).build()?, StdTime);
    // A busy machine may run the woken thread late, but not five times in a row.
    let late: Vec<Span> = (0..5).map(|_| cancelled_after_20_ms(&retrier)).collect();
    assert!(late.iter().any(|late| *late < Span::from_millis(50)), "{late:?}");
    Ok(())
}

/// The time between the cancel of a waiting call and its return.
fn cancelled_after_20_ms(retrier: &Retrier<StdTime>) -> Span {
    let (cancel, attempts) = (&Cancel::new(), Cell::new(0));
    let (waiting, is_waiting) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let canceller = scope.spawn(move || {
            is_waiting.recv().expect("the call starts");
            StdTime.pause(Span::from_millis(20), None);
            let at = StdTime.now();
            cancel.cancel();
            at
        });
        let call = retrier.retry_blocking(|| {
            attempts.set(attempts.get() + 1);
            waiting.send(()).expect("the canceller listens");
            Err::<(), _>("busy")
        });
        let failed = call.when(|_| true).cancel(cancel).call();
        let back = StdTime.now();
        assert_eq!(failed.map_err(|failed| failed.stop()), Err(Stop::Cancelled));
        assert_eq!(attempts.get(), 1);
        back - canceller.join().expect("the canceller does not panic")
    })
}

#[test]
fn a_cancelled_handle_admits_no_attempt_at_all() -> Result<(), ConfigError> {
    let (retrier, cancel) =
        (Retrier::new(seconds()?.build()?, ManualTime::default()), Cancel::new());
    cancel.cancel();
    let mut report = CallReport::default();
    let call = retrier.retry_blocking(|| -> Result<(), &str> { panic!("nobody calls") });
    let failed = call.when(|_| true).cancel(&cancel).report(&mut report).call().unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Cancelled, 0));
    assert_eq!((report.stop(), report.attempts()), (Some(Stop::Cancelled), 0));
    Ok(())
}

#[test]
fn a_call_that_is_cancelled_in_its_second_retry_has_paid_for_both() -> Result<(), ConfigError> {
    let policy = seconds()?.max_attempts(9).budget(TokenPlan::new(9, 1)?).build()?;
    let (retrier, cancel) = (Retrier::new(policy, ManualTime::default()), Cancel::new());
    let call = retrier.retry_blocking_with(|attempt, _| {
        if attempt.number == 3 {
            cancel.cancel();
        }
        Err::<(), _>("busy")
    });
    let failed = call.when(|_| true).cancel(&cancel).call().unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Cancelled, 3));
    let stats = retrier.ledger().stats(Instant::FAR);
    assert_eq!(stats.grants - stats.refunds, 2);
    Ok(())
}

#[test]
fn layers_do_not_multiply_on_a_thread_either() -> Result<(), ConfigError> {
    let layer = || Ok(Retrier::new(seconds()?.build()?, ManualTime::default()));
    let (outer, middle, inner) = (layer()?, layer()?, layer()?);
    let mut upstream = 0;
    let outer = outer.retry_blocking(|| {
        let middle = middle.retry_blocking(|| {
            let inner = inner.retry_blocking(|| {
                upstream += 1;
                Err::<(), _>(io::Error::from(ErrorKind::ConnectionReset))
            });
            inner.call()
        });
        middle.call()
    });
    let failed = outer.call();
    assert_eq!(failed.map_err(|failed| failed.attempts()), Err(3));
    assert_eq!(upstream, 3);
    Ok(())
}

#[test]
fn async_and_blocking_calls_share_one_budget() -> Result<(), ConfigError> {
    let policy = Policy::builder().build()?;
    let one = Retrier::new(policy, ManualTime::default());
    let other = one.clone().with_time(ManualTime::default());
    let fail = |retrier: &Retrier<ManualTime>| {
        retrier.retry_blocking(|| Err::<(), _>(())).when(|_| true).call().unwrap_err().stop()
    };
    while fail(&one) != Stop::BudgetEmpty {}
    assert_eq!(fail(&other), Stop::BudgetEmpty);
    Ok(())
}
