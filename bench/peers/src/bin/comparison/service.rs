//! tower: retries with a budget.

use std::error::Error;
use std::future::Ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tower::retry::Policy;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::util::rng::HasherRng;
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::CallFault;

#[derive(Clone)]
struct WithBudget {
    left: u32,
    backoff: ExponentialBackoff,
    budget: Arc<TpsBudget>,
}

impl Policy<u32, u32, CallFault> for WithBudget {
    type Future = tokio::time::Sleep;

    fn retry(&mut self, _: &mut u32, answer: &mut Result<u32, CallFault>) -> Option<Self::Future> {
        match answer {
            Err(error) if error.is_busy() => {
                self.left = self.left.checked_sub(1)?;
                self.budget.withdraw().then(|| self.backoff.next_backoff())
            }
            _ => {
                self.budget.deposit();
                None
            }
        }
    }

    fn clone_request(&mut self, request: &u32) -> Option<u32> {
        Some(*request)
    }
}

pub(crate) async fn with_budget() -> Result<u32, Box<dyn Error>> {
    let (base, cap) = (Duration::from_millis(100), Duration::from_secs(10));
    let backoff =
        ExponentialBackoffMaker::new(base, cap, 0.5, HasherRng::default())?.make_backoff();
    let policy = WithBudget { left: 2, backoff, budget: Arc::new(TpsBudget::default()) };
    let mut service = ServiceBuilder::new().retry(policy).service_fn(server);
    let ready = service.ready().await.map_err(|fault| format!("{fault:?}"))?;
    Ok(ready.call(7).await.map_err(|fault| format!("{fault:?}"))?)
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Busy at first.
fn server(item: u32) -> Ready<Result<u32, CallFault>> {
    let busy = CALLS.fetch_add(1, Ordering::Relaxed) == 0;
    std::future::ready(if busy { Err(CallFault { busy: true, after: None }) } else { Ok(item) })
}
