//! Runs all vector files.

use super::{
    Suite, aws, backoff, breaker, budgets, cubic, grpc, grpc_throttle, http_date, pushback,
    ratelimit, retry_after, structured_fields,
};

/// Runs every vector file.
#[must_use]
pub fn run_all() -> Vec<Suite> {
    let files = [
        aws::run(),
        backoff::run(),
        breaker::run(),
        budgets::run(),
        cubic::run(),
        grpc::run(),
        grpc_throttle::run(),
        http_date::run(),
        pushback::run(),
        ratelimit::run(),
        retry_after::run(),
        structured_fields::run(),
    ];
    files.into_iter().flatten().collect()
}
