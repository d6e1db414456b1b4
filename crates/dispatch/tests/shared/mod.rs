//! The application, endpoints and messages of tests with real nodes.

use std::num::NonZeroU32;

use stagger::budget::BudgetPlan;
use stagger::{Backoff, Instant, Policy, Span};
use stagger_dispatch::node::Submission;
use stagger_scheduler::model::*;
use uuid::Uuid;

pub(crate) fn application(id: ApplicationId) -> Application {
    let slots = NonZeroU32::new(1000).expect("above zero");
    Application::new(id, "shop", slots, Instant::ORIGIN)
}

pub(crate) fn id(n: u128) -> EndpointId {
    EndpointId::from_uuid(Uuid::from_u128(n))
}

/// An endpoint that gives up after this many attempts; its retries come after 10 to 20 ms at most.
pub(crate) fn endpoint(
    application: ApplicationId,
    n: u128,
    url: &str,
    max_attempts: u32,
) -> Endpoint {
    let backoff =
        Backoff::exponential(Span::from_millis(10), Span::from_millis(20)).expect("it fits");
    let policy = Policy::builder()
        .backoff(backoff)
        .max_attempts(max_attempts)
        .budget(BudgetPlan::Unlimited)
        .build()
        .expect("it is valid");
    Endpoint {
        policy,
        permanent: Statuses::try_from(vec![422]).expect("a status"),
        secrets: vec![Secret { kind: SecretKind::Symmetric, key: vec![7; 32], until: None }],
        ..Endpoint::new(id(n), application, url, Instant::ORIGIN)
    }
}

pub(crate) fn submission(payload: &str) -> Submission {
    Submission::json("invoice.paid".parse().expect("a type"), payload.to_owned())
}
