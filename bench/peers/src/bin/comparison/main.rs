//! The peers' side of docs/guides/comparison.md: each task as their users write it, run once, by
//! `cargo run --bin comparison --features comparison` in this folder.

mod grpc;
mod http;
mod service;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable, RetryableWithContext};

#[derive(Debug, PartialEq)]
struct CallFault {
    busy: bool,
    after: Option<Duration>,
}

impl CallFault {
    fn is_busy(&self) -> bool {
        self.busy
    }
}

static TRIES: AtomicU32 = AtomicU32::new(0);

/// Busy at every odd try.
async fn fetch() -> Result<u32, CallFault> {
    let tries = TRIES.fetch_add(1, Ordering::Relaxed);
    if tries % 2 == 0 { Err(CallFault { busy: true, after: None }) } else { Ok(tries) }
}

async fn retry_if_busy() -> Result<u32, CallFault> {
    fetch.retry(ExponentialBuilder::default().with_jitter()).when(|e| e.is_busy()).await
}

async fn the_servers_delay() -> Result<u32, CallFault> {
    fetch
        .retry(ExponentialBuilder::default().with_jitter())
        .when(|e| e.is_busy())
        .adjust(|e, delay| e.after.or(delay))
        .await
}

async fn another_timer() -> Result<u32, CallFault> {
    fetch
        .retry(ExponentialBuilder::default().with_jitter())
        .when(|e| e.is_busy())
        .sleep(tokio::time::sleep)
        .await
}

struct Link {
    dials: u32,
}

impl Link {
    async fn send(&mut self) -> Result<u32, CallFault> {
        self.dials += 1;
        if self.dials < 2 { Err(CallFault { busy: true, after: None }) } else { Ok(self.dials) }
    }
}

async fn state_in_a_task(link: Link) -> Result<u32, CallFault> {
    let send = |mut link: Link| async move {
        let sent = link.send().await;
        (link, sent)
    };
    let policy = ExponentialBuilder::default().with_jitter();
    let (_link, sent) = send.retry(policy).context(link).when(|e| e.is_busy()).await;
    sent
}

fn breaker_alone() -> bool {
    let breaker = recloser::Recloser::custom().error_rate(0.5).closed_len(2).build();
    let fail = || breaker.call(|| Err::<(), _>("down"));
    let refused = |end| matches!(end, Err(recloser::Error::Rejected));
    (0..9).any(|_| refused(fail()))
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    assert_eq!(retry_if_busy().await, Ok(1));
    assert_eq!(the_servers_delay().await, Ok(3));
    assert_eq!(another_timer().await, Ok(5));
    let task = tokio::spawn(state_in_a_task(Link { dials: 0 }));
    assert_eq!(task.await.ok(), Some(Ok(2)));
    assert!(breaker_alone());
    assert_eq!(http::retry_after().await.ok().as_deref(), Some("done"));
    assert_eq!(grpc::service_config().await.ok(), Some(7));
    assert_eq!(service::with_budget().await.ok(), Some(7));
}
