//! Runs one call, for the client and for the middleware.

use std::future::Future;
use std::sync::Arc;

use ::reqwest::{Method, Request, Response};
use stagger_core::breaker::Destination;
use stagger_core::classify::is_idempotent;
use stagger_core::retry::Stop;
use stagger_core::{Instant, Remedy, Verdict};

use super::classifier::BySend;
use super::failed_body::{DRAIN_TIME, FailedBody};
use super::replayable_request::ReplayableRequest;
use super::reply::{bounded, buffer};
use super::{CallOptions, ClientOptions, SendError};
use crate::http::{ByMethod, HttpReplies, IdempotencyKey};
use crate::{AttemptInfo, CallReport, Clock, Error, Ledgers, Policy, Retrier, TokioTime};

/// A policy, what its calls remember for each destination, and how requests are made.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    retrier: Retrier<TokioTime>,
    ledgers: Ledgers,
    options: Arc<ClientOptions>,
    replies: HttpReplies,
}

impl Engine {
    pub(super) fn new(policy: Policy, options: ClientOptions) -> Self {
        let mut replies = options.replies.carrying_out(Remedy::WithoutEarlyData);
        if options.refresh.is_some() {
            replies = replies.carrying_out(Remedy::RefreshAuth);
        }
        if options.fresh.is_some() {
            replies = replies.carrying_out(Remedy::FreshConnection);
        }
        let mut retrier = Retrier::new(policy, TokioTime);
        if let Some(ledger) = &options.ledger {
            retrier = retrier.with_ledger(Arc::clone(ledger));
        }
        if let Some(name) = options.name {
            retrier = retrier.named(name);
        }
        Self { retrier, ledgers: Ledgers::new(&policy), options: Arc::new(options), replies }
    }

    pub(super) const fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    pub(super) fn fresh_client(&self) -> Option<&::reqwest::Client> {
        self.options.fresh.as_ref()
    }

    /// Makes the call; `send` makes an attempt.
    pub(super) async fn run<S, Fut>(
        &self,
        mut request: Request,
        call: CallOptions,
        send: S,
        report: &mut CallReport,
    ) -> Result<Response, Error<SendError>>
    where
        S: Fn(Request, Option<Remedy>) -> Fut,
        Fut: Future<Output = Result<Response, SendError>>,
    {
        let key = call.key.or_else(|| self.new_key(request.method()));
        if let Some(key) = key {
            key.write(request.headers_mut());
        }
        let by_method = || ByMethod.allows(request.method(), request.headers());
        let idempotent = call.idempotent.unwrap_or_else(by_method);
        let retrier = self.retrier(&request, call.policy);
        let limit = retrier.policy().limits().deadline();
        let until = limit.map(|limit| TokioTime.now() + limit);
        let hedged = retrier.policy().hedge().is_some();
        let kept = Arc::new(ReplayableRequest::new(request, self.options.replay_limit, hedged));
        let classifier = self.classifier(&kept, until);
        let run = retrier.call().classified_by(classifier).idempotent(idempotent).report(report);
        let (kept, send) = (&kept, &send);
        let attempt = |attempt: AttemptInfo| async move {
            let request = self.prepare(kept, &attempt).await?;
            let reply = send(request, attempt.remedy).await?;
            self.read(reply, call.buffered).await
        };
        let answer = match hedged {
            true => run.run_hedged_with(attempt).await,
            false => run.run_with(attempt).await,
        };
        answer.map(|reply| finish(reply, report, until))
    }

    /// Ends the call of a request that could not be built.
    pub(super) async fn refuse(
        &self,
        error: ::reqwest::Error,
        report: &mut CallReport,
    ) -> Result<Response, Error<SendError>> {
        let mut error = Some(error);
        let run = self.retrier.retry_if(|_: &SendError| false).report(report);
        // There is one attempt, so it has the error.
        run.run(|| {
            let error = error.take();
            std::future::ready(Err(error.map_or(SendError::NotReplayable, SendError::Reqwest)))
        })
        .await
    }

    /// A key for a request that could not be sent twice without one.
    fn new_key(&self, method: &Method) -> Option<IdempotencyKey> {
        let make = self.options.key.filter(|_| !is_idempotent(method.as_str()))?;
        Some(make())
    }

    /// The retrier of this destination.
    fn retrier(&self, request: &Request, policy: Option<Policy>) -> Retrier<TokioTime> {
        let retrier = match policy {
            Some(policy) => self.retrier.clone().under(policy),
            None => self.retrier.clone(),
        };
        if self.options.ledger.is_some() {
            return retrier;
        }
        // A URL without a host fails in reqwest, before anybody is called.
        match Destination::of_url(request.url().as_str()) {
            Ok(destination) => {
                retrier.with_ledger(self.ledgers.ledger(TokioTime.now(), &destination))
            }
            Err(_) => retrier,
        }
    }

    async fn prepare(
        &self,
        kept: &ReplayableRequest,
        attempt: &AttemptInfo,
    ) -> Result<Request, SendError> {
        if let (Some(Remedy::RefreshAuth), Some(refresh)) = (attempt.remedy, &self.options.refresh)
        {
            refresh().await;
        }
        let mut request = kept.attempt().ok_or(SendError::NotReplayable)?;
        self.options.attempt_headers.write(attempt, request.headers_mut());
        if let Some(prepare) = &self.options.prepare {
            prepare(&mut request, attempt);
        }
        Ok(request)
    }

    fn classifier(&self, kept: &Arc<ReplayableRequest>, until: Option<Instant>) -> BySend {
        let (options, kept) = (Arc::clone(&self.options), Arc::clone(kept));
        BySend { options, kept, until, drain: None }
    }

    /// Reads of the reply what belongs to the attempt: of a failed one, only what a provider's classifier
    /// has to see.
    async fn read(&self, reply: Response, limit: Option<usize>) -> Result<Response, SendError> {
        let outcome = self.replies.reply(reply.status(), reply.headers());
        if outcome.verdict != Verdict::Ok {
            let reply = FailedBody::share(reply, outcome);
            if let (Some(_), Some(body)) = (&self.options.provider, FailedBody::of(&reply)) {
                body.drain(DRAIN_TIME).await;
            }
            return Ok(reply);
        }
        match limit {
            Some(limit) => buffer(reply, limit).await,
            None => Ok(reply),
        }
    }
}

/// The reply as its caller gets it: with the end of the call where it failed, and with its deadline.
fn finish(mut reply: Response, report: &CallReport, until: Option<Instant>) -> Response {
    FailedBody::hand_over(&mut reply);
    if let Some(done) = report.done().filter(|done| done.stop != Stop::Succeeded) {
        reply.extensions_mut().insert(done);
    }
    match until {
        Some(until) => bounded(reply, until),
        None => reply,
    }
}
