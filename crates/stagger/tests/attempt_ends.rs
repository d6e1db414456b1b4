//! Every driver reports the same attempts to its classifier.

mod support;

use std::future::{pending, ready};
use std::pin::pin;

use stagger::budget::BudgetPlan;
use stagger::hedge::HedgePlan;
use stagger::{
    AttemptEnd, Backoff, CallReport, Classifier, ConfigError, Jitter, NextStep, Outcome, Policy,
    PolicyBuilder, Retrier, Span, Stop, Verdict,
};
use support::{ManualTime, poll};

const MS: fn(u64) -> Span = Span::from_millis;

/// Two attempts, 7 ms apart.
fn policy() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::constant(MS(7)).with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).max_attempts(2).budget(BudgetPlan::Unlimited))
}

/// One attempt as it was told: number, result, verdict, next step, and when.
type Told = (u32, Option<Result<(), u8>>, Verdict, NextStep, Span);

struct Listening<'a>(&'a mut Vec<Told>);

impl Classifier<(), u8> for Listening<'_> {
    fn classify(&mut self, result: &Result<(), u8>) -> Outcome {
        Outcome::new(if result.is_ok() { Verdict::Ok } else { Verdict::Transient })
    }

    fn on_attempt(&mut self, attempt: &AttemptEnd<'_, (), u8>) {
        let AttemptEnd { number, at, result, outcome, next, .. } = *attempt;
        self.0.push((number, result.copied(), outcome.verdict, next, at));
    }
}

#[test]
fn an_attempt_is_told_before_its_delay() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(policy()?.build()?, time.clone());
    let mut told = Vec::new();
    {
        let mut call =
            pin!(retrier.retry(|| ready(Err(5))).classified_by(Listening(&mut told)).into_future());
        assert!(poll(call.as_mut()).is_pending(), "it waits");
    }
    let first = (1, Some(Err(5)), Verdict::Transient, NextStep::Retry(MS(7)), Span::ZERO);
    assert_eq!(told, [first]);
    Ok(())
}

#[test]
fn the_last_attempt_is_told_with_the_reason_why() -> Result<(), ConfigError> {
    let retrier = Retrier::new(policy()?.build()?, ManualTime::default());
    let mut told = Vec::new();
    let failed =
        retrier.retry_blocking(|| Err::<(), _>(5)).classified_by(Listening(&mut told)).call();
    assert!(failed.is_err());
    let sequels: Vec<_> = told.iter().map(|told| (told.0, told.3, told.4)).collect();
    let last = NextStep::Stop(Stop::AttemptsExhausted);
    assert_eq!(sequels, [(1, NextStep::Retry(MS(7)), MS(0)), (2, last, MS(7))]);
    Ok(())
}

#[test]
fn a_success_is_told_where_somebody_asks() -> Result<(), ConfigError> {
    let retrier = Retrier::new(policy()?.build()?, ManualTime::default());
    for (asked, count) in [(false, 0), (true, 1)] {
        let (mut told, mut report) = (Vec::new(), CallReport::default());
        let call = retrier.retry_blocking(|| Ok(())).classified_by(Listening(&mut told));
        let call = if asked { call.report(&mut report) } else { call };
        assert_eq!(call.call(), Ok(()));
        assert_eq!(told.len(), count);
        assert!(told.iter().all(|told| told.3 == NextStep::Stop(Stop::Succeeded)), "{told:?}");
    }
    Ok(())
}

#[test]
fn an_attempt_out_of_time_is_told_without_result() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let policy = policy()?.max_attempts(1).attempt_timeout(MS(100)).build()?;
    let retrier = Retrier::new(policy, time.clone());
    let mut told = Vec::new();
    {
        let call = retrier.retry(pending::<Result<(), u8>>);
        let mut call = pin!(call.classified_by(Listening(&mut told)).into_future());
        assert!(poll(call.as_mut()).is_pending());
        time.advance(MS(100));
        assert!(poll(call.as_mut()).is_ready());
    }
    let last = NextStep::Stop(Stop::AttemptsExhausted);
    assert_eq!(told, [(1, None, Verdict::Transient, last, MS(100))]);
    Ok(())
}

#[test]
fn a_failed_copy_is_told_while_the_other_runs() -> Result<(), ConfigError> {
    let time = ManualTime::default();
    let policy = policy()?.hedge(HedgePlan::fixed(MS(100), 2)?).build()?;
    let retrier = Retrier::new(policy, time.clone());
    let mut told = Vec::new();
    {
        let call = retrier.retry_with(async |attempt| match attempt.number {
            1 => pending().await,
            _ => Err(9),
        });
        let mut call = pin!(call.classified_by(Listening(&mut told)).hedged().into_future());
        assert!(poll(call.as_mut()).is_pending());
        time.advance(MS(100));
        assert!(poll(call.as_mut()).is_pending());
    }
    assert_eq!(told, [(2, Some(Err(9)), Verdict::Transient, NextStep::Copies, MS(100))]);
    Ok(())
}
