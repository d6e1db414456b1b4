//! `Run::run` and `Run::run_hedged`.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use stagger::http::HttpReplies;
use stagger::{CallReport, Error, LocalLedger, Policy, Retrier, TokioTime};

use crate::hyper::HyperPool;
use crate::{Ask, CallOutcome, ContractCaller, Integration, Later};

/// The async executor.
#[derive(Clone, Copy, Debug)]
pub struct Async;

/// The async executor with copies of slow calls.
#[derive(Clone, Copy, Debug)]
pub struct Hedged;

impl Integration for Async {
    fn name(&self) -> &'static str {
        "async run"
    }

    fn calls(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        asks: Vec<Ask>,
    ) -> Later<Vec<CallOutcome>> {
        Box::pin(async move {
            let retrier = Retrier::new(policy, TokioTime).with_ledger(ledger);
            let (pool, mut ends) = (HyperPool::new(), Vec::new());
            for ask in asks {
                let mut report = CallReport::default();
                let retrier = retrier.clone();
                let run = retrier.call().classified_by(HttpReplies::default());
                let run = run.idempotent(ask.is_idempotent()).report(&mut report);
                let result = run.run(|| async { pool.clone().send(ask.request()?).await }).await;
                ends.push(end(result, &report));
            }
            ends
        })
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        let (retrier, pool) = (Retrier::new(policy, TokioTime), HyperPool::by_default());
        Box::new(move |ask| {
            let (retrier, pool) = (retrier.clone(), pool.clone());
            Box::pin(async move {
                let mut report = CallReport::default();
                let run = retrier.call().classified_by(HttpReplies::default()).report(&mut report);
                let result = run.run(|| async { pool.clone().send(ask.request()?).await }).await;
                end(result, &report)
            })
        })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
            "slow call gets a second copy" => Some("run_hedged makes copies"),
            _ => by_closure(promise),
        }
    }
}

impl Integration for Hedged {
    fn name(&self) -> &'static str {
        "hedged run"
    }

    fn calls(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        asks: Vec<Ask>,
    ) -> Later<Vec<CallOutcome>> {
        Box::pin(async move {
            let retrier = Retrier::new(policy, TokioTime).with_ledger(ledger);
            let (pool, mut ends) = (HyperPool::new(), Vec::new());
            for ask in asks {
                let mut report = CallReport::default();
                let retrier = retrier.clone();
                let run = retrier.call().classified_by(HttpReplies::default());
                let run = run.idempotent(ask.is_idempotent()).report(&mut report);
                let result =
                    run.run_hedged(|| async { pool.clone().send(ask.request()?).await }).await;
                ends.push(end(result, &report));
            }
            ends
        })
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        let (retrier, pool) = (Retrier::new(policy, TokioTime), HyperPool::by_default());
        Box::new(move |ask| {
            let (retrier, pool) = (retrier.clone(), pool.clone());
            Box::pin(async move {
                let mut report = CallReport::default();
                let run = retrier.call().classified_by(HttpReplies::default()).report(&mut report);
                let result =
                    run.run_hedged(|| async { pool.clone().send(ask.request()?).await }).await;
                end(result, &report)
            })
        })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        by_closure(promise)
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
