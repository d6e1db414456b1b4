//! Hedged calls: one owner, one winner, every copy paid for.

mod support;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use stagger::breaker::Report;
use stagger::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger::hedge::HedgePlan;
use stagger::{
    Backoff, ConfigError, Jitter, Outcome, Policy, PolicyBuilder, Rate, Ratio, Remedy, Retrier,
    Sleep, Span, Stop, Verdict,
};
use support::{Diary, Line, ManualTime, poll};

const MS: fn(u64) -> Span = Span::from_millis;

fn policy() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::constant(MS(10)).with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).hedge(HedgePlan::fixed(MS(100), 2)?))
}

/// Copies that answer after the times given, and note how many are alive.
struct Server {
    time: ManualTime,
    answers: RefCell<Vec<(u64, Result<&'static str, &'static str>)>>,
    launched: Cell<u32>,
    alive: Rc<()>,
}

impl Server {
    fn new(time: &ManualTime, answers: &[(u64, Result<&'static str, &'static str>)]) -> Self {
        let answers = RefCell::new(answers.iter().rev().copied().collect());
        Self { time: time.clone(), answers, launched: Cell::new(0), alive: Rc::new(()) }
    }

    fn copy(&self) -> impl Future<Output = Result<&'static str, &'static str>> + use<> {
        let (after, answer) = self.answers.borrow_mut().pop().expect("no copy too many");
        self.launched.set(self.launched.get() + 1);
        let (timer, alive) = (self.time.sleep(MS(after)), Rc::clone(&self.alive));
        async move {
            timer.await;
            drop(alive);
            answer
        }
    }

    fn alive(&self) -> usize {
        Rc::strong_count(&self.alive) - 1
    }
}

/// Polls every millisecond until the call is ready, and says when that was.
fn finish<F: IntoFuture>(call: F, time: &ManualTime) -> (F::Output, Span) {
    let mut call = pin!(call.into_future());
    loop {
        if let Poll::Ready(result) = poll(call.as_mut()) {
            return (result, time.elapsed());
        }
        assert!(time.elapsed() < Span::from_secs(60), "the call ends");
        time.advance(MS(1));
    }
}

#[test]
fn a_fast_answer_needs_no_second_copy() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(policy()?.build()?, time.clone());
    let server = Server::new(&time, &[(99, Ok("first"))]);
    let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
    assert_eq!(finish(call, &time), (Ok("first"), MS(99)));
    assert_eq!(server.launched.get(), 1);
    Ok(())
}

#[test]
fn the_first_success_wins_and_the_loser_is_dropped() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let policy = policy()?.build()?;
    let retrier = Retrier::new(policy, time.clone()).with_ledger(Arc::new(Diary::new(&policy)));
    let server = Server::new(&time, &[(5_000, Ok("first")), (30, Ok("second"))]);
    let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
    assert_eq!(finish(call, &time), (Ok("second"), MS(130)));
    assert_eq!((server.launched.get(), server.alive()), (2, 0));
    let lines = retrier.ledger().take();
    assert_eq!(lines.iter().filter(|line| **line == Line::Granted).count(), 1, "{lines:?}");
    assert!(!lines.contains(&Line::Reported(Report::Failure)));
    Ok(())
}

#[test]
fn a_tenth_for_hedges_is_a_tenth_when_everything_is_slow() -> Result<(), ConfigError> {
    // Azure/azure-sdk-for-rust PR 4896: losers that are free double the load of a slow server.
    let time = ManualTime::default();
    let tenth = WindowPlan::new(Ratio::from_percent(10))?.with_floor(FloorRate::Add(Rate::ZERO));
    let retrier = Retrier::new(policy()?.budget(tenth).build()?, time.clone());
    let mut copies = 0;
    for _ in 0..100 {
        // Both copies take equally long, so the first wins each time.
        let server = Server::new(&time, &[(150, Ok("first")), (150, Ok("second"))]);
        let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
        assert_eq!(finish(call, &time).0, Ok("first"));
        copies += server.launched.get() - 1;
    }
    assert!((5..=10).contains(&copies), "{copies} copies of 100 calls");
    Ok(())
}

#[test]
fn one_failed_copy_does_not_end_the_call() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(policy()?.build()?, time.clone());
    let server = Server::new(&time, &[(200, Ok("first")), (30, Err("reset"))]);
    let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
    assert_eq!(finish(call, &time), (Ok("first"), MS(200)));
    Ok(())
}

#[test]
fn an_empty_budget_means_no_hedge_and_no_failure() -> Result<(), ConfigError> {
    // Azure/azure-sdk-for-rust PR 4896
    let time = ManualTime::default();
    let retrier = Retrier::new(policy()?.budget(BudgetPlan::None).build()?, time.clone());
    let server = Server::new(&time, &[(5_000, Ok("first"))]);
    let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
    assert_eq!(finish(call, &time), (Ok("first"), MS(5_000)));
    Ok(())
}

#[test]
fn copies_and_retries_share_the_attempt_count() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(policy()?.max_attempts(3).build()?, time.clone());
    let server = Server::new(
        &time,
        &[(150, Err("one")), (100, Err("two")), (10, Err("three")), (0, Ok("never"))],
    );
    let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
    let failed = finish(call, &time).0.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::AttemptsExhausted, 3));
    assert_eq!((failed.into_inner(), server.launched.get()), (Some("three"), 3));
    Ok(())
}

#[test]
fn every_copy_has_the_time_limit_of_an_attempt() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let policy = policy()?.attempt_timeout(MS(250)).max_attempts(2).build()?;
    let retrier = Retrier::new(policy, time.clone());
    let server = Server::new(&time, &[(9_000, Ok("late")), (9_000, Ok("late too"))]);
    let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
    let (failed, at) = finish(call, &time);
    assert_eq!(failed.map_err(|failed| failed.stop()), Err(Stop::AttemptsExhausted));
    assert_eq!((at, server.alive()), (MS(350), 0));
    Ok(())
}

#[test]
fn a_call_that_must_not_run_twice_gets_no_copy() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(policy()?.build()?, time.clone());
    let server = Server::new(&time, &[(5_000, Ok("first"))]);
    let call = retrier.retry(|| server.copy()).when(|_| true).not_idempotent().hedged();
    assert_eq!(finish(call, &time), (Ok("first"), MS(5_000)));
    Ok(())
}

#[test]
fn a_measured_delay_follows_the_latencies_seen() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let plan = HedgePlan::quantile(Ratio::from_percent(95), Span::from_secs(10), 2)?;
    let retrier = Retrier::new(policy()?.hedge(plan).build()?, time.clone());
    for _ in 0..50 {
        let server = Server::new(&time, &[(40, Ok("usual"))]);
        let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
        assert_eq!(finish(call, &time).0, Ok("usual"));
    }
    let before = time.elapsed();
    let server = Server::new(&time, &[(9_000, Ok("slow")), (40, Ok("copy"))]);
    let call = retrier.retry(|| server.copy()).when(|_: &&str| true).hedged();
    let (answer, at) = finish(call, &time);
    // p95 is 40 ms, named within an eighth; the copy takes 40 ms more.
    assert_eq!(answer, Ok("copy"));
    assert!((MS(80)..=MS(86)).contains(&(at - before)), "{}", at - before);

    Ok(())
}

#[test]
fn copies_under_way_ran_on_beside_the_attempt_with_fresh_credentials() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(policy()?.build()?, time.clone());
    let server = Server::new(&time, &[(500, Ok("late")), (10, Err("stale")), (50, Ok("fresh"))]);
    let classifier = |_: &&str| Outcome::new(Verdict::Permanent).with_remedy(Remedy::RefreshAuth);
    let mut call =
        pin!(retrier.retry(|| server.copy()).classify(classifier).hedged().into_future());
    for _ in 0..=110 {
        assert!(poll(call.as_mut()).is_pending());
        time.advance(MS(1));
    }
    assert_eq!((server.launched.get(), server.alive()), (3, 1));
    assert_eq!(finish(call, &time).0, Ok("fresh"));
    Ok(())
}
