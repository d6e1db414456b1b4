//! The paths of a clean call: what each asks of the allocator over the bare call.

use std::cell::Cell;
use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn, ready};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::task::Poll;
use std::thread;

use http::{HeaderValue, Request, Response, Uri};
use stagger::budget::BudgetPlan;
use stagger::hedge::HedgePlan;
use stagger::http::Replay;
use stagger::reqwest::{Client, StaggerMiddleware, client_builder};
use stagger::service_config::ServiceConfig;
use stagger::tonic::GrpcLayer;
use stagger::tower::StaggerLayer;
use stagger::{CallReport, Policy, Retrier, Span, TokioTime};
use tokio::runtime::Runtime;
use tonic::GrpcMethod;
use tonic::body::Body;
use tower::{Layer, Service, service_fn};

use super::counting::{Allocated, CountedPath, cheapest};

type Paths = Result<Vec<CountedPath>, Box<dyn Error>>;

/// All paths.
pub(crate) fn counted() -> Paths {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut paths = closures(&tokio)?;
    paths.extend(services(&tokio)?);
    paths.extend(grpc(&tokio)?);
    paths.extend(clients(&tokio)?);
    Ok(paths)
}

/// Runs a call. It is pinned here, because tokio boxes futures of more than 2 KB in builds without optimization.
fn run<F: Future>(tokio: &Runtime, call: F) -> F::Output {
    tokio.block_on(pin!(call))
}

/// Succeeds after it was pending once, as a call over a network is.
async fn pending() -> Result<u64, Infallible> {
    let seen = Cell::new(false);
    let answer = |context: &mut std::task::Context<'_>| {
        if seen.replace(true) {
            return Poll::Ready(Ok(7));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    };
    poll_fn(answer).await
}

fn closures(tokio: &Runtime) -> Paths {
    let plain = Retrier::new(Policy::builder().budget(BudgetPlan::Unlimited).build()?, TokioTime);
    let guarded = Retrier::new(Policy::default(), TokioTime);
    let limited = Retrier::new(Policy::interactive(), TokioTime);
    let hedge = HedgePlan::fixed(Span::from_secs(1), 2)?;
    let hedged = Retrier::new(Policy::builder().hedge(hedge).build()?, TokioTime);
    let bare = cheapest(|| assert_eq!(run(tokio, pending()), Ok(7)));
    let over = |path, run: &mut dyn FnMut()| CountedPath::new(path, bare, cheapest(run));
    let at_once = || ready(Ok::<_, Infallible>(7));
    Ok(vec![
        over("closure, ready", &mut || {
            drop(run(tokio, async { plain.retry(at_once).when(|_| true).await }));
        }),
        over("closure, pending", &mut || {
            drop(run(tokio, async { guarded.retry(pending).when(|_| true).await }));
        }),
        over("closure, pending, with deadline and time limit", &mut || {
            drop(run(tokio, async { limited.retry(pending).when(|_| true).await }));
        }),
        over("closure, blocking", &mut || {
            drop(guarded.retry_blocking(|| Ok::<_, Infallible>(7)).when(|_| true).call());
        }),
        over("closure with report", &mut || {
            let mut report = CallReport::default();
            let call = guarded.retry(at_once).when(|_| true).report(&mut report);
            drop(run(tokio, call.into_future()));
            assert_eq!(report.history().iter().len(), 1);
        }),
        over("closure, hedged, ready", &mut || {
            drop(run(tokio, hedged.retry(at_once).when(|_| true).hedged().into_future()));
        }),
        over("closure, hedged, pending", &mut || {
            drop(run(tokio, hedged.retry(pending).when(|_| true).hedged().into_future()));
        }),
    ])
}

/// The allocations of a request through a service whose reply is ready at once, without the request itself.
fn request<S, Q>(tokio: &Runtime, service: &S, request: impl Fn() -> Q) -> Allocated
where
    S: Service<Q> + Clone,
{
    let mut made: Vec<Q> = std::iter::repeat_with(request).take(64).collect();
    let mut service = service.clone();
    cheapest(|| {
        let next = made.pop().expect("there are more requests than runs");
        drop(run(tokio, service.call(next)));
    })
}

fn services(tokio: &Runtime) -> Paths {
    let bare = |item: u64| ready(Ok::<_, io::Error>(item));
    let layer = StaggerLayer::new(Retrier::new(Policy::default(), TokioTime));
    let plain = layer.layer(service_fn(bare));
    let reply = || ready(Ok::<_, io::Error>(Response::new(String::new())));
    let get =
        || Request::get("http://inventory.test/bolts").body(String::new()).expect("it is valid");
    let server = service_fn(move |_: Request<Replay<String>>| reply());
    let over_http = StaggerLayer::http(Retrier::new(Policy::default(), TokioTime)).layer(server);
    let bare_http = service_fn(move |_: Request<String>| reply());
    Ok(vec![
        CountedPath::new(
            "tower",
            request(tokio, &service_fn(bare), || 7),
            request(tokio, &plain, || 7),
        ),
        CountedPath::new(
            "tower http",
            request(tokio, &bare_http, get),
            request(tokio, &over_http, get),
        ),
    ])
}

/// A request as a generated client makes it.
fn unary() -> Request<Body> {
    let mut request = Request::post(Uri::from_static("http://inventory.test/store.Orders/Get"));
    let (te, content) = ("trailers", "application/grpc");
    request = request.header("te", HeaderValue::from_static(te));
    request = request.header("content-type", HeaderValue::from_static(content));
    let mut request = request.body(Body::empty()).expect("the request is a constant");
    request.extensions_mut().insert(GrpcMethod::new("store.Orders", "Get"));
    request
}

fn grpc(tokio: &Runtime) -> Paths {
    let server =
        service_fn(|_: Request<Body>| ready(Ok::<_, tonic::Status>(Response::new(Body::empty()))));
    let layer = || GrpcLayer::new(Retrier::new(Policy::default(), TokioTime));
    let config: ServiceConfig = serde_json::from_str(
        r#"{ "methodConfig": [{ "name": [{ "service": "store.Orders" }], "timeout": "5s", "retryPolicy": {
            "maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"] } }] }"#,
    )?;
    let bare = request(tokio, &server, unary);
    let plain = request(tokio, &layer().layer(server), unary);
    let configured = request(tokio, &layer().service_config(config).layer(server), unary);
    Ok(vec![
        CountedPath::new("tonic", bare, plain),
        CountedPath::new("tonic, service config with timeout", bare, configured),
    ])
}

fn clients(tokio: &Runtime) -> Paths {
    // reqwest asks for it even where no URL has TLS.
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = http_server()?;
    let bare = client_builder().no_proxy().build()?;
    let default = Client::new(bare.clone(), Policy::default());
    let limited = Client::new(bare.clone(), Policy::interactive());
    let policy = Policy::builder().attempt_timeout(Span::from_secs(9)).build()?;
    let timed = Client::new(bare.clone(), policy);
    let layered = reqwest_middleware::ClientBuilder::new(bare.clone())
        .with(StaggerMiddleware::new(Policy::default()))
        .build();
    let over = |path, bare, run: &mut dyn FnMut()| CountedPath::new(path, bare, cheapest(run));
    let url = url.as_str();
    let sent = cheapest(|| assert!(run(tokio, bare.get(url).send()).is_ok()));
    let chain = reqwest_middleware::ClientBuilder::new(bare.clone()).build();
    let chained = cheapest(|| assert!(run(tokio, chain.get(url).send()).is_ok()));
    Ok(vec![
        over("reqwest", sent, &mut || assert!(run(tokio, default.get(url).send()).is_ok())),
        over("reqwest, with time limit", sent, &mut || {
            assert!(run(tokio, timed.get(url).send()).is_ok());
        }),
        over("reqwest, with deadline and time limit", sent, &mut || {
            assert!(run(tokio, limited.get(url).send()).is_ok());
        }),
        over("reqwest-middleware", chained, &mut || {
            assert!(run(tokio, layered.get(url).send()).is_ok());
        }),
    ])
}

/// A server on a thread of its own, which lasts as long as the process; its URL.
fn http_server() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    Ok(url)
}

/// Answers the requests of one connection, which have no bodies.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    for line in BufReader::new(stream.try_clone()?).lines() {
        if line?.is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    }
    Ok(())
}
