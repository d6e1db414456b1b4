//! The figures that a recorder of `metrics` receives for a call, and for a ledger.
#![cfg(feature = "metrics")]

mod support;

use std::future::pending;
use std::pin::pin;
use std::task::Poll;

use stagger::adaptive::{AdaptivePlan, AdaptiveReport, Pacing};
use stagger::breaker::BreakerPlan;
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::concurrency::ConcurrencyPlan;
use stagger::engine::{Ledger, LimitPermit};
use stagger::hedge::HedgePlan;
use stagger::rate_limit::RatePlan;
use stagger::{
    Backoff, Clock, ConfigError, Instant, Jitter, Policy, PolicyBuilder, Rate, Retrier, Span,
    observe,
};
use support::{Figures, ManualTime, poll};

type Done = Result<(), ConfigError>;

/// Delays of 1, 2, 4, ... seconds, and no budget in the way.
fn seconds() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?;
    let backoff = backoff.with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

fn inventory(policy: PolicyBuilder) -> Result<Retrier<ManualTime>, ConfigError> {
    Ok(Retrier::new(policy.build()?, ManualTime::default()).named("inventory"))
}

#[test]
fn a_call_with_two_retries_counts_each_and_its_end() -> Done {
    let retrier = inventory(seconds()?)?;
    let heard = Figures::hear(|| {
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
    let expected = [
        "retries{destination=inventory,verdict=transient} + 1",
        "retry.delay{destination=inventory,verdict=transient} <- 1",
        "retries{destination=inventory,verdict=transient} + 1",
        "retry.delay{destination=inventory,verdict=transient} <- 2",
        "stops{destination=inventory,stop_reason=succeeded} + 1",
        "call.attempts{destination=inventory,stop_reason=succeeded} <- 3",
    ];
    assert_eq!(heard, expected);
    Ok(())
}

#[test]
fn a_clean_first_try_touches_no_figure() -> Done {
    let retrier = inventory(Policy::builder())?;
    let heard = Figures::hear(|| {
        assert_eq!(retrier.retry_blocking(|| Ok(1)).when(|_: &()| true).call(), Ok(1));
    });
    assert_eq!(heard, [""; 0]);
    Ok(())
}

#[test]
fn a_budget_refusal_is_a_stop_and_no_retry() -> Done {
    let retrier = Retrier::new(seconds()?.budget(BudgetPlan::None).build()?, ManualTime::default());
    let heard = Figures::hear(|| {
        assert!(retrier.retry_blocking(|| Err::<(), _>(())).when(|_| true).call().is_err());
    });
    let expected =
        ["stops{stop_reason=budget_empty} + 1", "call.attempts{stop_reason=budget_empty} <- 1"];
    assert_eq!(heard, expected, "and no label for a destination without a name");
    Ok(())
}

#[test]
fn a_hedge_is_counted_apart_from_retries() -> Done {
    let hedge = HedgePlan::fixed(Span::from_secs(1), 2)?;
    let time = ManualTime::default();
    let retrier = Retrier::new(seconds()?.hedge(hedge).build()?, time.clone());
    let heard = Figures::hear(|| {
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
        "hedges{} + 1",
        "stops{stop_reason=succeeded} + 1",
        "call.attempts{stop_reason=succeeded} <- 2",
    ];
    assert_eq!(heard, expected);
    Ok(())
}

#[test]
fn a_ledger_reports_its_budget_and_the_state_of_its_breaker() -> Done {
    let breaker = BreakerPlan::builder().consecutive(2).build()?;
    let policy = seconds()?.max_attempts(2).budget(TokenPlan::aws_2_0()).breaker(breaker);
    let time = ManualTime::default();
    let retrier = Retrier::new(policy.build()?, time.clone());
    for _ in 0..2 {
        assert!(retrier.retry_blocking(|| Err::<(), _>(())).when(|_| true).call().is_err());
    }
    let stats = retrier.ledger().stats(time.now());
    let heard = Figures::hear(|| observe::report_ledger("inventory", &stats));
    let expected = [
        // 500 tokens less the retry's 5; a retry costs 5.
        "budget.level{destination=inventory} = 99",
        "budget.grants{destination=inventory} = 1",
        "budget.refusals{destination=inventory} = 0",
        "budget.refunds{destination=inventory} = 0",
        "breaker.state{destination=inventory,breaker.state=closed} = 0",
        "breaker.state{destination=inventory,breaker.state=open} = 1",
        "breaker.state{destination=inventory,breaker.state=half_open} = 0",
        "breaker.state{destination=inventory,breaker.state=ramp} = 0",
        "breaker.refusals{destination=inventory} = 1",
        "breaker.openings{destination=inventory} = 1",
    ];
    assert_eq!(heard, expected);
    Ok(())
}

#[test]
fn an_unlimited_budget_without_a_breaker_does_not_look_like_a_full_one() -> Done {
    let retrier = inventory(seconds()?)?;
    let stats = retrier.ledger().stats(ManualTime::default().now());
    let heard = Figures::hear(|| observe::report_ledger("inventory", &stats));
    assert_eq!(heard.len(), 4, "nothing of a breaker: {heard:?}");
    assert_eq!(heard[0], "budget.level{destination=inventory} = inf");
    Ok(())
}

#[test]
fn an_adaptive_limit_reports_what_it_held_back() -> Done {
    let retrier = inventory(seconds()?.adaptive(AdaptivePlan::Cubic))?;
    let mut ledger = &**retrier.ledger();
    let at = Instant::from_nanos(5_000_000_000);
    assert_eq!(ledger.pace(at), Pacing::After(Span::ZERO));
    ledger.on_paced(at, AdaptiveReport::Throttled);
    assert_ne!(ledger.pace(at), Pacing::After(Span::ZERO));
    let heard = Figures::hear(|| observe::report_ledger("inventory", &ledger.stats(at)));
    assert!(heard.contains(&"adaptive.waits{destination=inventory} = 1".to_owned()), "{heard:?}");
    assert!(heard.contains(&"adaptive.refusals{destination=inventory} = 0".to_owned()));
    Ok(())
}

#[test]
fn limits_report_what_they_held_back() -> Done {
    let places = ConcurrencyPlan::new(1)?.with_queue(1, Span::from_secs(1))?;
    let rate = RatePlan::new(Rate::per_second(1), 3)?.with_max_wait(Span::ZERO);
    let retrier = inventory(seconds()?.concurrency_limit(places).rate_limit(rate))?;
    let mut ledger = &**retrier.ledger();
    let at = Instant::from_nanos(5_000_000_000);
    for _ in 0..4 {
        let _ = ledger.enter(at, &mut LimitPermit::default(), Span::from_secs(1));
    }
    let heard = Figures::hear(|| observe::report_ledger("inventory", &ledger.stats(at)));
    let figures = ["in_flight", "queued", "waits", "refusals"];
    let places = figures.map(|it| format!("concurrency_limit.{it}{{destination=inventory}} = 1"));
    let waits = "rate_limit.waits{destination=inventory} = 0".to_owned();
    let refusals = "rate_limit.refusals{destination=inventory} = 1".to_owned();
    for line in places.into_iter().chain([waits, refusals]) {
        assert!(heard.contains(&line), "{line}: {heard:?}");
    }
    Ok(())
}

#[test]
fn every_metric_is_described_once() {
    let mut heard = Figures::hear(observe::describe_metrics);
    assert!(heard.contains(&"histogram stagger.retry.delay in Some(Seconds)".to_owned()));
    let metrics = if cfg!(feature = "tonic") { 20 + 4 } else { 20 };
    assert_eq!(heard.len(), metrics);
    heard.sort();
    heard.dedup();
    assert_eq!(heard.len(), metrics);
}
