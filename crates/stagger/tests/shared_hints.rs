//! Hints for a whole destination, in every kind of call, in time that tests move.
#![cfg(all(feature = "http", feature = "tokio", feature = "tower"))]

mod support;

use std::convert::Infallible;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use stagger::budget::BudgetPlan;
use stagger::http::Replay;
use stagger::tower::StaggerLayer;
use stagger::{
    Clock, Hint, HintRule, HintScope, Outcome, Policy, PolicyBuilder, Retrier, Sleep, Span, Stop,
    TokioTime, Verdict,
};
use support::ManualTime;
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt, service_fn};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

fn shared() -> PolicyBuilder {
    let hints = HintRule::default().with_scope(HintScope::Destination);
    Policy::builder().hints(hints).budget(BudgetPlan::Unlimited).max_attempts(1)
}

/// The server limits us, and asks to stay away for 10 s.
fn busy(_: &()) -> Outcome {
    Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(Span::from_secs(10)))
}

/// Within the hint of 10 s and its spread by half.
fn is_held(waited: Span) -> bool {
    waited >= Span::from_secs(10) && waited <= Span::from_secs(15)
}

/// Eight calls at once, all of which are told to stay away after 50 ms.
async fn eight_hints(retrier: &Retrier<TokioTime>) {
    let mut calls = JoinSet::new();
    for _ in 0..8 {
        let retrier = retrier.clone();
        calls.spawn(async move {
            let refused = async || {
                TokioTime.sleep(Span::from_millis(50)).await;
                Err::<(), _>(())
            };
            retrier.retry(refused).classify(busy).await.is_err()
        });
    }
    assert_eq!(calls.join_all().await, [true; 8]);
}

#[tokio::test(start_paused = true)]
async fn a_ninth_call_started_at_once_after_eight_hints() -> Done {
    for hedged in [false, true] {
        let retrier = Retrier::new(shared().build()?, TokioTime);
        eight_hints(&retrier).await;
        let begun = TokioTime.now();
        let started = async || Ok::<_, ()>(TokioTime.now() - begun);
        let call = retrier.retry(started).classify(busy);
        let waited = if hedged { call.hedged().await } else { call.await };
        let waited = waited.map_err(|_| "it is only held")?;
        assert!(is_held(waited), "{waited}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn hints_hold_no_other_call_unless_the_policy_says_so() -> Done {
    let retrier = Retrier::new(shared().hints(HintRule::default()).build()?, TokioTime);
    eight_hints(&retrier).await;
    let begun = TokioTime.now();
    let at = retrier.retry(async || Ok::<_, ()>(TokioTime.now())).classify(busy).await;
    assert_eq!(at.map_err(|_| "it was not held")?, begun);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_without_time_for_the_pause_waited_for_nothing() -> Done {
    let retrier = Retrier::new(shared().deadline(Span::from_secs(5)).build()?, TokioTime);
    eight_hints(&retrier).await;
    let begun = TokioTime.now();
    let refused = retrier.retry(async || Ok::<_, ()>(())).classify(busy).await.unwrap_err();
    assert_eq!((refused.stop(), refused.attempts()), (Stop::HintPastDeadline, 0));
    assert!(refused.hint().is_some_and(is_held), "{refused:?}");
    assert_eq!(TokioTime.now(), begun);
    Ok(())
}

#[test]
fn a_blocking_call_started_at_once_after_the_hint_of_another() -> Done {
    let time = ManualTime::default();
    let retrier = Retrier::new(shared().build()?, time.clone());
    assert!(retrier.retry_blocking(|| Err::<(), _>(())).classify(busy).call().is_err());
    let waited = retrier.retry_blocking(|| Ok::<_, ()>(time.elapsed())).classify(busy).call();
    let waited = waited.map_err(|_| "it is only held")?;
    assert!(is_held(waited), "{waited}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_hint_of_one_host_held_the_calls_to_another() -> Done {
    let begun = TokioTime.now();
    let seen = Arc::new(Mutex::new(0));
    let server = service_fn(move |_: Request<Replay<Full<Bytes>>>| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen += 1;
        let reply = match *seen {
            1 => Response::builder().status(429).header("retry-after", "10"),
            _ => Response::builder().header("waited", (TokioTime.now() - begun).as_nanos()),
        };
        std::future::ready(Ok::<_, Infallible>(
            reply.body(Full::<Bytes>::default()).expect("constants"),
        ))
    });
    let service = StaggerLayer::http(Retrier::new(shared().build()?, TokioTime)).layer(server);
    let mut waits = Vec::new();
    for url in ["http://a.example/", "http://b.example/", "http://a.example/again"] {
        let request = Request::get(url).body(Full::default())?;
        let reply = service.clone().oneshot(request).await?;
        let waited = reply.headers().get("waited").map(|value| {
            value.to_str()?.parse::<u64>().map_err(Box::<dyn StdError + Send + Sync>::from)
        });
        waits.push(waited.transpose()?.map(Span::from_nanos));
    }
    assert_eq!((waits[0], waits[1]), (None, Some(Span::ZERO)));
    assert!(waits[2].is_some_and(is_held), "{waits:?}");
    Ok(())
}
