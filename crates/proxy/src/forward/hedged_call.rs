//! A call over HTTP whose policy hedges: a second copy of a slow attempt, and the reply of the one that answers first.

use std::error::Error as StdError;
use std::fmt;

use http::{Request, Response};
use hyper::body::Incoming;
use stagger::classify::is_idempotent;
use stagger::http::{
    AttemptHeaders, CallerDeadline, DeadlineBody, HttpReplies, IdempotencyKey, Replayable,
};
use stagger::tower::Idempotent;
use stagger::{AttemptInfo, CallReport, Classifier, Clock, Outcome, Stop, TokioTime, Verdict};
use tower_service::Service;

use super::body_memory::CountedBody;
use super::http_call::{passed_on, refused};
use super::in_flight::{Held, ReplyBody};
use super::refusal::OwnReply;
use super::route::{Route, UpstreamServices};
use crate::config::AddedKey;
use crate::destination::{BoxError, UpstreamErrors};

/// Makes the call of a request that goes to this upstream.
pub(super) async fn call(
    (route, services): (&Route, &UpstreamServices),
    mut request: Request<CountedBody<Incoming>>,
    held: Held,
) -> Result<Response<ReplyBody>, OwnReply> {
    let (upstream, rules) = (&*services.upstream, &route.settings.retry);
    upstream.stats.call();
    if !is_idempotent(request.method().as_str()) {
        match rules.added_key {
            AddedKey::None => {}
            AddedKey::Quoted => IdempotencyKey::random().write(request.headers_mut()),
            AddedKey::Unquoted => IdempotencyKey::random().unquoted().write(request.headers_mut()),
        }
    }
    let idempotent = services.repeats.is_idempotent(&request);
    let asked = request.extensions().get::<CallerDeadline>();
    let shorter = asked.and_then(|asked| services.retrier.within(asked.0));
    let retrier = shorter.unwrap_or_else(|| services.retrier.clone());
    let until = retrier.policy().limits().deadline().map(|limit| TokioTime.now() + limit);

    let (head, body) = request.into_parts();
    let body = Replayable::shared(body, rules.replay_limit);
    let shown = AttemptHeaders::new().number().remaining();
    let attempt = |attempt: AttemptInfo| {
        let sent = body.attempt().map(|body| {
            let mut head = head.clone();
            shown.write(&attempt, &mut head.headers);
            head.extensions.insert(attempt);
            services.attempts.clone().call(Request::from_parts(head, body))
        });
        async { sent.ok_or(BodyGone)?.await }
    };
    let replies = HttpReplies::default().with_errors(UpstreamErrors);
    let classifier = ByKeptBody { replies, kept: || body.is_replayable() };
    let mut report = CallReport::default();
    let call = retrier.retry_with(attempt).classified_by(classifier).report(&mut report);
    let call = if idempotent { call } else { call.not_idempotent() };
    let result = call.hedged().await;
    match report.stop() {
        Some(Stop::Succeeded) | None => upstream.stats.success(),
        Some(stop) => upstream.stats.stop(stop.name()),
    }
    let reply = result.map_err(|end| refused(route, upstream, &end))?;
    let reply = reply.map(|body| DeadlineBody::new(body, until.map(|until| (TokioTime, until))));
    Ok(passed_on(reply).map(|body| body.holding(held)))
}

/// Classifies as the calls of one copy at a time do, and says where the body is gone.
struct ByKeptBody<F> {
    replies: HttpReplies<UpstreamErrors>,
    kept: F,
}

impl<B, F: Fn() -> bool> Classifier<Response<B>, BoxError> for ByKeptBody<F> {
    fn classify(&mut self, result: &Result<Response<B>, BoxError>) -> Outcome {
        let gone = result.as_ref().err().is_some_and(|error| error.is::<BodyGone>());
        let outcome = match gone {
            true => Outcome::new(Verdict::Unprocessed),
            false => self.replies.classify(result),
        };
        let kept = (self.kept)();
        if outcome.verdict == Verdict::Ok || kept { outcome } else { outcome.not_replayable() }
    }
}

/// An attempt that has no body any more.
#[derive(Clone, Copy, Debug)]
struct BodyGone;

impl fmt::Display for BodyGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of the request is larger than what is kept of it")
    }
}

impl StdError for BodyGone {}
