//! The events that a subscriber of `tracing` receives for a call.
#![cfg(feature = "tracing")]

mod support;

use std::future::{pending, ready};
use std::pin::pin;
use std::task::Poll;

use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::hedge::HedgePlan;
use stagger::{
    Backoff, CallReport, Cancel, ConfigError, Hint, Jitter, Outcome, Policy, PolicyBuilder,
    Retrier, Span, Verdict,
};
use support::{Listener, ManualTime, poll};

type Done = Result<(), ConfigError>;

/// Delays of 1, 2, 4, ... seconds, and no budget in the way.
fn seconds() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?;
    let backoff = backoff.with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

/// A destination with a name, and its time.
struct Place {
    retrier: Retrier<ManualTime>,
    time: ManualTime,
}

fn place(policy: PolicyBuilder) -> Result<Place, ConfigError> {
    let time = ManualTime::default();
    let retrier = Retrier::new(policy.build()?, time.clone()).named("inventory");
    Ok(Place { retrier, time })
}

#[test]
fn a_call_with_two_retries_tells_of_each_and_of_its_end() -> Done {
    let expected = [
        r#"INFO stagger stagger.retry destination="inventory" attempt=1 delay=1.0 verdict="transient""#,
        r#"INFO stagger stagger.retry destination="inventory" attempt=2 delay=2.0 verdict="transient""#,
        r#"INFO stagger stagger.end destination="inventory" stop_reason="succeeded" attempts=3 elapsed=3.0"#,
    ];
    let Place { retrier, time } = place(seconds()?)?;
    let blocking = Listener::hear(|| {
        let mut tries = 0;
        let answer = retrier
            .retry_blocking(|| {
                tries += 1;
                if tries < 3 { Err(()) } else { Ok(()) }
            })
            .when(|_| true)
            .call();
        assert_eq!(answer, Ok(()));
    });
    assert_eq!(blocking, expected);
    let asynchronous = Listener::hear(|| {
        let mut tries = 0;
        let mut call = pin!(
            retrier
                .retry(|| {
                    tries += 1;
                    ready(if tries < 3 { Err(()) } else { Ok(()) })
                })
                .when(|_| true)
                .into_future()
        );
        for wait in [1, 2] {
            assert!(poll(call.as_mut()).is_pending());
            time.advance(Span::from_secs(wait));
        }
        assert!(poll(call.as_mut()).is_ready());
    });
    assert_eq!(asynchronous, expected);
    Ok(())
}

#[test]
fn a_clean_first_try_is_silent_even_where_its_report_is_asked_for() -> Done {
    let breaker = BreakerPlan::builder().build()?;
    let Place { retrier, .. } = place(Policy::builder().breaker(breaker))?;
    let heard = Listener::hear(|| {
        let mut report = CallReport::default();
        let call = retrier.retry_blocking(|| Ok(1)).when(|_: &()| true);
        assert_eq!(call.report(&mut report).call(), Ok(1));
        assert_eq!(retrier.retry_blocking(|| Ok(2)).when(|_: &()| true).call(), Ok(2));
        let mut call = pin!(retrier.retry(|| ready(Ok(3))).when(|_: &()| true).into_future());
        assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(3)));
        let mut call =
            pin!(retrier.retry(|| ready(Ok(4))).when(|_: &()| true).hedged().into_future());
        assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(4)));
    });
    assert_eq!(heard, [""; 0]);
    Ok(())
}

#[test]
fn an_empty_budget_is_a_warning_and_no_retry() -> Done {
    let Place { retrier, .. } = place(seconds()?.budget(BudgetPlan::None))?;
    let heard = Listener::hear(|| {
        assert!(retrier.retry_blocking(|| Err::<(), _>(())).when(|_| true).call().is_err());
    });
    let expected = r#"WARN stagger stagger.end destination="inventory" stop_reason="budget_empty" attempts=1 elapsed=0.0"#;
    assert_eq!(heard, [expected]);
    Ok(())
}

#[test]
fn a_hint_is_told_with_its_retry_and_with_the_end_that_it_caused() -> Done {
    let Place { retrier, .. } = place(seconds()?)?;
    let heard = Listener::hear(|| {
        let mut hints = [7, 3_600].into_iter();
        let classifier = move |_: &()| {
            let hint = Hint::Exactly(Span::from_secs(hints.next().unwrap_or(0)));
            Outcome::new(Verdict::Throttled).with_hint(hint)
        };
        assert!(retrier.retry_blocking(|| Err::<(), _>(())).classify(classifier).call().is_err());
    });
    let expected = [
        r#"INFO stagger stagger.retry destination="inventory" attempt=1 delay=7.0 verdict="throttled" hint=7.0"#,
        r#"WARN stagger stagger.end destination="inventory" stop_reason="hint_too_long" attempts=2 elapsed=7.0 hint=3600.0"#,
    ];
    assert_eq!(heard, expected);
    Ok(())
}

#[test]
fn a_failure_that_no_retry_would_heal_is_no_warning() -> Done {
    let Place { retrier, .. } = place(seconds()?)?;
    let heard = Listener::hear(|| {
        assert!(retrier.retry_blocking(|| Err::<(), _>(())).when(|_| false).call().is_err());
    });
    let expected = r#"DEBUG stagger stagger.end destination="inventory" stop_reason="permanent" attempts=1 elapsed=0.0"#;
    assert_eq!(heard, [expected]);
    Ok(())
}

#[test]
fn a_dropped_call_counts_the_attempt_that_it_was_in_but_none_that_it_never_made() -> Done {
    let Place { retrier, time } = place(seconds()?)?;
    let ended = |attempts, elapsed: &str| {
        format!(
            r#"DEBUG stagger stagger.end destination="inventory" stop_reason="cancelled" attempts={attempts} elapsed={elapsed}"#
        )
    };
    let heard = Listener::hear(|| {
        let mut call =
            Box::pin(retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true).into_future());
        assert!(poll(call.as_mut()).is_pending());
        time.advance(Span::from_secs(5));
        drop(call);
        drop(retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true));
    });
    assert_eq!(heard, [ended(1, "5.0")], "a call that was never polled never began");

    let cancel = Cancel::new();
    cancel.cancel();
    let heard = Listener::hear(|| {
        let call = retrier.retry_blocking(|| Ok(())).when(|_: &()| true);
        assert!(call.cancel(&cancel).call().is_err());
    });
    assert_eq!(heard, [ended(0, "0.0")]);
    Ok(())
}

#[test]
fn a_hedged_call_tells_of_its_copies() -> Done {
    let hedge = HedgePlan::fixed(Span::from_secs(1), 2)?;
    let Place { retrier, time } = place(seconds()?.hedge(hedge))?;
    let heard = Listener::hear(|| {
        let mut copies = 0;
        let mut call = pin!(
            retrier
                .retry(|| {
                    copies += 1;
                    let slow = copies == 1;
                    async move { if slow { pending().await } else { Ok(()) } }
                })
                .when(|_: &()| true)
                .hedged()
                .into_future()
        );
        assert!(poll(call.as_mut()).is_pending());
        time.advance(Span::from_secs(1));
        assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(())));
    });
    let expected = [
        r#"DEBUG stagger stagger.hedge destination="inventory" attempt=2"#,
        r#"INFO stagger stagger.end destination="inventory" stop_reason="succeeded" attempts=2 elapsed=1.0"#,
    ];
    assert_eq!(heard, expected);
    Ok(())
}

#[test]
fn a_destination_without_a_name_is_told_without_one() -> Done {
    let retrier = Retrier::new(seconds()?.max_attempts(1).build()?, ManualTime::default());
    let heard = Listener::hear(|| {
        assert!(retrier.retry_blocking(|| Err::<(), _>(())).when(|_| true).call().is_err());
    });
    let expected =
        r#"WARN stagger stagger.end stop_reason="attempts_exhausted" attempts=1 elapsed=0.0"#;
    assert_eq!(heard, [expected]);
    Ok(())
}
