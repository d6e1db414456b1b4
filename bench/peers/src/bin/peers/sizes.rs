//! The bytes that a wrapping future adds to the operation's own.

use std::error::Error;
use std::time::Duration;

use serde::Serialize;
use stagger::{Policy, Retrier, TokioTime};
use tower::Service;

use crate::group::version;
use crate::operation::{Failed, FailingServer, asynch};
use crate::services::TowerRule;

/// One future.
#[derive(Debug, Serialize)]
pub(crate) struct CallSiteSize {
    name: &'static str,
    version: String,
    bytes_over: usize,
}

pub(crate) fn rows() -> Result<Vec<CallSiteSize>, Box<dyn Error>> {
    let x = 1;
    let ours = Retrier::new(Policy::default(), TokioTime);
    let again = again::RetryPolicy::exponential(Duration::from_millis(100));
    let mut tower = tower::retry::Retry::new(TowerRule::new(None)?, FailingServer);
    Ok(vec![
        size("stagger", &ours.retry(move || asynch(x)).when(|_: &Failed| true).into_future()),
        size(
            "backon",
            &backon::Retryable::retry(move || asynch(x), backon::ExponentialBuilder::default()),
        ),
        size("tokio-retry", &{
            use tokio_retry::strategy::{ExponentialBackoff, jitter};
            tokio_retry::Retry::start(
                ExponentialBackoff::from_millis(2).map(jitter).take(3),
                move || asynch(x),
            )
        }),
        size("tokio-retry2", &{
            use tokio_retry2::{
                RetryError,
                strategy::{ExponentialBackoff, jitter},
            };
            let rule = ExponentialBackoff::from_millis(2).map(jitter).take(3);
            tokio_retry2::Retry::spawn(rule, move || async move {
                asynch(x).await.map_err(RetryError::transient)
            })
        }),
        size(
            "backoff",
            &backoff::future::retry(backoff::ExponentialBackoff::default(), move || async move {
                asynch(x).await.map_err(backoff::Error::transient)
            }),
        ),
        size("again", &again.retry(move || asynch(x))),
        size("tower", &tower.call(x)),
    ])
}

fn size<F>(name: &'static str, future: &F) -> CallSiteSize {
    let bytes_over = size_of_val(future).saturating_sub(size_of_val(&asynch(1)));
    CallSiteSize { name, version: version(name), bytes_over }
}
