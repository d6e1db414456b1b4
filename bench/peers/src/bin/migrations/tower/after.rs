//! The same service with stagger.

use crate::shop::Fault;

// The guide shows what follows.
use std::time::Duration;

use stagger::tower::StaggerLayer;
use stagger::{Backoff, Policy, Retrier};
use tower::util::BoxCloneService;
use tower::{BoxError, Service, ServiceBuilder};

pub fn retried<S>(server: S) -> Result<BoxCloneService<&'static str, usize, BoxError>, BoxError>
where
    S: Service<&'static str, Response = usize, Error = Fault> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    let delays = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(10))?;
    let policy = Policy::builder().backoff(delays).max_attempts(4).build()?;
    let layer = StaggerLayer::new(Retrier::of(policy)).when(|error: &Fault| error.is_busy());
    Ok(BoxCloneService::new(
        ServiceBuilder::new().map_err(BoxError::from).layer(layer).service(server),
    ))
}
