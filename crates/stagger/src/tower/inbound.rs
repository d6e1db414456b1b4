//! The layer of a server: reads the attempt headers of requests, and marks the tasks that serve them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderValue, Request, Response, StatusCode};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::http::{InboundAttempt, InboundScope};

/// Reads which attempt of its caller a request is, so that retries in different services do not multiply.
///
/// Calls that a handler makes for a caller which retries make one attempt, as calls inside another
/// call's attempt do in one process: three attempts of three attempts are three requests behind, not
/// nine. [`InboundAttempt`] has the table of the headers. A caller whose first attempt carries no header,
/// as those of gRPC, is known by its second: three of three are then five.
///
/// A handler finds the [`InboundAttempt`] among the extensions of its request. Work that it spawns, and
/// the body that it streams, are not marked: see [`InboundAttempt::scope`]. A call that retries all the
/// same has [`Retrier::with_nested_retries`](crate::Retrier::with_nested_retries).
///
/// The calls pass the number of the attempt on where they have
/// [`AttemptHeaders::number`](crate::http::AttemptHeaders::number), so that the services behind know
/// a repeat too.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use http::{Request, Response};
/// use stagger::tower::InboundLayer;
/// use stagger::{Policy, Retrier, TokioTime};
/// use tower::{ServiceBuilder, ServiceExt};
/// let retrier = Retrier::new(Policy::default(), TokioTime);
/// let handler = async |_: Request<()>| {
///     let mut attempts = 0;
///     let answer = retrier.retry(|| {
///         attempts += 1;
///         async { Err::<(), _>("busy") }
///     }).when(|_| true);
///     assert!(answer.await.is_err());
///     Ok::<_, std::convert::Infallible>(Response::new(attempts))
/// };
/// let service = ServiceBuilder::new().layer(InboundLayer::new()).service_fn(handler);
/// let request = Request::get("/").header("stagger-attempt", 1).body(())?;
/// assert_eq!(service.oneshot(request).await?.into_body(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).map_err(|error| std::io::Error::other(error.to_string()))}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct InboundLayer {
    shed_above: Option<usize>,
    in_flight: Arc<AtomicUsize>,
}

impl InboundLayer {
    /// Marks the tasks, and sheds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers repeats with 503 (UNAVAILABLE for gRPC) while more than `in_flight` requests are served
    /// by all services of the layer, so that first attempts get what capacity there is. A request is
    /// served until the head of its reply. Default: sheds nothing.
    ///
    /// First attempts are never shed here: for a limit of all requests put tower's own layers outside.
    pub const fn shed_repeats_above(mut self, in_flight: usize) -> Self {
        self.shed_above = Some(in_flight);
        self
    }
}

impl<S> Layer<S> for InboundLayer {
    type Service = Inbound<S>;

    fn layer(&self, inner: S) -> Inbound<S> {
        Inbound { inner, layer: self.clone() }
    }
}

/// A service whose tasks are marked as parts of their callers' attempts; made by [`InboundLayer`].
#[derive(Clone, Debug)]
pub struct Inbound<S> {
    inner: S,
    layer: InboundLayer,
}

impl<S, B, C> Service<Request<B>> for Inbound<S>
where
    S: Service<Request<B>, Response = Response<C>>,
    C: Default,
{
    type Response = Response<C>;
    type Error = S::Error;
    type Future = InboundFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let InboundLayer { shed_above, in_flight } = &self.layer;
        let attempt = InboundAttempt::read(request.headers());
        let (place, served) = InFlight::enter(in_flight);
        let full = shed_above.is_some_and(|limit| served > limit);
        let grpc = is_grpc(&request);
        if full && attempt.is_some_and(|attempt| attempt.is_repeat()) {
            return InboundFuture { served: None, grpc, _place: place };
        }
        if let Some(attempt) = attempt {
            request.extensions_mut().insert(attempt);
        }
        let served = Some(InboundScope::begin(attempt, || self.inner.call(request)));
        InboundFuture { served, grpc, _place: place }
    }
}

fn is_grpc<B>(request: &Request<B>) -> bool {
    let content = request.headers().get(CONTENT_TYPE);
    content.is_some_and(|content| content.as_bytes().starts_with(b"application/grpc"))
}

/// A request that is served, until dropped.
#[derive(Debug)]
struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    /// Counts a request, and says how many there are with it.
    fn enter(count: &Arc<AtomicUsize>) -> (Self, usize) {
        let before = count.fetch_add(1, Ordering::Relaxed);
        (Self(Arc::clone(count)), before.saturating_add(1))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pin_project! {
    /// The future of a request through an [`Inbound`].
    #[derive(Debug)]
    #[must_use = "a request is not served until its future is polled"]
    pub struct InboundFuture<F> {
        // None for a repeat that is shed.
        #[pin]
        served: Option<InboundScope<F>>,
        grpc: bool,
        _place: InFlight,
    }
}

impl<F, C, E> Future for InboundFuture<F>
where
    F: Future<Output = Result<Response<C>, E>>,
    C: Default,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let parts = self.project();
        match parts.served.as_pin_mut() {
            Some(served) => served.poll(context),
            None => Poll::Ready(Ok(shed(*parts.grpc))),
        }
    }
}

/// The reply to a repeat that is not served.
fn shed<C: Default>(grpc: bool) -> Response<C> {
    let mut reply = Response::new(C::default());
    if grpc {
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert("grpc-status", HeaderValue::from_static("14"));
        headers.insert("grpc-message", HeaderValue::from_static("repeats are shed first"));
    } else {
        *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    reply
}
