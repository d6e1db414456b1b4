//! HTTP requests of any body through the tower layer, in paused time.
#![cfg(all(feature = "http", feature = "tokio", feature = "tower"))]

use std::error::Error as StdError;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use stagger::breaker::BreakerPlan;
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::engine::breaker::Destination;
use stagger::http::{
    AttemptHeaders, ByBoxedChain, DeadlineBody, HttpReplies, IdempotencyKey, Replay,
};
use stagger::tower::{HttpLayer, ServiceError, StaggerLayer};
use stagger::{
    AttemptInfo, Backoff, Clock, ConfigError, Done as End, Instant, Jitter, Ledgers, LocalLedger,
    Policy, PolicyBuilder, Retrier, Span, Stop, TokioTime,
};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

type BoxError = Box<dyn StdError + Send + Sync>;
type Done = Result<(), BoxError>;
type Answer = Response<Full<Bytes>>;
type Reply = Response<DeadlineBody<Full<Bytes>, TokioTime>>;

/// Delays of 1, 2, 4, ... seconds, and no budget in the way.
fn seconds() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(1), Span::from_secs(60))?;
    let backoff = backoff.with_jitter(Jitter::None)?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

fn http(policy: PolicyBuilder) -> Result<Boxed, ConfigError> {
    let retrier = Retrier::new(policy.build()?, TokioTime);
    Ok(StaggerLayer::http(retrier).errors_classified_by(ByBoxedChain))
}

/// For services whose errors are in boxes.
type Boxed = HttpLayer<TokioTime, LocalLedger, HttpReplies<ByBoxedChain>>;

/// A request as the server saw it.
#[derive(Clone, Debug)]
struct Seen {
    at: u64,
    headers: HeaderMap,
    attempt: Option<AttemptInfo>,
    note: Option<Note>,
    body: Bytes,
}

/// Something that a caller puts among the extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note(&'static str);

/// A server that answers with these statuses, one for each request, and notes what it saw.
#[derive(Clone, Debug)]
struct Server {
    begun: Instant,
    seen: Arc<Mutex<Vec<Seen>>>,
    statuses: Vec<u16>,
    /// Whether it reads bodies to their end before it fails. It hangs instead of a status of 0.
    read: bool,
}

impl Server {
    fn new(statuses: &[u16]) -> Self {
        let statuses = statuses.to_vec();
        Self { begun: TokioTime.now(), seen: Arc::default(), statuses, read: true }
    }

    /// Fails when it has seen the first frame of a body.
    fn hasty(mut self) -> Self {
        self.read = false;
        self
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn at(&self) -> Vec<u64> {
        self.seen().iter().map(|seen| seen.at).collect()
    }

    fn bodies(&self) -> Vec<Bytes> {
        self.seen().into_iter().map(|seen| seen.body).collect()
    }

    async fn answer<B>(self, request: Request<Replay<B>>) -> Result<Answer, BoxError>
    where
        B: Body,
        B::Error: Into<BoxError>,
    {
        let at = (TokioTime.now() - self.begun).as_nanos() / 1_000_000;
        let (head, mut body) = request.into_parts();
        let read = self.read || self.seen().len() >= self.statuses.len();
        let body = if read {
            body.collect().await?.to_bytes()
        } else {
            // One frame, and then it has seen enough.
            let frame = body.frame().await.transpose()?;
            frame.and_then(|frame| frame.into_data().ok()).unwrap_or_default()
        };
        let (attempt, note) = (head.extensions.get().copied(), head.extensions.get().cloned());
        let status = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(Seen { at, headers: head.headers, attempt, note, body });
            self.statuses.get(seen.len() - 1).copied().unwrap_or(200)
        };
        if status == 0 {
            pending::<()>().await;
        }
        Ok(Response::builder().status(status).body(Full::new(Bytes::from("told why")))?)
    }

    fn service<B>(
        &self,
    ) -> impl Service<Request<Replay<B>>, Response = Answer, Error = BoxError, Future: Send>
    + Clone
    + use<B>
    where
        B: Body + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let server = self.clone();
        service_fn(move |request| server.clone().answer(request))
    }
}

/// A body that is not `Clone`, whose size nobody knows.
struct Stream {
    chunks: std::vec::IntoIter<Bytes>,
}

impl Stream {
    fn new(chunks: &[&'static str]) -> Self {
        let chunks: Vec<_> =
            chunks.iter().map(|chunk| Bytes::from_static(chunk.as_bytes())).collect();
        Self { chunks: chunks.into_iter() }
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(self.chunks.next().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}

fn full(text: &'static str) -> Full<Bytes> {
    Full::new(Bytes::from_static(text.as_bytes()))
}

fn stop(result: Result<Reply, ServiceError>) -> Option<Stop> {
    result.err().and_then(|failed| failed.end().map(stagger::Error::stop))
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_not_empty_on_the_second_attempt() -> Done {
    // jonbern/fetch-retry #99
    let server = Server::new(&[503, 503]);
    let service = http(seconds()?)?.layer(server.service());
    let request = Request::put("/orders/7").body(Stream::new(&["one ", "bolt"]))?;
    assert_eq!(service.oneshot(request).await?.status(), StatusCode::OK);
    assert_eq!(server.bodies(), ["one bolt"; 3]);
    assert_eq!(server.at(), [0, 1_000, 3_000]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stream_past_the_limit_goes_through_once() -> Done {
    let server = Server::new(&[503]);
    let layer = http(seconds()?)?.replay_limit(32);
    let long = "a body of more than thirty-two bytes";
    let request = Request::put("/orders/7").body(Stream::new(&[long]))?;
    let reply = layer.layer(server.service()).oneshot(request).await?;
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE, "the real failure");
    let done = reply.extensions().get::<End>().ok_or("it says why nobody asked again")?;
    assert_eq!((done.stop, done.attempts), (Stop::NotReplayable, 1));
    assert_eq!(reply.into_body().collect().await?.to_bytes(), "told why");
    assert_eq!(server.bodies(), [long]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_stream_past_the_limit_says_why_there_was_no_retry() -> Done {
    let server = Server::new(&[0]);
    let policy = seconds()?.attempt_timeout(Span::from_secs(5));
    let layer = http(policy)?;
    let request =
        Request::put("/orders/7").body(Stream::new(&["a body of more than thirty-two bytes"]))?;
    let result = layer.replay_limit(32).layer(server.service()).oneshot(request).await;
    assert_eq!(stop(result), Some(Stop::NotReplayable));
    assert_eq!(server.at(), [0]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_early_gets_the_whole_body_next_time() -> Done {
    let server = Server::new(&[503, 503]).hasty();
    let layer = http(seconds()?)?;
    let request = Request::put("/orders/7").body(Stream::new(&["one ", "bolt"]))?;
    assert_eq!(layer.layer(server.service()).oneshot(request).await?.status(), StatusCode::OK);
    assert_eq!(server.bodies(), ["one ", "one ", "one bolt"]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_payment_is_not_made_twice() -> Done {
    // istio/istio #50506
    let server = Server::new(&[503, 503, 503]);
    let layer = http(seconds()?)?;
    let request = Request::post("/payments").body(full("5 euros"))?;
    let reply = layer.layer(server.service()).oneshot(request).await?;
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.extensions().get::<End>().map(|end| end.stop), Some(Stop::NotIdempotent));
    assert_eq!(server.at(), [0]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_key_does_not_move_between_attempts() -> Done {
    // Adyen/adyen-commercetools #1305
    let server = Server::new(&[503, 503, 200, 503, 200, 503, 200]);
    let layer = http(seconds()?)?.idempotency_keys(IdempotencyKey::random);
    let service = layer.layer(server.service());
    for _ in 0..2 {
        let request = Request::post("/payments").body(full("5 euros"))?;
        assert_eq!(service.clone().oneshot(request).await?.status(), StatusCode::OK);
    }
    let own = Request::post("/payments").header("idempotency-key", "\"mine\"").body(full(""))?;
    service.clone().oneshot(own).await?;
    service.oneshot(Request::get("/payments").body(full(""))?).await?;
    let key = |seen: &Seen| seen.headers.get("idempotency-key").cloned();
    let keys: Vec<_> = server.seen().iter().map(key).collect();
    assert!(keys[0].is_some() && keys[0] == keys[1] && keys[1] == keys[2], "{keys:?}");
    assert!(keys[3].is_some() && keys[3] == keys[4] && keys[3] != keys[0], "a new call: {keys:?}");
    let mine = Some(http::HeaderValue::from_static("\"mine\""));
    assert_eq!((&keys[5], &keys[6]), (&mine, &mine));
    assert_eq!(keys[7], None, "a GET needs none");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_signature_is_as_young_as_its_attempt() -> Done {
    // aws/aws-sdk-go #486
    let server = Server::new(&[503, 503]);
    let begun = TokioTime.now();
    let layer =
        http(seconds()?)?.per_attempt(move |head: &mut http::request::Parts, _: &AttemptInfo| {
            let signed = (TokioTime.now() - begun).as_nanos() / 1_000_000;
            head.headers.append("signed-at", http::HeaderValue::from(signed));
        });
    layer.layer(server.service()).oneshot(Request::get("/").body(full(""))?).await?;
    for seen in server.seen() {
        let signed: Vec<_> = seen.headers.get_all("signed-at").iter().collect();
        assert_eq!(signed, [seen.at.to_string().as_str()]);
    }
    assert_eq!(server.at(), [0, 1_000, 3_000]);
    Ok(())
}

/// A layer whose token is the number of refreshes, which take a second each.
async fn refreshed(server: &Server, method: &str) -> Result<Reply, BoxError> {
    let token = Arc::new(Mutex::new(0_u32));
    let read = {
        let token = Arc::clone(&token);
        move |head: &mut http::request::Parts, _: &AttemptInfo| {
            let token = *token.lock().unwrap_or_else(PoisonError::into_inner);
            head.headers.insert("authorization", http::HeaderValue::from(token));
        }
    };
    let layer = http(seconds()?)?.per_attempt(read).refresh_auth(move || {
        let token = Arc::clone(&token);
        async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            *token.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
    });
    let request = Request::builder().method(method).uri("/").body(full("body"))?;
    Ok(layer.layer(server.service()).oneshot(request).await?)
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_refreshed_once() -> Done {
    let server = Server::new(&[401]);
    assert_eq!(refreshed(&server, "POST").await?.status(), StatusCode::OK);
    let tokens: Vec<_> =
        server.seen().iter().map(|seen| seen.headers["authorization"].clone()).collect();
    assert_eq!(tokens, ["0", "1"]);
    assert_eq!(server.at(), [0, 1_000], "the refresh took a second, and nothing else did");
    let server = Server::new(&[401, 401, 401]);
    assert_eq!(refreshed(&server, "GET").await?.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(server.at().len(), 2, "a second 401 is final");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_does_not_heal_is_sent_once() -> Done {
    // hashicorp/go-retryablehttp PR 73; 401, 421 and 425 without anybody to heal them
    let finals = [
        400, 401, 403, 404, 405, 409, 410, 411, 413, 414, 415, 421, 422, 425, 431, 451, 501, 505,
        511, 525, 526,
    ];
    for status in finals {
        let server = Server::new(&[status]);
        let layer = http(seconds()?)?;
        let reply =
            layer.layer(server.service()).oneshot(Request::get("/").body(full(""))?).await?;
        assert_eq!((reply.status().as_u16(), server.at()), (status, vec![0]));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_408_waits_like_any_failure() -> Done {
    // square/okhttp #3483
    let server = Server::new(&[408; 9]);
    let layer = http(seconds()?)?;
    let reply = layer.layer(server.service()).oneshot(Request::get("/").body(full(""))?).await?;
    assert_eq!(reply.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(server.at(), [0, 1_000, 3_000]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_io_error_is_not_retried() -> Done {
    let server = Server::new(&[]);
    let refused = {
        let server = server.clone();
        service_fn(move |request: Request<Replay<Full<Bytes>>>| {
            let answer = server.clone().answer(request);
            async {
                answer.await?;
                Err::<Answer, _>(BoxError::from("unknown scheme"))
            }
        })
    };
    let layer = http(seconds()?)?;
    let failed = layer.layer(refused).oneshot(Request::get("/").body(full(""))?).await.unwrap_err();
    assert_eq!(failed.get_ref().map(ToString::to_string).as_deref(), Some("unknown scheme"));
    assert_eq!(server.at(), [0]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_costs_no_request_and_no_wait() -> Done {
    // resilience4j/resilience4j #920
    let server = Server::new(&[503; 9]);
    let breaker = BreakerPlan::builder().consecutive(1).build()?;
    let layer = http(seconds()?.breaker(breaker))?;
    let service = layer.layer(server.service());
    let reply = service.clone().oneshot(Request::get("/").body(full(""))?).await?;
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    let begun = TokioTime.now();
    let refused = service.oneshot(Request::get("/").body(full(""))?).await;
    assert_eq!(stop(refused), Some(Stop::BreakerOpen));
    assert_eq!((server.at(), TokioTime.now() - begun), (vec![0], Span::ZERO));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_that_hangs_leaves_time_for_others() -> Done {
    // PostHog/terraform-provider-posthog PR 157
    let server = Server::new(&[0, 0, 0, 0]);
    let policy = seconds()?
        .max_attempts(9)
        .attempt_timeout(Span::from_secs(30))
        .deadline(Span::from_secs(100));
    let told = AttemptHeaders::new().number().remaining();
    let layer = http(policy)?.attempt_headers(told);
    let failed = layer.layer(server.service()).oneshot(Request::get("/").body(full(""))?).await;
    assert_eq!(stop(failed), Some(Stop::DeadlineExceeded));
    assert_eq!(server.at(), [0, 31_000, 63_000, 97_000]);
    assert_eq!(TokioTime.now() - server.begun, Span::from_secs(100));
    for (seen, number) in server.seen().iter().zip(1..) {
        assert_eq!(seen.headers["stagger-attempt"], number.to_string().as_str());
        assert_eq!(seen.headers["stagger-deadline-ms"], (100_000 - seen.at).to_string().as_str());
        let attempt = seen.attempt.expect("it is among the extensions");
        assert_eq!(attempt.number, number);
    }
    let last = server.seen()[3].attempt.and_then(|attempt| attempt.timeout);
    assert_eq!(last, Some(Span::from_secs(3)), "the last attempt has what is left");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_the_extensions_of_the_caller() -> Done {
    let server = Server::new(&[503]);
    let layer = http(seconds()?)?;
    let request = Request::get("/").extension(Note("mine")).body(full(""))?;
    layer.layer(server.service()).oneshot(request).await?;
    let notes: Vec<_> = server.seen().into_iter().map(|seen| seen.note).collect();
    assert_eq!(notes, [Some(Note("mine")), Some(Note("mine"))]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn tower_s_own_layers_fit_above_and_below() -> Done {
    let server = Server::new(&[503, 503]);
    let service = ServiceBuilder::new()
        .timeout(std::time::Duration::from_secs(60))
        .layer(http(seconds()?)?)
        .concurrency_limit(1)
        .timeout(std::time::Duration::from_secs(10))
        .service(server.service());
    let reply = service.oneshot(Request::get("/").body(full(""))?).await?;
    assert_eq!(reply.status(), StatusCode::OK);
    Ok(())
}

/// Is what a spawned task needs.
fn is_send(future: impl Future + Send) -> impl Future + Send {
    future
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_spawned() -> Done {
    let server = Server::new(&[503]);
    let layer = http(seconds()?)?;
    let call = layer.layer(server.service()).oneshot(Request::get("/").body(Stream::new(&["a"]))?);
    is_send(call).await;
    assert_eq!(server.at().len(), 2);
    Ok(())
}

/// Fails for a.example; for any other host only the first time. Notes the hosts.
fn hosts(
    seen: Arc<Mutex<Vec<String>>>,
) -> impl Service<
    Request<Replay<Full<Bytes>>>,
    Response = Answer,
    Error = BoxError,
    Future: Future + Send,
> + Clone {
    service_fn(move |request: Request<Replay<Full<Bytes>>>| {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let healed = host != "a.example" && seen.contains(&host);
        seen.push(host);
        let status = if healed { 200 } else { 503 };
        std::future::ready(Ok(Response::builder()
            .status(status)
            .body(full(""))
            .expect("constants")))
    })
}

#[tokio::test(start_paused = true)]
async fn a_host_without_retries_left_took_those_of_another() -> Done {
    let one = BudgetPlan::Tokens(TokenPlan::new(1, 1)?);
    let seen = Arc::default();
    let layer = http(seconds()?.budget(one))?;
    let service = layer.layer(hosts(Arc::clone(&seen)));
    for (url, status) in
        [("http://a.example/", 503), ("http://a.example/", 503), ("http://b.example/", 200)]
    {
        let reply = service.clone().oneshot(Request::get(url).body(full(""))?).await?;
        assert_eq!(reply.status().as_u16(), status, "{url}");
    }
    let seen = seen.lock().map_err(|_| "poisoned")?.len();
    assert_eq!(seen, 2 + 1 + 2, "one retry for each host");
    let ledgers = service.ledgers().ok_or("each host has its own")?;
    let destination = Destination::of_url("http://a.example")?;
    let spent = ledgers.stats(TokioTime.now(), &destination).ok_or("it was called")?;
    assert_eq!((ledgers.len(), spent.grants, spent.refusals), (2, 1, 2));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn layers_that_share_their_ledgers_share_the_budget_of_a_host() -> Done {
    let policy = seconds()?.budget(BudgetPlan::Tokens(TokenPlan::new(1, 1)?));
    let ledgers = Ledgers::new(&policy.build()?);
    let seen = Arc::default();
    for _ in 0..2 {
        let layer = http(policy)?.share_ledgers(ledgers.clone());
        let service = layer.layer(hosts(Arc::clone(&seen)));
        let reply = service.oneshot(Request::get("http://a.example/").body(full(""))?).await?;
        assert_eq!(reply.status().as_u16(), 503);
    }
    let seen = seen.lock().map_err(|_| "poisoned")?.len();
    assert_eq!(seen, 2 + 1, "one retry for both layers");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_breaker_of_one_host_refused_another() -> Done {
    let breaker = BreakerPlan::builder().consecutive(1).build()?;
    let layer = http(seconds()?.max_attempts(1).breaker(breaker))?;
    let service = layer.layer(hosts(Arc::default()));
    for (url, end) in [
        ("http://a.example/", None),
        ("http://a.example/again", Some(Stop::BreakerOpen)),
        ("http://b.example/", None),
        ("http://a.example:81/", None),
        ("https://a.example/", None),
    ] {
        let result = service.clone().oneshot(Request::get(url).body(full(""))?).await;
        assert_eq!(stop(result), end, "{url}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_was_given_is_for_all_hosts() -> Done {
    let policy = seconds()?.budget(BudgetPlan::Tokens(TokenPlan::new(1, 1)?)).build()?;
    let ledger = Arc::new(LocalLedger::new(&policy));
    let retrier = Retrier::new(policy, TokioTime).with_ledger(ledger);
    let layer = StaggerLayer::http(retrier).errors_classified_by(ByBoxedChain);
    let service = layer.layer(hosts(Arc::default()));
    for url in ["http://a.example/", "http://b.example/"] {
        let reply = service.clone().oneshot(Request::get(url).body(full(""))?).await?;
        let end = reply.extensions().get::<End>().map(|end| end.stop);
        assert_eq!(end, Some(Stop::BudgetEmpty), "{url}");
    }
    assert!(service.ledgers().is_none());
    Ok(())
}
