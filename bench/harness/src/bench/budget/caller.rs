//! A caller: makes one call after another, each a future of its own.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use stagger::{ConfigError, Policy, PolicyBuilder, Retrier, Span, TokioTime};
use stagger_testkit::Mix;

/// Begins a call. Its future ends with the call, however that went: only arrivals are counted.
pub(super) type LayoutCaller = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// The time limit of callers that bring their own.
pub(super) const PATIENCE: Duration = Duration::from_millis(900);
/// The time limit of an attempt.
const ATTEMPT: Span = Span::from_millis(500);

/// All delays are drawn from this seed.
const SEED: u64 = 7;

/// A caller whose calls are the futures of `call`.
pub(super) fn caller<Fut: Future<Output = ()> + Send + 'static>(
    call: impl Fn() -> Fut + Send + 'static,
) -> LayoutCaller {
    Box::new(move || Box::pin(call()))
}

/// The policy of every layout: up to three attempts of half a second, and the default budget.
pub(super) fn policy() -> PolicyBuilder {
    Policy::builder().max_attempts(3).attempt_timeout(ATTEMPT)
}

/// Calls under `policy` by the runtime's clock, with a ledger of their own and the same delays in every run.
pub(super) fn retrier(policy: PolicyBuilder) -> Result<Retrier<TokioTime>, ConfigError> {
    Ok(Retrier::new(policy.build()?, TokioTime).with_entropy(Mix::new(SEED)))
}
