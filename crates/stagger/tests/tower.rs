//! Calls through tower services, in tokio's paused time and in a test's own.
#![cfg(all(feature = "tokio", feature = "tower"))]

mod support;

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, Pending, Ready, pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready as ready_or_return};
use std::time::Duration;

use stagger::breaker::{BreakerPlan, Report};
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::engine::budget::Settled;
use stagger::tower::{ServiceError, StaggerLayer};
use stagger::{
    Backoff, Cause, Clock, ConfigError, Instant, Jitter, Policy, PolicyBuilder, Retrier, Span,
    Stop, TokioTime,
};
use support::{Diary, Line, ManualTime, poll};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

/// Delays of 1, 2, 4, ... seconds, and no budget in the way.
fn seconds() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?;
    let backoff = backoff.with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

fn retrier(policy: PolicyBuilder) -> Result<Retrier<TokioTime>, ConfigError> {
    Ok(Retrier::new(policy.build()?, TokioTime))
}

#[derive(Debug, PartialEq, Eq)]
struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("busy")
    }
}

impl StdError for Busy {}

fn always(_: &Busy) -> bool {
    true
}

/// The starts of attempts, in milliseconds. Clones are one log.
#[derive(Clone, Debug)]
struct Log {
    begun: Instant,
    at: Arc<Mutex<Vec<u64>>>,
}

impl Log {
    fn new() -> Self {
        Self { begun: TokioTime.now(), at: Arc::default() }
    }

    /// Notes an attempt, and says how many there were before it.
    fn note(&self) -> usize {
        let mut at = self.at.lock().expect("no test panics while it writes");
        at.push(self.elapsed());
        at.len() - 1
    }

    fn elapsed(&self) -> u64 {
        (TokioTime.now() - self.begun).as_nanos() / 1_000_000
    }

    fn at(&self) -> Vec<u64> {
        self.at.lock().expect("no test panics while it writes").clone()
    }
}

/// A service that fails `failures` times and then answers with its request.
fn flaky(
    log: &Log,
    failures: usize,
) -> impl Service<u32, Response = u32, Error = Busy, Future = Ready<Result<u32, Busy>>> + Clone + use<>
{
    let log = log.clone();
    service_fn(move |request| ready(if log.note() < failures { Err(Busy) } else { Ok(request) }))
}

/// A service that never answers.
fn hanging(
    log: &Log,
) -> impl Service<u32, Response = u32, Error = Busy, Future = Pending<Result<u32, Busy>>> + Clone + use<>
{
    let log = log.clone();
    service_fn(move |_| {
        log.note();
        pending()
    })
}

fn stop(result: Result<u32, ServiceError>) -> Option<Stop> {
    result.err().and_then(|failed| failed.end().map(stagger::Error::stop))
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_again_until_it_succeeds() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?)?).when(always);
    let mut service = layer.layer(flaky(&log, 2));
    assert_eq!(service.ready().await?.call(7).await?, 7);
    assert_eq!(log.at(), [0, 1_000, 3_000]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_last_error_comes_back_unchanged_with_the_reason() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?.max_attempts(2))?).when(always);
    let failed = layer.layer(flaky(&log, 9)).oneshot(7).await.unwrap_err();
    let end = failed.end().expect("a call was begun");
    assert_eq!((end.stop(), end.attempts()), (Stop::AttemptsExhausted, 2));
    assert_eq!(failed.to_string(), "attempts exhausted after 2 attempts in 1s");
    assert_eq!(failed.source().map(ToString::to_string).as_deref(), Some("busy"));
    let inner = failed.into_inner().expect("an attempt failed with an error");
    assert_eq!(inner.downcast_ref(), Some(&Busy));
    Ok(())
}

/// A service that takes five seconds to get ready again after each call; `spent` after the first.
#[derive(Debug)]
struct Slow {
    log: Log,
    rest: Option<Pin<Box<tokio::time::Sleep>>>,
    ready: bool,
    spent: Option<u8>,
}

impl Slow {
    fn new(log: &Log) -> Self {
        Self { log: log.clone(), rest: None, ready: false, spent: None }
    }
}

/// A clone is not ready because the original is.
impl Clone for Slow {
    fn clone(&self) -> Self {
        Self { spent: self.spent, ..Self::new(&self.log) }
    }
}

impl Service<u32> for Slow {
    type Response = u32;
    type Error = Busy;
    type Future = Ready<Result<u32, Busy>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Busy>> {
        if self.spent == Some(0) {
            return Poll::Ready(Err(Busy));
        }
        if let Some(rest) = &mut self.rest {
            ready_or_return!(rest.as_mut().poll(context));
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u32) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "a service was called before it was ready");
        self.spent = self.spent.map(|calls| calls - 1);
        self.rest = Some(Box::pin(tokio::time::sleep(Duration::from_secs(5))));
        self.log.note();
        ready(Err(Busy))
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_is_not_called_before_it_is_ready() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?)?).when(always);
    let mut service = layer.layer(Slow::new(&log));
    let failed = service.ready().await?.call(7).await;
    assert_eq!(stop(failed), Some(Stop::AttemptsExhausted));
    assert_eq!(log.at(), [0, 5_000, 10_000]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_does_not_wait_for_its_service_beyond_its_limit() -> Done {
    let log = Log::new();
    let policy = seconds()?.attempt_timeout(Span::from_secs(2)).max_attempts(2);
    let layer = StaggerLayer::new(retrier(policy)?).when(always);
    let failed = layer.layer(Slow::new(&log)).oneshot(7).await.unwrap_err();
    let end = failed.end().expect("a call was begun");
    assert_eq!((end.attempts(), end.elapsed()), (2, Span::from_secs(3)));
    assert_eq!(end.history().last().map(|last| last.cause), Some(Cause::Timeout));
    assert_eq!(log.at(), [0], "the second attempt never reached the service");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_to_get_ready_ends_the_call() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?)?).when(always);
    let slow = |calls| Slow { spent: Some(calls), ..Slow::new(&log) };
    let failed = layer.layer(slow(0)).oneshot(7).await.unwrap_err();
    assert!(failed.end().is_none(), "no call was begun");
    assert!(failed.into_inner().is_some_and(|error| error.is::<Busy>()));
    let failed = layer.layer(slow(1)).oneshot(7).await;
    assert_eq!(stop(failed), Some(Stop::Permanent));
    assert_eq!(log.at(), [0]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn clones_do_not_each_have_a_budget() -> Done {
    let log = Log::new();
    let policy = seconds()?.budget(TokenPlan::new(3, 1)?);
    let service = StaggerLayer::new(retrier(policy)?).when(always).layer(flaky(&log, usize::MAX));
    let mut stops = Vec::new();
    for _ in 0..3 {
        stops.push(stop(service.clone().oneshot(7).await));
    }
    let (exhausted, empty) = (Some(Stop::AttemptsExhausted), Some(Stop::BudgetEmpty));
    assert_eq!(stops, [exhausted, empty, empty]);
    assert_eq!(log.at().len(), 3 + 3, "three first attempts, and the three retries of the budget");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_hanging_service_ends_at_the_deadline() -> Done {
    let log = Log::new();
    let policy = seconds()?.deadline(Span::from_secs(5));
    let layer = StaggerLayer::new(retrier(policy)?).when(always);
    let failed = layer.layer(hanging(&log)).oneshot(7).await.unwrap_err();
    assert_eq!(failed.end().map(stagger::Error::stop), Some(Stop::DeadlineExceeded));
    assert!(failed.get_ref().is_none(), "the service gave no error");
    assert_eq!((log.at(), log.elapsed()), (vec![0], 5_000));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_hanging_attempt_ends_at_its_limit() -> Done {
    let log = Log::new();
    let policy = seconds()?.attempt_timeout(Span::from_secs(2));
    let layer = StaggerLayer::new(retrier(policy)?).when(always);
    assert_eq!(stop(layer.layer(hanging(&log)).oneshot(7).await), Some(Stop::AttemptsExhausted));
    assert_eq!((log.at(), log.elapsed()), (vec![0, 3_000, 7_000], 9_000));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_leaves_the_service_alone() -> Done {
    let log = Log::new();
    let breaker = BreakerPlan::builder().consecutive(1).build()?;
    let layer = StaggerLayer::new(retrier(seconds()?.breaker(breaker))?).when(always);
    let mut service = layer.layer(flaky(&log, 9));
    for _ in 0..2 {
        let failed = service.ready().await?.call(7).await;
        assert_eq!(stop(failed), Some(Stop::BreakerOpen));
    }
    assert_eq!(log.at(), [0], "one failure opened it");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_sent_twice_is_sent_once() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?)?).when(always);
    let service = layer.idempotent(|request: &u32| *request > 10).layer(flaky(&log, 9));
    assert_eq!(stop(service.clone().oneshot(7).await), Some(Stop::NotIdempotent));
    assert_eq!(log.at().len(), 1);
    assert_eq!(stop(service.oneshot(11).await), Some(Stop::AttemptsExhausted));
    assert_eq!(log.at().len(), 1 + 3);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn layers_of_retries_do_not_multiply() -> Done {
    let log = Log::new();
    let inner = StaggerLayer::new(retrier(seconds()?)?).when(always);
    let outer = StaggerLayer::new(retrier(seconds()?)?);
    let service = ServiceBuilder::new().layer(outer).layer(inner).service(flaky(&log, 99));
    assert_eq!(stop(service.oneshot(7).await), Some(Stop::AttemptsExhausted));
    assert_eq!(log.at().len(), 3);
    Ok(())
}

/// A service that makes a call of its own, under a policy of its own, while it gets ready again.
#[derive(Clone, Debug)]
struct Inner {
    log: Log,
    retrier: Retrier<TokioTime>,
    dialled: u32,
}

impl Service<u32> for Inner {
    type Response = u32;
    type Error = Busy;
    type Future = Ready<Result<u32, Busy>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Busy>> {
        let dialled = &mut self.dialled;
        if self.log.at().is_empty() {
            return Poll::Ready(Ok(()));
        }
        let dial = self
            .retrier
            .retry(|| {
                *dialled += 1;
                ready(Err::<(), _>(Busy))
            })
            .when(always);
        // Ready at once if it makes a single attempt, and in its wait if not.
        assert!(pin!(dial.into_future()).poll(context).is_ready(), "the layers multiply");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u32) -> Self::Future {
        self.log.note();
        ready(Err(Busy))
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_dials_while_it_gets_ready_does_not_multiply() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?)?).when(always);
    let inner = Inner { log: log.clone(), retrier: retrier(seconds()?)?, dialled: 0 };
    assert_eq!(stop(layer.layer(inner).oneshot(7).await), Some(Stop::AttemptsExhausted));
    assert_eq!(log.at(), [0, 1_000, 3_000]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_in_its_wait_holds_no_place_of_a_concurrency_limit() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?)?).classify_result(
        |result: &Result<u32, Box<dyn StdError + Send + Sync>>| match result {
            Err(error) if error.is::<Busy>() => stagger::Outcome::new(stagger::Verdict::Transient),
            Err(_) => stagger::Outcome::new(stagger::Verdict::Permanent),
            Ok(_) => stagger::Outcome::OK,
        },
    );
    // tower's own layers above and below: the error of each is one that the next can take.
    let service = ServiceBuilder::new()
        .timeout(Duration::from_secs(30))
        .layer(layer)
        .concurrency_limit(1)
        .timeout(Duration::from_secs(1))
        .service(flaky(&log, 2));
    let calls = [7, 8].map(|request| tokio::spawn(service.clone().oneshot(request)));
    for (call, answer) in calls.into_iter().zip([7, 8]) {
        assert_eq!(call.await??, answer);
    }
    assert_eq!(log.at(), [0, 0, 1_000, 1_000]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_shorter_limit_outside_ends_the_call() -> Done {
    let log = Log::new();
    let layer = StaggerLayer::new(retrier(seconds()?)?).when(always);
    let service = ServiceBuilder::new().timeout(Duration::from_secs(2)).layer(layer);
    let failed = service.service(flaky(&log, 9)).oneshot(7).await.unwrap_err();
    assert!(failed.is::<tower::timeout::error::Elapsed>());
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(log.at(), [0, 1_000], "a call that was dropped makes no further attempt");
    Ok(())
}

/// Fails at its second poll.
fn fails(_: u32) -> impl Future<Output = Result<u32, Busy>> {
    let mut polled = false;
    poll_fn(move |_| {
        if std::mem::replace(&mut polled, true) { Poll::Ready(Err(Busy)) } else { Poll::Pending }
    })
}

fn diary() -> Result<(Retrier<ManualTime, Diary>, ManualTime), ConfigError> {
    let backoff = Backoff::constant(Span::from_secs(1)).with_jitter(Jitter::None)?;
    let breaker = BreakerPlan::builder().build()?;
    let policy = Policy::builder().backoff(backoff).breaker(breaker).build()?;
    let time = ManualTime::default();
    Ok((Retrier::new(policy, time.clone()).with_ledger(Arc::new(Diary::new(&policy))), time))
}

#[test]
fn a_call_that_is_never_polled_has_taken_nothing() -> Result<(), ConfigError> {
    let (retrier, time) = diary()?;
    let mut service = StaggerLayer::new(retrier.clone()).when(always).layer(service_fn(fails));
    drop(service.call(7));
    assert_eq!((retrier.ledger().take(), time.reads()), (vec![], 0));
    Ok(())
}

#[test]
fn a_dropped_call_gives_back_what_it_took() -> Result<(), ConfigError> {
    let (retrier, time) = diary()?;
    let mut service = StaggerLayer::new(retrier.clone()).when(always).layer(service_fn(fails));
    let first = [Line::Admitted, Line::First];
    let failed = [Line::Reported(Report::Failure), Line::Settled(Settled::Failed), Line::Granted];
    {
        let mut call = pin!(service.call(7));
        assert!(poll(call.as_mut()).is_pending());
        assert_eq!(retrier.ledger().take(), first);
    }
    let neutral = Line::Reported(Report::Neutral);
    assert_eq!(retrier.ledger().take(), [neutral], "during an attempt");
    {
        let mut call = pin!(service.call(7));
        assert!(poll(call.as_mut()).is_pending());
        assert!(poll(call.as_mut()).is_pending());
        assert_eq!(retrier.ledger().take(), [&first[..], &failed].concat());
    }
    assert_eq!(retrier.ledger().take(), [Line::Refunded], "during a wait");
    {
        let mut call = pin!(service.call(7));
        assert!(poll(call.as_mut()).is_pending());
        assert!(poll(call.as_mut()).is_pending());
        time.advance(Span::from_secs(1));
        assert!(poll(call.as_mut()).is_pending());
        let seen = retrier.ledger().take();
        assert_eq!(seen, [&first[..], &failed, &[Line::Admitted]].concat());
    }
    assert_eq!(retrier.ledger().take(), [neutral], "a retry on the wire stays paid");
    Ok(())
}

#[test]
fn a_panic_in_a_service_gives_its_permits_back() -> Result<(), ConfigError> {
    let (retrier, _time) = diary()?;
    let broken = service_fn(|_: u32| -> Ready<Result<u32, Busy>> { panic!("as tests do") });
    let mut service = StaggerLayer::new(retrier.clone()).when(always).layer(broken);
    let call = || {
        let mut call = pin!(service.call(7));
        let _never = poll(call.as_mut());
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    assert_eq!(retrier.ledger().take().last(), Some(&Line::Reported(Report::Neutral)));
    // The mark of a running attempt is gone too: the next call retries.
    let mut service = StaggerLayer::new(retrier.clone()).when(always).layer(service_fn(fails));
    let mut call = pin!(service.call(7));
    assert!(poll(call.as_mut()).is_pending());
    assert!(poll(call.as_mut()).is_pending(), "it waits for its second attempt");
    Ok(())
}

#[cfg(feature = "http")]
mod http {
    use ::http::{Request, Response, StatusCode};
    use stagger::LocalLedger;
    use stagger::http::{ByMethod, HttpReplies};

    use super::*;

    /// HTTP for a service whose requests are clones.
    fn cloning(
        retrier: Retrier<TokioTime>,
    ) -> StaggerLayer<TokioTime, LocalLedger, HttpReplies, ByMethod> {
        StaggerLayer::new(retrier).classified_by(HttpReplies::default()).idempotent(ByMethod)
    }

    /// Answers with this status, and this header while there is one, until three attempts were made.
    fn server(
        log: &Log,
        status: u16,
        header: Option<(&'static str, &'static str)>,
    ) -> impl Service<
        Request<&'static str>,
        Response = Response<&'static str>,
        Error = std::io::Error,
        Future = Ready<std::io::Result<Response<&'static str>>>,
    > + Clone
    + use<> {
        let log = log.clone();
        service_fn(move |request: Request<&'static str>| {
            let mut reply = Response::builder();
            if log.note() < 2 {
                reply = reply.status(status);
                if let Some((name, value)) = header {
                    reply = reply.header(name, value);
                }
            }
            ready(reply.body(request.into_body()).map_err(std::io::Error::other))
        })
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_comes_back_before_the_server_wants_it() -> Done {
        let log = Log::new();
        let layer = cloning(retrier(seconds()?)?);
        let service = layer.layer(server(&log, 429, Some(("retry-after", "7"))));
        let reply = service.oneshot(Request::new("equal bytes")).await?;
        assert_eq!((reply.status(), reply.into_body()), (StatusCode::OK, "equal bytes"));
        let at = log.at();
        assert_eq!(at.len(), 3);
        // By the default spread up to half as long again.
        let late = |wait: u64| (7_000..=10_500).contains(&wait);
        assert!(late(at[1]) && late(at[2] - at[1]), "{at:?}");
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_that_stays_bad_is_returned_as_it_is() -> Done {
        let log = Log::new();
        let layer = cloning(retrier(seconds()?.max_attempts(2))?);
        let service = layer.layer(server(&log, 503, Some(("x-trace", "42"))));
        let reply = service.oneshot(Request::new("body")).await?;
        assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.headers()["x-trace"], "42");
        assert_eq!(log.at(), [0, 1_000]);
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_post_is_not_sent_twice_unless_it_has_a_key() -> Done {
        let log = Log::new();
        let layer = cloning(retrier(seconds()?)?);
        let service = layer.layer(server(&log, 500, None));
        let reply = service.clone().oneshot(Request::post("/orders").body("one bolt")?).await?;
        assert_eq!(reply.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(log.at().len(), 1);
        let keyed = Request::post("/orders").header("Idempotency-Key", "\"8e03978e\"");
        let reply = service.oneshot(keyed.body("one bolt")?).await?;
        assert_eq!(reply.status(), StatusCode::OK);
        assert_eq!(log.at().len(), 3);
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_post_that_never_left_is_sent_again() -> Done {
        // The connection was refused, so the server cannot have acted on it.
        let log = Log::new();
        let refused = {
            let log = log.clone();
            service_fn(move |_: Request<&'static str>| {
                ready(match log.note() {
                    0 => Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)),
                    _ => Ok(Response::new(())),
                })
            })
        };
        let layer = cloning(retrier(seconds()?)?);
        layer.layer(refused).oneshot(Request::post("/orders").body("one bolt")?).await?;
        assert_eq!(log.at(), [0, 1_000]);
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_that_asks_for_a_fresh_connection_is_final() -> Done {
        let log = Log::new();
        let layer = cloning(retrier(seconds()?)?);
        let reply = layer.layer(server(&log, 421, None)).oneshot(Request::new("body")).await?;
        assert_eq!(reply.status(), StatusCode::MISDIRECTED_REQUEST);
        assert_eq!(log.at(), [0]);
        Ok(())
    }
}
