//! The herd: 500 clients that call while the server answers 503 and says when to come back.

use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::upstream::{Attempt, CALL, Script, ScriptedServer, since};
use crate::rig::{Connection, HttpRequest};

/// The clients, each with one call, and the time over which they come.
const CLIENTS: u64 = 500;
const ARRIVALS: Duration = Duration::from_secs(2);
/// The time for which the server answers 503: three quarters of the clients come within it.
const OUTAGE: Duration = Duration::from_millis(1_500);
/// The `Retry-After` of each 503, in seconds.
const HINT: u64 = 2;
/// The time for which an attempt may have been under way when the first hint was sent.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// The longest time for the whole herd, from its first call.
const LIMIT: Duration = Duration::from_secs(30);

/// The attempts of a herd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HerdFigures {
    pub(super) attempts_per_call: f64,
    /// Attempts at the server while a hint said that it was too early.
    pub(super) before_hint: usize,
    /// Calls that were answered with 200.
    pub(super) succeeded: usize,
}

/// Sends the herd through the proxy at `addr`.
pub(super) async fn run(
    upstream: &ScriptedServer,
    addr: SocketAddr,
) -> Result<HerdFigures, Box<dyn Error>> {
    let begun = Instant::now();
    upstream.play(Script::Outage { until: begun + OUTAGE, hint: HINT });
    let mut calls = JoinSet::new();
    for call in 1..=CLIENTS {
        let at = begun + ARRIVALS * u32::try_from(call)? / u32::try_from(CLIENTS)?;
        calls.spawn(async move {
            sleep_until(at).await;
            let number = call.to_string();
            let request = HttpRequest::new("GET", "/", "key", &[(CALL, &number)], "");
            let mut connection = Connection::open(addr).await.ok()?;
            let answer = timeout_at(begun + LIMIT, connection.send(&request)).await.ok()?;
            answer.ok().map(|answer| answer.status)
        });
    }
    let mut succeeded = 0;
    while let Some(status) = calls.join_next().await {
        succeeded += usize::from(status? == Some(200));
    }
    let attempts = upstream.attempts();
    Ok(HerdFigures {
        attempts_per_call: ratio(attempts.len(), CLIENTS),
        before_hint: before_hint(&attempts),
        succeeded,
    })
}

/// The attempts that came while a hint stood: a retry before the hint of its own call, or any attempt after the first
/// hint could be known.
fn before_hint(attempts: &[Attempt]) -> usize {
    let hint = Duration::from_secs(HINT);
    let first = attempts.iter().find(|attempt| attempt.failed).map(|attempt| attempt.at);
    let mut told: HashMap<u64, Instant> = HashMap::new();
    let mut early = 0;
    for attempt in attempts {
        let own = told.get(&attempt.call).is_some_and(|at| since(attempt.at, *at) < hint);
        let shared = first.is_some_and(|at| (UNDER_WAY..hint).contains(&since(attempt.at, at)));
        early += usize::from(own || shared);
        if attempt.failed {
            told.insert(attempt.call, attempt.at);
        }
    }
    early
}

/// To a hundredth.
#[expect(clippy::cast_precision_loss, reason = "far fewer attempts than 2^52")]
pub(super) fn ratio(part: usize, of: u64) -> f64 {
    (part as f64 / of as f64 * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_before_its_hint_and_a_call_before_the_shared_one_are_early() {
        let begun = Instant::now();
        let attempt =
            |call, ms, failed| Attempt { call, at: begun + Duration::from_millis(ms), failed };
        let patient = [
            attempt(1, 0, true),
            attempt(2, 50, true),
            attempt(1, 2_100, false),
            attempt(2, 2_050, false),
        ];
        assert_eq!(before_hint(&patient), 0);
        let hasty = [
            attempt(1, 0, true),
            attempt(1, 50, true),
            attempt(2, 500, true),
            attempt(1, 2_040, false),
        ];
        assert_eq!(before_hint(&hasty), 3);
    }
}
