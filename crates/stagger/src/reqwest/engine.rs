//! Runs one call, for the client and for the middleware.

use std::future::Future;
use std::sync::Arc;

use ::reqwest::{Method, Request, Response, Url};
use stagger_core::breaker::Destination;
use stagger_core::classify::is_idempotent;
use stagger_core::retry::Stop;
use stagger_core::{Instant, Remedy, Verdict};

use super::attempt::{BySend, ReplayableRequest};
use super::reply::{DRAIN_TIME, FailedBody, bounded, buffer};
use super::{CallOptions, ClientOptions, SendError};
use crate::http::{ByMethod, HttpReplies, IdempotencyKey, ServerName};
use crate::observe::HttpSpan;
use crate::{
    AttemptInfo, CallReport, Clock, Error, Ledgers, LocalLedger, Policy, Retrier, TokioTime,
};

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
        let replayable = ReplayableRequest::new(request, self.options.replay_limit, hedged);
        let (kept, send) = (&replayable, &send);
        let classifier = BySend { options: &self.options, kept, until, drain: None };
        let attempt = |attempt: AttemptInfo| async move {
            let mut span = HttpSpan::start(attempt.number, || kept.target());
            let sent = span.follow(async {
                let request = self.prepare(kept, &attempt).await?;
                send(request, attempt.remedy).await
            });
            match sent.await {
                Ok(reply) => {
                    span.replied(reply.status().as_u16());
                    self.read(reply, call.buffered).await
                }
                Err(error) => {
                    span.failed(error.kind());
                    Err(error)
                }
            }
        };
        let call = retrier.retry_with(attempt).classified_by(classifier).report(report);
        let call = if idempotent { call } else { call.not_idempotent() };
        let answer = if hedged { call.hedged().await } else { call.await };
        answer.map(|reply| finish(reply, report, until, replayable))
    }

    /// Ends the call of a request that could not be built.
    pub(super) async fn refuse(
        &self,
        error: ::reqwest::Error,
        report: &mut CallReport,
    ) -> Result<Response, Error<SendError>> {
        let mut error = Some(error);
        // There is one attempt, so it has the error.
        let refused = self.retrier.retry(|| {
            let error = error.take();
            std::future::ready(Err(error.map_or(SendError::NotReplayable, SendError::Reqwest)))
        });
        refused.when(|_| false).report(report).await
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
        match self.ledger(request.url()) {
            Some(ledger) => retrier.with_ledger(ledger),
            // A URL without a host fails in reqwest, before anybody is called.
            None => retrier,
        }
    }

    /// The ledger of the server of this URL. Nearly every request goes to a server that is known, and finds its
    /// ledger by a name on the stack.
    fn ledger(&self, url: &Url) -> Option<Arc<LocalLedger>> {
        let now = TokioTime.now();
        let name = ServerName::new(url.scheme(), url.host_str()?, url.port_or_known_default()?);
        let known = name.and_then(|name| self.ledgers.find(now, name.as_str()));
        let make = || Some(self.ledgers.ledger(now, &Destination::of_url(url.as_str()).ok()?));
        known.or_else(make)
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

    /// Reads of the reply what belongs to the attempt: of a failed one, only what a provider's classifier
    /// has to see, or what may hold a hint.
    async fn read(&self, reply: Response, limit: Option<usize>) -> Result<Response, SendError> {
        let outcome = self.replies.reply(reply.status(), reply.headers());
        if outcome.verdict != Verdict::Ok {
            let reply = FailedBody::share(reply, outcome);
            if let Some(body) = FailedBody::of(&reply).filter(|_| self.options.reads_bodies()) {
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
fn finish(
    mut reply: Response,
    report: &CallReport,
    until: Option<Instant>,
    sent: ReplayableRequest,
) -> Response {
    FailedBody::hand_over(&mut reply);
    if let Some(done) = report.done().filter(|done| done.stop != Stop::Succeeded) {
        reply.extensions_mut().insert(done);
    }
    match until {
        Some(until) => bounded(reply, until, sent.into_url()),
        None => reply,
    }
}
