//! Caps, clones and spread.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use backoff::backoff::Backoff as _;
use backon::BackoffBuilder;
use stagger::{Backoff, Span};
use tower::retry::backoff::{
    Backoff as _, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff,
};
use tower::util::rng::HasherRng;
use tower_resilience_retry::IntervalFunction;

use crate::{fact, paused};

const SECOND: Duration = Duration::from_secs(1);
const CAP: Duration = Duration::from_secs(10);
const DRAWS: u32 = 20_000;

pub(crate) fn facts() -> Result<(), Box<dyn Error>> {
    caps()?;
    clones()?;
    whole_seconds()
}

fn ours(k: u32, base: Span, cap: Span, rng: &mut fastrand::Rng) -> Result<Span, Box<dyn Error>> {
    let rule = Backoff::exponential(base, cap)?;
    Ok(rule.delay(k, base, &mut || rng.u64(..)))
}

fn caps() -> Result<(), Box<dyn Error>> {
    let input = "cap 10 s: longest of 20 000 delays";
    let mut rng = fastrand::Rng::with_seed(1);
    let mut longest = Span::ZERO;
    for _ in 0..DRAWS {
        longest = longest.max(ours(9, Span::from_secs(1), Span::from_secs(10), &mut rng)?);
    }
    let ours = format!("{} ms", longest.to_duration().as_millis());
    let all = backon::ExponentialBuilder::default()
        .with_jitter()
        .with_jitter_seed(7)
        .with_max_delay(CAP)
        .without_max_times()
        .build();
    show(input, "backon", all.take(DRAWS as usize).max(), &ours);
    let mut all = backoff::ExponentialBackoff {
        max_interval: CAP,
        initial_interval: CAP,
        max_elapsed_time: None,
        ..Default::default()
    };
    show(input, "backoff", (0..DRAWS).filter_map(|_| all.next_backoff()).max(), &ours);
    let all = tower_resilience_retry::ExponentialRandomBackoff::new(CAP, 0.5)?.max_interval(CAP);
    let longest = (0..DRAWS as usize).map(|i| all.next_interval(i % 8)).max();
    show(input, "tower-resilience-retry", longest, &ours);
    Ok(())
}

fn show(input: &str, peer: &str, longest: Option<Duration>, ours: &str) {
    fact(input, peer, format!("{} ms", longest.unwrap_or_default().as_millis()), ours);
}

/// Two calls of one policy.
fn clones() -> Result<(), Box<dyn Error>> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut pair = || -> Result<(u64, u64), Box<dyn Error>> {
        let mut one = || ours(3, Span::from_secs(1), Span::from_secs(60), &mut rng);
        Ok((one()?.as_nanos() / 1_000_000, one()?.as_nanos() / 1_000_000))
    };
    let ours = pair()?;
    let theirs = paused(async {
        let third = |all: &mut ExponentialBackoff| {
            let timers = [all.next_backoff(), all.next_backoff(), all.next_backoff()];
            (timers[2].deadline() - tokio::time::Instant::now()).as_millis()
        };
        let cap = Duration::from_secs(60);
        ExponentialBackoffMaker::new(SECOND, cap, 0.99, HasherRng::default())
            .map(|mut maker| (third(&mut maker.make_backoff()), third(&mut maker.make_backoff())))
    })??;
    fact(
        "third delay of two calls of one policy, in ms",
        "tower",
        format!("{theirs:?}"),
        format!("{ours:?}"),
    );
    Ok(())
}

fn whole_seconds() -> Result<(), Box<dyn Error>> {
    let input = "base 1.5 s: distinct first delays of 1000 callers";
    let mut rng = fastrand::Rng::with_seed(1);
    let mut seen = BTreeSet::new();
    for _ in 0..1000 {
        seen.insert(ours(1, Span::from_millis(1_500), Span::from_secs(8), &mut rng)?);
    }
    let first = || {
        failsafe::backoff::full_jittered(Duration::from_millis(1_500), Duration::from_secs(8))
            .next()
    };
    let theirs: BTreeSet<_> = (0..1000).filter_map(|_| first()).collect();
    fact(input, "failsafe", theirs.len(), seen.len());
    Ok(())
}
