//! The future of a call: makes its attempts by the driver that all async calls have.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use ::http::{Request, Response};
use stagger_core::Verdict;
use stagger_core::retry::{Ledger, Stop};
use stagger_core::{Instant, Outcome};
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use super::CallError;
use super::calls::{GrpcRules, Retried};
use super::reply::Reply;
use super::request::{GrpcRequest, Overtaken};
use super::transport::GrpcFailure;
use crate::http::DeadlineBody;
use crate::run::BoxError;
use crate::{AttemptInfo, CallReport, Classifier, Error, Sleep};

type CallResult<B, Z> = Result<Response<DeadlineBody<B, Z>>, CallError>;

/// One call under way through a [`Grpc`](super::Grpc) service.
///
/// Dropping it at any point ends the call: the attempts under way are dropped, which resets their
/// streams, their permits go back, and the breaker hears nothing of it. The first attempt starts at
/// the first poll.
#[must_use = "a call does nothing until it is polled"]
pub struct ResponseFuture<B, Z: Sleep> {
    // Boxed, because the drivers' futures have no name; a call over a network costs far more.
    inner: Pin<Box<dyn Future<Output = CallResult<B, Z>> + Send>>,
}

impl<B, Z: Sleep> ResponseFuture<B, Z> {
    pub(super) fn new(call: impl Future<Output = CallResult<B, Z>> + Send + 'static) -> Self {
        Self { inner: Box::pin(call) }
    }
}

impl<B, Z: Sleep> Future for ResponseFuture<B, Z> {
    type Output = CallResult<B, Z>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.inner.as_mut().poll(context)
    }
}

impl<B, Z: Sleep> fmt::Debug for ResponseFuture<B, Z> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

/// Makes one call; `ready` was polled ready for its first attempt.
pub(super) async fn call<S, B, Z, L>(
    ready: S,
    rules: GrpcRules<Z, L>,
    request: Request<Body>,
) -> CallResult<B, Z>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    Z: Sleep + Clone,
    for<'l> &'l L: Ledger,
{
    let GrpcRules { retrier, retried, idempotent, settings } = rules;
    let outgoing = GrpcRequest::new(request, settings);
    let mut report = CallReport::default();
    let classifier = GrpcClassifier { retried, outgoing: outgoing.clone() };
    #[cfg(feature = "metrics")]
    let recorded = outgoing.clone();
    let (time, template, mut ready) = (retrier.time().clone(), ready.clone(), Some(ready));
    let op = move |info: AttemptInfo| {
        let until = info.remaining.map(|left| time.now() + left);
        let (service, is_ready) = match ready.take() {
            Some(service) => (service, true),
            None => (template.clone(), false),
        };
        attempt((service, is_ready), outgoing.clone(), info, until)
    };
    let call = retrier.retry_with(op).classified_by(classifier).report(&mut report);
    let call = if idempotent { call } else { call.not_idempotent() };
    let result = match retrier.policy().hedge() {
        Some(_) => call.hedged().await,
        None => call.await,
    };
    #[cfg(feature = "metrics")]
    recorded.record(report.attempts(), (retrier.name(), retrier.policy().hedge().is_some()));
    finish(result, report, retrier.time())
}

/// One attempt: the channel made ready, and the headers of its response.
async fn attempt<S, B>(
    (mut service, is_ready): (S, bool),
    outgoing: GrpcRequest,
    info: AttemptInfo,
    until: Option<Instant>,
) -> Result<Reply<B>, BoxError>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    if !is_ready {
        poll_fn(|context| service.poll_ready(context)).await.map_err(Into::into)?;
    }
    let (request, copy) = outgoing.attempt(&info);
    match service.call(request).await {
        Ok(response) => Ok(Reply { attempt: info.number, until, response }),
        Err(_) if outgoing.is_overtaken(copy) => Err(Overtaken.into()),
        Err(error) => Err(error.into()),
    }
}

/// The classifier of the attempts of one call.
struct GrpcClassifier {
    retried: Retried,
    outgoing: GrpcRequest,
}

impl<B> Classifier<Reply<B>, BoxError> for GrpcClassifier {
    fn classify(&mut self, result: &Result<Reply<B>, BoxError>) -> Outcome {
        let outcome = match result {
            Ok(reply) => reply.outcome(self.retried),
            Err(error) => GrpcFailure::of(&**error, self.retried.codes).outcome,
        };
        match (outcome.verdict, result) {
            (Verdict::Ok, _) => {
                self.outgoing.commit();
                outcome
            }
            _ if self.outgoing.is_replayable() => outcome,
            _ => outcome.not_replayable(),
        }
    }

    #[cfg(feature = "metrics")]
    fn on_attempt(&mut self, attempt: &crate::AttemptEnd<'_, Reply<B>, BoxError>) {
        if let crate::NextStep::Retry(delay) = attempt.next {
            self.outgoing.add_delay(delay);
        }
    }
}

fn late() -> BoxError {
    Status::deadline_exceeded("the call ran out of its time").into()
}

/// Makes the caller's answer.
fn finish<B, Z: Sleep + Clone>(
    result: Result<Reply<B>, Error<BoxError>>,
    report: CallReport,
    time: &Z,
) -> CallResult<B, Z> {
    match result {
        Ok(reply) if report.stop() == Some(Stop::Succeeded) => {
            let until = reply.until.map(|until| (time.clone(), until));
            let mut response = reply.response.map(|body| DeadlineBody::new(body, until).or(late));
            if !report.is_clean() {
                response.extensions_mut().insert(report);
            }
            Ok(response)
        }
        Ok(reply) => {
            let last = report.history().last().map_or(0, |last| last.attempt);
            match reply.status() {
                Some(status) if reply.attempt == last => Err(CallError::replied(status, report)),
                before => Err(CallError::silent(before, report)),
            }
        }
        Err(end) => match end.into_inner() {
            Some(error) => Err(CallError::transport(error, report)),
            None => Err(CallError::silent(None, report)),
        },
    }
}
