//! The same client with stagger.

// The guide shows what follows.
use std::time::Duration;

use stagger::reqwest::{Client, SendError, client_builder};
use stagger::{Backoff, Policy};

/// One for the program: it has a budget for each server.
pub fn client() -> Result<Client, Box<dyn std::error::Error>> {
    let policy = Policy::builder()
        .backoff(Backoff::exponential(Duration::from_millis(500), Duration::from_secs(10))?)
        .max_attempts(4)
        .attempt_timeout(Duration::from_secs(10))
        .deadline(Duration::from_secs(30))
        .build()?;
    Ok(Client::new(client_builder().build()?, policy))
}

pub async fn stock(
    client: &Client,
    url: &str,
) -> Result<reqwest::Response, stagger::Error<SendError>> {
    client.get(url).send().await
}
