//! `Retrier::retry`, hedged or not, over an async client as users of the executors bring it.
//!
//! The client is pooled, with whole bodies and errors of I/O.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use stagger::http::HttpReplies;
use stagger::{CallReport, Error, LocalLedger, Policy, Retrier, TokioTime};

use crate::{CallOutcome, ContractCaller, Integration};

/// The async executor, with copies of slow calls or without.
#[derive(Clone, Copy, Debug)]
pub struct Async {
    /// Whether slow calls get a second copy.
    pub copies: bool,
}

impl Async {
    /// Calls by clones of this client; calls that their method makes idempotent say so if `by_method`.
    fn calling(
        self,
        retrier: Retrier<TokioTime>,
        pool: HyperPool,
        by_method: bool,
    ) -> ContractCaller {
        Box::new(move |ask| {
            let (retrier, pool) = (retrier.clone(), pool.clone());
            Box::pin(async move {
                let mut report = CallReport::default();
                let send = || async { pool.clone().send(ask.request()?).await };
                let call = retrier.retry(send).classified_by(HttpReplies::default());
                let call = call.report(&mut report);
                let once = by_method && !ask.is_idempotent();
                let call = if once { call.not_idempotent() } else { call };
                let result = if self.copies { call.hedged().await } else { call.await };
                end(result, &report)
            })
        })
    }
}

impl Integration for Async {
    fn name(&self) -> &'static str {
        if self.copies { "hedged run" } else { "async run" }
    }

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        let retrier = Retrier::new(policy, TokioTime).with_ledger(ledger);
        self.calling(retrier, HyperPool::new(), true)
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        self.calling(Retrier::new(policy, TokioTime), HyperPool::by_default(), false)
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
            "slow call gets a second copy" if !self.copies => Some("`hedged` makes copies"),
            _ => by_closure(promise),
        }
    }
}

/// Why a retrier does not tell hosts apart.
pub(crate) const ONE_DESTINATION: &str = "a retrier is for one destination; make one for each";

/// The waiver for a closure that makes the request itself.
pub(crate) fn by_closure(promise: &str) -> Option<&'static str> {
    match promise {
        "idempotency key is the same on every attempt" => {
            Some("the closure writes the headers of each attempt")
        }
        "body that cannot be sent again is said so" => {
            Some("the closure makes the body of each attempt")
        }
        "empty budget of one host leaves the others alone" => Some(ONE_DESTINATION),
        _ => None,
    }
}

pub(crate) fn end(
    result: Result<Response<Bytes>, Error<io::Error>>,
    report: &CallReport,
) -> CallOutcome {
    let stop = report.stop();
    CallOutcome {
        result: result.map_err(|e| e.to_string()),
        stop,
        attempts: Some(report.attempts()),
    }
}

#[derive(Debug)]
pub(crate) struct HyperPool<B = Full<Bytes>>(Client<HttpConnector, B>);

impl<B> HyperPool<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Unpin + 'static,
{
    /// As hyper makes it by default.
    pub(crate) fn by_default() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    /// Without the retries that hyper's client makes by itself.
    pub(crate) fn new() -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        Self(builder.retry_canceled_requests(false).build_http())
    }

    /// Sends and reads the whole reply, so that a failure in its body is one of the attempt.
    pub(crate) async fn send(self, request: Request<B>) -> io::Result<Response<Bytes>> {
        let (head, body) = self.0.request(request).await.map_err(io_error)?.into_parts();
        let body = body.collect().await.map_err(io_error)?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

// By hand, because a body need not be `Clone` for its client to be.
impl<B> Clone for HyperPool<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Of the kind that lies at the root.
fn io_error(error: impl StdError + Send + Sync + 'static) -> io::Error {
    let mut cause: Option<&dyn StdError> = Some(&error);
    let mut kind = io::ErrorKind::Other;
    while let Some(error) = cause {
        kind = error.downcast_ref::<io::Error>().map_or(kind, io::Error::kind);
        cause = error.source();
    }
    io::Error::new(kind, error)
}
