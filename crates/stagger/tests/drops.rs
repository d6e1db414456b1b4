//! A call dropped at any await point gives back the grant that no attempt has followed, and ends there.

mod support;

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use stagger::breaker::{BreakerPlan, Report};
use stagger::engine::budget::Settled;
use stagger::hedge::HedgePlan;
use stagger::{Backoff, ConfigError, Jitter, Policy, PolicyBuilder, Retrier, Span};
use support::{Diary, Line, ManualTime, poll};

const SECOND: Span = Span::from_secs(1);

fn policy() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::constant(SECOND).with_jitter(Jitter::None)?;
    let breaker = BreakerPlan::builder().build()?;
    Ok(Policy::builder().backoff(backoff).breaker(breaker))
}

fn retrier(policy: PolicyBuilder) -> Result<(Retrier<ManualTime, Diary>, ManualTime), ConfigError> {
    let (policy, time) = (policy.build()?, ManualTime::default());
    Ok((Retrier::new(policy, time.clone()).with_ledger(Arc::new(Diary::new(&policy))), time))
}

#[test]
fn a_success_tells_the_ledger_the_same_by_the_short_way_and_by_the_long() -> Result<(), ConfigError>
{
    let (retrier, _time) = retrier(policy()?)?;
    let (mut seen, mut reports) = (Vec::new(), [None, Some(stagger::CallReport::default())]);
    for report in &mut reports {
        let mut run = retrier.retry(async || Ok(())).when(|_: &()| true);
        if let Some(report) = report {
            run = run.report(report);
        }
        let mut call = pin!(run.into_future());
        assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(())));
        seen.push(retrier.ledger().take());
    }
    let first_try = Line::Settled(Settled::FirstTry);
    let expected = [Line::Admitted, Line::First, Line::Reported(Report::Success), first_try];
    assert_eq!(seen, [expected, expected]);
    Ok(())
}

/// Fails at its second poll.
fn fails() -> impl Future<Output = Result<(), ()>> {
    let mut polled = false;
    poll_fn(
        move |_| {
            if std::mem::replace(&mut polled, true) { Poll::Ready(Err(())) } else { Poll::Pending }
        },
    )
}

#[test]
fn before_the_first_poll_nothing_has_happened() -> Result<(), ConfigError> {
    let (retrier, time) = retrier(policy()?)?;
    drop(retrier.retry(fails).when(|_: &()| true));
    assert_eq!((retrier.ledger().take(), time.reads()), (vec![], 0));
    Ok(())
}

#[test]
fn during_an_attempt_the_breaker_hears_nothing_of_it() -> Result<(), ConfigError> {
    let (retrier, _time) = retrier(policy()?)?;
    {
        let mut call =
            pin!(retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true).into_future());
        assert!(poll(call.as_mut()).is_pending());
    }
    let dropped = [Line::Admitted, Line::First, Line::Reported(Report::Neutral)];
    assert_eq!(retrier.ledger().take(), dropped);
    Ok(())
}

#[test]
fn during_a_wait_its_grant_goes_back() -> Result<(), ConfigError> {
    let (retrier, _time) = retrier(policy()?)?;
    {
        let mut call = pin!(retrier.retry(fails).when(|_: &()| true).into_future());
        assert!(poll(call.as_mut()).is_pending());
        assert!(poll(call.as_mut()).is_pending());
        let failed =
            [Line::Reported(Report::Failure), Line::Settled(Settled::Failed), Line::Granted];
        assert_eq!(retrier.ledger().take()[2..], failed);
    }
    assert_eq!(retrier.ledger().take(), [Line::Refunded]);
    Ok(())
}

#[test]
fn a_retry_dropped_on_the_wire_was_free() -> Result<(), ConfigError> {
    let (retrier, time) = retrier(policy()?)?;
    {
        let mut call = pin!(retrier.retry(fails).when(|_: &()| true).into_future());
        assert!(poll(call.as_mut()).is_pending());
        assert!(poll(call.as_mut()).is_pending());
        time.advance(SECOND);
        let _seen = retrier.ledger().take();
        assert!(poll(call.as_mut()).is_pending());
        assert_eq!(retrier.ledger().take(), [Line::Admitted]);
    }
    assert_eq!(retrier.ledger().take(), [Line::Reported(Report::Neutral)]);
    Ok(())
}

#[test]
fn a_panic_in_an_attempt_gives_its_permits_back() -> Result<(), ConfigError> {
    // failsafe-lib/failsafe #393, anza-xyz/agave PR 10478
    let (retrier, _time) = retrier(policy()?)?;
    let call = || {
        let mut call = pin!(
            retrier
                .retry(async || -> Result<(), ()> { panic!("as tests do") })
                .when(|_: &()| true)
                .into_future()
        );
        let _never = poll(call.as_mut());
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    assert_eq!(retrier.ledger().take().last(), Some(&Line::Reported(Report::Neutral)));
    // The mark of a running attempt is gone too: the next call retries.
    let mut call = pin!(retrier.retry(async || Err::<(), _>(())).when(|_| true).into_future());
    assert!(poll(call.as_mut()).is_pending(), "it waits for its second attempt");
    Ok(())
}

#[test]
fn the_copies_of_a_dropped_hedged_call_were_free() -> Result<(), ConfigError> {
    let (retrier, time) = retrier(policy()?.hedge(HedgePlan::fixed(SECOND, 2)?))?;
    {
        let mut call = pin!(
            retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true).hedged().into_future()
        );
        assert!(poll(call.as_mut()).is_pending());
        time.advance(SECOND);
        assert!(poll(call.as_mut()).is_pending());
        let launched = [Line::Admitted, Line::First, Line::Granted, Line::Admitted];
        assert_eq!(retrier.ledger().take(), launched);
    }
    let neutral = Line::Reported(Report::Neutral);
    assert_eq!(retrier.ledger().take(), [neutral, neutral]);
    Ok(())
}
