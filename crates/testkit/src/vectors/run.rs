//! Runs all vector files.

use super::{
    Suite, aws, backoff, breaker, budgets, cubic, grpc, headers, retry_after, structured_fields,
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
        grpc::throttled(),
        headers::dates(),
        headers::pushbacks(),
        headers::rate_limits(),
        retry_after::run(),
        structured_fields::run(),
    ];
    files.into_iter().flatten().collect()
}
