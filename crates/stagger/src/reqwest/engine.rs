//! Runs one call, for the client and for the middleware.

use std::future::Future;
use std::sync::Arc;

use ::reqwest::{Request, Response};
use stagger_core::breaker::Destination;
use stagger_core::{Remedy, Verdict};

use super::judge::BySend;
use super::kept::Kept;
use super::reply::{buffer, read_ahead};
use super::{CallOptions, Options, SendError};
use crate::http::{ByMethod, HttpReplies};
use crate::{AttemptInfo, Clock, Error, Ledgers, LocalLedger, Policy, Report, Retrier, TokioTime};

/// A policy, what its calls remember for each destination, and how requests are made.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    retrier: Retrier<TokioTime>,
    ledgers: Ledgers,
    options: Arc<Options>,
    replies: HttpReplies,
}

impl Engine {
    pub(super) fn new(policy: Policy, options: Options) -> Self {
        let mut replies = options.replies.carrying_out(Remedy::WithoutEarlyData);
        if options.refresh.is_some() {
            replies = replies.carrying_out(Remedy::RefreshAuth);
        }
        if options.fresh.is_some() {
            replies = replies.carrying_out(Remedy::FreshConnection);
        }
        let retrier = Retrier::new(policy, TokioTime);
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
        report: &mut Report,
    ) -> Result<Response, Error<SendError>>
    where
        S: Fn(Request, Option<Remedy>) -> Fut,
        Fut: Future<Output = Result<Response, SendError>>,
    {
        if let Some(key) = &call.key {
            key.write(request.headers_mut());
        }
        let idempotent = call.idempotent || ByMethod.allows(request.method(), request.headers());
        let retrier = self.retrier(&request, call.policy);
        let kept = Arc::new(Kept::new(request, self.options.replay_limit));
        let judge = BySend { replies: self.replies, kept: Arc::clone(&kept) };
        let run = retrier.call().judged_by(judge).idempotent(idempotent).report(report);
        let (kept, send) = (&kept, &send);
        run.run_with(|attempt| async move {
            let request = self.prepare(kept, &attempt).await?;
            let reply = send(request, attempt.remedy).await?;
            self.read(reply, call.buffered).await
        })
        .await
    }

    /// The retrier of this destination.
    fn retrier(
        &self,
        request: &Request,
        policy: Option<Policy>,
    ) -> Retrier<TokioTime, LocalLedger> {
        let retrier = match policy {
            Some(policy) => Retrier::new(policy, TokioTime),
            None => self.retrier.clone(),
        };
        // A URL without a host fails in reqwest, before anybody is called.
        match Destination::of_url(request.url().as_str()) {
            Ok(destination) => {
                retrier.with_ledger(self.ledgers.ledger(TokioTime.now(), &destination))
            }
            Err(_) => retrier,
        }
    }

    async fn prepare(&self, kept: &Kept, attempt: &AttemptInfo) -> Result<Request, SendError> {
        if let (Some(Remedy::RefreshAuth), Some(refresh)) = (attempt.remedy, &self.options.refresh)
        {
            refresh().await;
        }
        let mut request = kept.attempt().ok_or(SendError::NotReplayable)?;
        self.options.told.write(attempt, request.headers_mut());
        if let Some(prepare) = &self.options.prepare {
            prepare(&mut request, attempt);
        }
        Ok(request)
    }

    /// Reads of the reply what belongs to the attempt.
    async fn read(&self, reply: Response, limit: Option<usize>) -> Result<Response, SendError> {
        let outcome = self.replies.reply(reply.status(), reply.headers());
        match limit {
            _ if outcome.verdict != Verdict::Ok => Ok(read_ahead(reply).await),
            Some(limit) => buffer(reply, limit).await,
            None => Ok(reply),
        }
    }
}
