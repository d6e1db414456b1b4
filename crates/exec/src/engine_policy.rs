//! The policy as the engine gets it: without what the supervisor of the attempts does itself.

use stagger_core::{Policy, Span};

/// The same policy without an attempt's own time limit, because the whole group must be gone before the engine hears of
/// it, and without copies, which commands have none of. `single` allows one attempt only; `spent` is the part of the
/// deadline that is over.
pub(crate) fn for_engine(policy: &Policy, single: bool, spent: Span) -> Policy {
    let limits = policy.limits();
    let mut builder = Policy::builder()
        .backoff(*policy.backoff())
        .hints(*policy.hints())
        .min_attempt_time(limits.min_attempt_time())
        .budget(*policy.budget())
        .wait_for_breaker(policy.waits_for_breaker())
        .pause_when_empty(policy.pauses_when_empty());
    builder = match limits.max_attempts() {
        _ if single => builder.max_attempts(1),
        Some(most) => builder.max_attempts(most),
        None => builder.unlimited_attempts(),
    };
    if let Some(deadline) = limits.deadline() {
        builder = builder.deadline(deadline - spent);
    }
    if let Some(breaker) = policy.breaker() {
        builder = builder.breaker(*breaker);
    }
    if let Some(plan) = policy.adaptive() {
        builder = builder.adaptive(*plan);
    }
    if let Some(plan) = policy.concurrency_limit() {
        builder = builder.concurrency_limit(*plan);
    }
    if let Some(plan) = policy.rate_limit() {
        builder = builder.rate_limit(*plan);
    }
    builder.build().expect("a policy that was valid stays so with fewer limits")
}
