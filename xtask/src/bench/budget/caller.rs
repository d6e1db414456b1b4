//! A caller: makes one call after another, each a future of its own.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use stagger::{Policy, PolicyBuilder, Span};

/// Begins a call. Its future ends with the call, however that went: only arrivals are counted.
pub(super) type Caller = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// How long callers wait that bring a time limit of their own.
pub(super) const PATIENCE: Duration = Duration::from_millis(900);
/// The time limit of an attempt.
const ATTEMPT: Span = Span::from_millis(500);

/// A caller whose calls are the futures of `call`.
pub(super) fn caller<Fut: Future<Output = ()> + Send + 'static>(
    call: impl Fn() -> Fut + Send + 'static,
) -> Caller {
    Box::new(move || Box::pin(call()))
}

/// The policy of every layout: up to three attempts of half a second, and the default budget.
pub(super) fn policy() -> PolicyBuilder {
    Policy::builder().max_attempts(3).attempt_timeout(ATTEMPT)
}
