//! Calls of a closure, and what callers put around them.

use std::io;
use std::sync::Arc;

use stagger::hedge::HedgePlan;
use stagger::{ConfigError, PolicyBuilder, Span};
use tokio::time::{sleep, timeout};

use super::caller::{LayoutCaller, PATIENCE, caller, policy, retrier};
use super::upstream::Upstream;

/// After how long without an answer a second copy is sent.
const HEDGE: Span = Span::from_millis(100);
/// Items of a batch.
const ITEMS: [u32; 3] = [1, 2, 3];

/// Under `policy`, with nothing around the call.
pub(super) fn plain(
    upstream: Upstream,
    policy: PolicyBuilder,
) -> Result<LayoutCaller, ConfigError> {
    let retrier = retrier(policy)?;
    Ok(caller(move || {
        let (retrier, upstream) = (retrier.clone(), upstream.clone());
        async move {
            let _failed = retrier.retry_if(any).run(|| upstream.clone().answer()).await;
        }
    }))
}

/// The policy bounds the whole call.
pub(super) fn policy_deadline(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    plain(upstream, policy().deadline(Span::from(PATIENCE)))
}

/// `tokio::time::timeout` bounds the whole call, and drops it.
pub(super) fn tokio_timeout(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let call = plain(upstream, policy())?;
    Ok(caller(move || {
        let call = call();
        async {
            let _elapsed = timeout(PATIENCE, call).await;
        }
    }))
}

/// The call is a task, which its owner aborts.
pub(super) fn cancel(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let call = plain(upstream, policy())?;
    Ok(caller(move || {
        let call = call();
        async {
            let task = tokio::spawn(call);
            sleep(PATIENCE).await;
            task.abort();
        }
    }))
}

/// A second copy of a slow attempt.
pub(super) fn hedged(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let policy = policy().hedge(HedgePlan::fixed(HEDGE, 2)?);
    let retrier = retrier(policy)?;
    Ok(caller(move || {
        let (retrier, upstream) = (retrier.clone(), upstream.clone());
        async move {
            let _failed = retrier.retry_if(any).run_hedged(|| upstream.clone().answer()).await;
        }
    }))
}

/// Several items in one request.
pub(super) fn batch(upstream: Upstream) -> Result<LayoutCaller, ConfigError> {
    let retrier = Arc::new(retrier(policy())?);
    Ok(caller(move || {
        let (retrier, upstream) = (Arc::clone(&retrier), upstream.clone());
        async move {
            let batch = retrier.retry_if(any).run_batch(ITEMS.to_vec(), |items| {
                let upstream = upstream.clone();
                async move { upstream.answer().await.map(|()| items.into_iter().map(Ok).collect()) }
            });
            let _left: stagger::Batch<_, u32, _> = batch.await;
        }
    }))
}

fn any(_: &io::Error) -> bool {
    true
}
