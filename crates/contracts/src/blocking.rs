//! `Retrier::retry_blocking` with a blocking client.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use stagger::http::HttpReplies;
use stagger::{AttemptInfo, CallReport, LocalLedger, Policy, Retrier, StdTime};
use ureq::Agent;

use crate::asynch::{by_closure, end};
use crate::{Ask, CallOutcome, ContractCaller, Integration, Later};

/// The blocking executor, with ureq.
#[derive(Clone, Copy, Debug)]
pub struct Blocking;

impl Integration for Blocking {
    fn name(&self) -> &'static str {
        "blocking run"
    }

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        let retrier = Retrier::new(policy, StdTime).with_ledger(ledger);
        on_a_thread(retrier, true)
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        on_a_thread(Retrier::new(policy, StdTime), false)
    }

    /// On the thread of the outer call, which is a blocking one.
    fn nested(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        ask: Ask,
    ) -> Later<Vec<CallOutcome>> {
        let work = move || {
            let outer = Retrier::new(Policy::default(), StdTime);
            let inner = Retrier::new(policy, StdTime).with_ledger(ledger);
            let nested = || Ok::<_, io::Error>(call(&inner, &agent(), &ask, true));
            outer.retry_blocking(nested).call().into_iter().collect()
        };
        Box::pin(async { tokio::task::spawn_blocking(work).await.unwrap_or_default() })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
            "dropped call leaves the ledger level"
            | "retry that is dropped in flight stays paid"
            | "time limit around the call makes no retry free" => {
                Some("a blocking call cannot be dropped; Cancel ends it")
            }
            "slow call gets a second copy" => Some("a thread makes one attempt at a time"),
            _ => by_closure(promise),
        }
    }
}

/// Calls by one agent, each on a thread that may block.
fn on_a_thread(retrier: Retrier<StdTime>, by_method: bool) -> ContractCaller {
    let agent = agent();
    Box::new(move |ask| {
        let (retrier, agent) = (retrier.clone(), agent.clone());
        let work = tokio::task::spawn_blocking(move || call(&retrier, &agent, &ask, by_method));
        Box::pin(async { work.await.unwrap_or_else(|error| CallOutcome::failed(&error)) })
    })
}

/// One call; if `by_method`, its method says whether it is idempotent.
fn call(retrier: &Retrier<StdTime>, agent: &Agent, ask: &Ask, by_method: bool) -> CallOutcome {
    let mut report = CallReport::default();
    let call = retrier.retry_blocking_with(|info, _| send(agent, ask, info));
    let call = call.classified_by(HttpReplies::default()).report(&mut report);
    let once = by_method && !ask.is_idempotent();
    let call = if once { call.not_idempotent() } else { call };
    end(call.call(), &report)
}

/// Replies are classified by their status, so none is an error.
fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).build().into()
}

fn send(agent: &Agent, ask: &Ask, info: AttemptInfo) -> io::Result<Response<Bytes>> {
    let request = Request::builder().method(ask.method.clone()).uri(&ask.url);
    let request = request.body(ask.body.to_vec()).map_err(io::Error::other)?;
    let limit = info.timeout.map(|span| Duration::from_nanos(span.as_nanos()));
    let request = agent.configure_request(request).timeout_global(limit).build();
    let (head, mut body) = agent.run(request).map_err(io_error)?.into_parts();
    let body = body.read_to_vec().map_err(io_error)?;
    Ok(Response::from_parts(head, body.into()))
}

/// A limit that was hit is of the kind that std gives it.
fn io_error(error: ureq::Error) -> io::Error {
    match error {
        ureq::Error::Timeout(_) => io::Error::new(io::ErrorKind::TimedOut, error),
        other => match other.into_io() {
            // The body's reader hands errors of its own through those of std.
            error if error.get_ref().is_some_and(is_timeout) => {
                io::Error::new(io::ErrorKind::TimedOut, error)
            }
            error => error,
        },
    }
}

fn is_timeout(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(ureq::Error::Timeout(_)))
}
