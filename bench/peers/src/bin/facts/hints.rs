//! Server hints and the bounds of a deadline.

use std::cell::Cell;
use std::error::Error;
use std::future::ready;
use std::time::Duration;

use stagger::{Hint, Outcome, Policy, Retrier, Span, TokioTime, Verdict};
use tokio::time::Instant;

use crate::{fact, paused};

pub(crate) fn facts() -> Result<(), Box<dyn Error>> {
    ignored()?;
    deadline()
}

/// The server asks for half a minute.
fn ignored() -> Result<(), Box<dyn Error>> {
    let theirs = paused(async {
        use tokio_retry2::{Retry, RetryError, strategy::FixedInterval};
        let (start, tries) = (Instant::now(), Cell::new(0));
        let op = || {
            ready(match tries.replace(tries.get() + 1) {
                0 => Err(RetryError::Transient {
                    err: (),
                    retry_after: Some(Duration::from_secs(30)),
                }),
                _ => Ok(()),
            })
        };
        let _ = Retry::spawn(FixedInterval::from_millis(10).take(1), op).await;
        start.elapsed()
    })?;
    let retrier = Retrier::new(Policy::default(), TokioTime).with_seed(1);
    let ours = paused(async {
        let (start, tries) = (Instant::now(), Cell::new(0));
        let told =
            |_: &()| Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(Span::from_secs(30)));
        let op = || ready(if tries.replace(tries.get() + 1) == 0 { Err(()) } else { Ok(()) });
        let _ = retrier.retry(op).classify(told).await;
        start.elapsed()
    })?;
    let input = "the server asks for 30 s: waited";
    fact(
        input,
        "tokio-retry2",
        format!("{} ms", theirs.as_millis()),
        format!("{} ms", ours.as_millis()),
    );
    Ok(())
}

/// Three seconds, and attempts of ten.
fn deadline() -> Result<(), Box<dyn Error>> {
    let slow = || async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Err::<(), ()>(())
    };
    let theirs = paused(async {
        let start = Instant::now();
        let rule = backon::ExponentialBuilder::default()
            .with_total_delay(Some(Duration::from_secs(3)))
            .with_max_times(10);
        let _ = backon::Retryable::retry(slow, rule).await;
        start.elapsed()
    })?;
    let retrier = Retrier::new(Policy::builder().deadline(Span::from_secs(3)).build()?, TokioTime);
    let ours = paused(async {
        let start = Instant::now();
        let _ = retrier.retry(slow).when(|_: &()| true).await;
        start.elapsed()
    })?;
    let input = "3 s in all, attempts of 10 s: took";
    fact(input, "backon", format!("{} s", theirs.as_secs()), format!("{} s", ours.as_secs()));
    Ok(())
}
