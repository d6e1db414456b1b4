//! The client as users of reqwest-retry make it.

// The guide shows what follows.
use std::time::Duration;

use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};

pub fn client() -> ClientWithMiddleware {
    let retries = ExponentialBackoff::builder()
        .retry_bounds(Duration::from_millis(500), Duration::from_secs(10))
        .build_with_max_retries(3);
    ClientBuilder::new(reqwest::Client::new())
        .with(RetryTransientMiddleware::new_with_policy(retries))
        .build()
}

pub async fn stock(
    client: &ClientWithMiddleware,
    url: &str,
) -> Result<reqwest::Response, reqwest_middleware::Error> {
    client.get(url).send().await
}
