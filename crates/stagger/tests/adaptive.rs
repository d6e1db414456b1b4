//! Adaptive limits under the async driver in paused time: refusals, turns, and tokens given back.
#![cfg(feature = "tokio")]

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use stagger::adaptive::{AdaptivePlan, AdaptiveReport, ClientThrottlePlan, Pacing};
use stagger::breaker::Report;
use stagger::budget::BudgetPlan;
use stagger::engine::adaptive::AdaptiveLimit;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::{
    Backoff, CallReport, Clock, ConfigError, Entropy, Instant, LocalLedger, Outcome, Policy,
    PolicyBuilder, Ratio, Retrier, Span, Stop, TokioTime, Verdict,
};

type Done = Result<(), Box<dyn std::error::Error>>;

/// The words that a throttle draws: an even spread over the range, the same in every run.
fn word(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A ledger whose throttle draws [`word`] after [`word`].
struct ScriptedLimit {
    local: LocalLedger,
    limit: Mutex<AdaptiveLimit>,
    drawn: AtomicU64,
}

impl Ledger for &ScriptedLimit {
    fn on_first(&mut self, now: Instant) {
        (&self.local).on_first(now);
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        (&self.local).ask(now, charge)
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        (&self.local).refund(now, paid);
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        (&self.local).on_settled(now, settled);
    }

    fn admit(&mut self, now: Instant) -> Admission {
        (&self.local).admit(now)
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        (&self.local).report(now, ticket, report, entropy);
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        let mut draw = || word(self.drawn.fetch_add(1, Ordering::Relaxed));
        self.limit.lock().expect("no test panics in it").ask(now, &mut draw)
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        self.limit.lock().expect("no test panics in it").settle(now, report);
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        (&self.local).enter(now, permit, longest)
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        (&self.local).leave(now, permit);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        (&self.local).watch(permit, waker)
    }
}

/// The formula of the SRE book, in floats and with every request kept.
struct BookFormula {
    multiplier: f64,
    requests: f64,
    accepts: f64,
    drawn: u64,
}

impl BookFormula {
    fn refuses(&mut self) -> bool {
        let share = (self.requests - self.multiplier * self.accepts) / (self.requests + 1.0);
        self.requests += 1.0;
        #[expect(clippy::cast_precision_loss, reason = "no share is that close to a word")]
        let drawn = word(self.drawn) as f64 / 2_f64.powi(64);
        self.drawn += 1;
        drawn < share
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttle_refused_another_share_than_the_formula_says() -> Done {
    for percent in [100, 110, 200, 300] {
        let plan = ClientThrottlePlan::new(Ratio::from_percent(percent), Span::from_secs(600))?;
        let policy = single().max_attempts(2).adaptive(plan).build()?;
        let ledger = Arc::new(ScriptedLimit {
            local: LocalLedger::new(&policy),
            limit: Mutex::new(AdaptiveLimit::new(plan.into())),
            drawn: AtomicU64::new(0),
        });
        let retrier = Retrier::new(policy, TokioTime).with_ledger(ledger);
        let multiplier = f64::from(percent) / 100.0;
        let mut model = BookFormula { multiplier, requests: 0.0, accepts: 0.0, drawn: 0 };
        let mut refused = [0, 0];
        for call in 0..400_u32 {
            // Well, then down, then well again.
            let fails = (100..250).contains(&call);
            let mut attempts = 0;
            let run = retrier.retry(|| {
                attempts += 1;
                std::future::ready(if fails { Err("down") } else { Ok(()) })
            });
            let end = run.when(|_| true).await;
            let mut expected = (0, Err(Stop::AttemptsExhausted));
            while expected.0 < 2 {
                if model.refuses() {
                    expected.1 = Err(Stop::Throttled);
                    refused[usize::from(expected.0 > 0)] += 1;
                    break;
                }
                expected.0 += 1;
                if !fails {
                    model.accepts += 1.0;
                    expected.1 = Ok(());
                    break;
                }
            }
            assert_eq!((attempts, end.map_err(|end| end.stop())), expected, "{percent}: {call}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(refused[0] > 0 && refused[1] > 0, "first attempts and retries: {refused:?}");
    }
    Ok(())
}

/// One attempt a call, or two at once, and no budget in the way.
fn single() -> PolicyBuilder {
    let backoff = Backoff::constant(Span::from_millis(1));
    Policy::builder().backoff(backoff).max_attempts(1).budget(BudgetPlan::Unlimited)
}

/// A retrier whose destination has just throttled its first call: the next turn is 2 s away.
async fn throttled(policy: PolicyBuilder) -> Result<Retrier<TokioTime>, ConfigError> {
    let retrier = Retrier::new(policy.adaptive(AdaptivePlan::Cubic).build()?, TokioTime);
    let first = retrier.retry(async || Err::<(), _>("busy"));
    let failed = first.classify(|_| Outcome::new(Verdict::Throttled)).await;
    assert_eq!(failed.map_err(|end| end.attempts()), Err(1));
    Ok(retrier)
}

/// A call, and the time that passed before its attempt.
async fn turn(retrier: &Retrier<TokioTime>) -> (Option<Span>, Option<Stop>, Span) {
    let (begun, mut waited, mut report) = (TokioTime.now(), None, CallReport::default());
    let call = retrier.retry(|| {
        waited = Some(TokioTime.now() - begun);
        std::future::ready(Ok::<_, ()>(()))
    });
    let end = call.when(|_| true).report(&mut report).await;
    assert_eq!(end.is_ok(), waited.is_some());
    (waited, report.stop(), report.elapsed())
}

const TURN: Span = Span::from_secs(2);

#[tokio::test(start_paused = true)]
async fn a_first_attempt_did_not_wait_for_its_turn() -> Done {
    let retrier = throttled(single()).await?;
    assert_eq!(turn(&retrier).await, (Some(TURN), Some(Stop::Succeeded), TURN));
    let stats = retrier.ledger().stats(TokioTime.now()).adaptive.ok_or("no limit")?;
    assert_eq!((stats.waits, stats.refusals), (1, 0));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_kept_its_turn() -> Done {
    let retrier = throttled(single()).await?;
    for _ in 0..3 {
        let dropped = tokio::time::timeout(Duration::ZERO, turn(&retrier)).await;
        assert!(dropped.is_err(), "it waits");
    }
    assert_eq!(turn(&retrier).await.0, Some(TURN));
    // One that is dropped while its attempt is under way has used its turn.
    let retrier = throttled(single()).await?;
    let call = retrier.retry(pending::<Result<(), ()>>).when(|_: &()| true);
    let dropped = tokio::time::timeout(Duration::from_millis(2_001), call).await;
    assert!(dropped.is_err());
    assert!(turn(&retrier).await.0.is_some_and(|waited| waited > Span::from_millis(1_900)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_waited_for_a_turn_after_its_deadline() -> Done {
    let hurried = throttled(single().deadline(Span::from_secs(1))).await?;
    for _ in 0..3 {
        assert_eq!(turn(&hurried).await, (None, Some(Stop::Throttled), Span::ZERO));
    }
    // Those turns were given back, and a wait counts against the deadline of the call.
    let patient = single().adaptive(AdaptivePlan::Cubic).deadline(Span::from_secs(3)).build()?;
    let patient = Retrier::new(patient, TokioTime).with_ledger(Arc::clone(hurried.ledger()));
    let mut left = None;
    let call = patient
        .retry_with(|attempt| {
            left = attempt.remaining;
            async { Ok(()) }
        })
        .when(|_: &()| true);
    assert!(call.await.is_ok());
    assert_eq!(left, Some(Span::from_secs(1)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_retry_did_not_wait_for_its_turn() -> Done {
    let policy = single().max_attempts(2).adaptive(AdaptivePlan::Cubic).build()?;
    let retrier = Retrier::new(policy, TokioTime);
    let (begun, mut starts) = (TokioTime.now(), Vec::new());
    let call = retrier.retry(|| {
        starts.push(TokioTime.now() - begun);
        std::future::ready(Err::<(), _>(()))
    });
    let end = call.classify(|()| Outcome::new(Verdict::Throttled)).await;
    assert_eq!(end.map_err(|end| end.stop()), Err(Stop::AttemptsExhausted));
    assert_eq!(starts.len(), 2);
    assert!(starts[1] >= TURN, "{starts:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_refused_copy_of_a_hedged_call_held_a_turn() -> Done {
    let hedge = stagger::hedge::HedgePlan::fixed(Span::from_millis(10), 2)?;
    let policy = single().max_attempts(3).hedge(hedge).adaptive(AdaptivePlan::Cubic).build()?;
    let single = throttled(single()).await?;
    let retrier = Retrier::new(policy, TokioTime).with_ledger(Arc::clone(single.ledger()));
    let slow = retrier
        .retry(|| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(1)
        })
        .when(|_: &()| true)
        .hedged();
    assert_eq!(slow.await, Ok(1));
    let stats = retrier.ledger().stats(TokioTime.now()).adaptive.ok_or("no limit")?;
    assert_eq!(stats.waits, 2, "the first attempt, and the copy that was not made");
    assert!(
        turn(&single).await.0.is_some_and(|waited| waited < TURN),
        "the copy gave its turn back"
    );
    Ok(())
}
