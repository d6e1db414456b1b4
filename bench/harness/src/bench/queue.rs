//! The cost of a fresh delivery beside many that wait: `cargo xtask bench queue`.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::dispatch::{float, rounded};
use super::load::{Load, LoadEnd};
use super::load_fixture::{LoadFixture, Setup};
use crate::rig::{Driver, Reaction, StoreKind, build, quantile, run_here};
use xtask_workbench::{Format, note};

/// Endpoints that get fresh messages; and those that are disabled, and get all that wait.
const FRESH: usize = 8;
const DISABLED: usize = 100;
/// Fresh messages a second, and who posts them: far from what a node can do, so that it is the depth that
/// is measured.
const PACE: f64 = 200.0;
const CONNECTIONS: usize = 16;
/// Messages of a batch that is to wait, each for all that are disabled.
const BATCH: usize = 100;
/// The posts to those that are disabled.
const WAITING: &str = "load.waiting";
/// The time within which deliveries must end after the last post.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// The bound under which two figures count as the same. A thousand times as many may cost a factor and some
/// ms more, because on a busy machine a 99th percentile moves by as much from run to run.
const FLAT_FACTOR: f64 = 2.0;
const FLAT_MS: f64 = 10.0;
/// The time within which the remains of filling are written.
const SETTLE: Duration = Duration::from_secs(2);

/// Fills and measures, from depth to depth, and shows; false when depth is felt.
pub(super) fn run(
    format: Format,
    store: StoreKind,
    (nodes, depths): (u8, &[u32]),
    seconds: u64,
) -> Result<bool, Box<dyn Error>> {
    let binary = build()?;
    let span = Duration::from_secs(seconds);
    let depths =
        depths.iter().map(|depth| usize::try_from(*depth)).collect::<Result<Vec<_>, _>>()?;
    let figures = run_here(measure((&binary, store), (nodes.into(), depths), span))?;
    format.show(&figures, &figures)?;
    Ok(figures.flat)
}

#[derive(Debug, Serialize)]
struct QueueFigures {
    nodes: usize,
    rows: Vec<DepthRow>,
    /// Whether the 99th percentile of claims is about the same at the last depth as at the first.
    flat: bool,
}

/// Fresh messages beside so many open deliveries.
#[derive(Debug, Default, Serialize)]
struct DepthRow {
    depth: usize,
    /// Deliveries a second that were added to get here.
    filled_per_s: f64,
    /// From posted to accepted.
    accept_p50_ms: f64,
    accept_p99_ms: f64,
    /// From accepted to arrived: until whoever leads the endpoint has the delivery, and sends it.
    claim_p50_ms: f64,
    claim_p99_ms: f64,
    rss_mib: f64,
}

async fn measure(
    setup: Setup<'_>,
    (nodes, depths): (usize, Vec<usize>),
    span: Duration,
) -> Result<QueueFigures, Box<dyn Error>> {
    let fresh = |number| {
        (json!({ "events": [Load::event_type(number)], "concurrency": 64 }), Reaction::Answer(200))
    };
    let disabled = || (json!({ "events": [WAITING] }), Reaction::Answer(500));
    let endpoints = (0..FRESH).map(fresh).chain((0..DISABLED).map(|_| disabled())).collect();
    let fixture = LoadFixture::of_several(setup, nodes, endpoints).await?;
    let mut driver = fixture.driver().await?;
    for endpoint in &fixture.endpoints()[FRESH..] {
        driver.disable(endpoint).await?;
    }
    let (mut rows, mut depth) = (Vec::new(), 0);
    for wanted in depths {
        note(&format!("depth {wanted}"));
        let filled_per_s = fill(&mut driver, &mut depth, wanted).await?;
        sleep(SETTLE).await;
        rows.push(DepthRow { filled_per_s, ..DepthRow::measure(&fixture, depth, span).await? });
    }
    Ok(QueueFigures { nodes, flat: is_flat(&rows), rows })
}

fn is_flat(rows: &[DepthRow]) -> bool {
    let p99 = |row: Option<&DepthRow>| row.map_or(0.0, |row| row.claim_p99_ms);
    p99(rows.last()) <= p99(rows.first()) * FLAT_FACTOR + FLAT_MS
}

/// Adds deliveries that wait, until there are at least `wanted`; how many a second.
async fn fill(
    driver: &mut Driver,
    depth: &mut usize,
    wanted: usize,
) -> Result<f64, Box<dyn Error>> {
    let (from, begun) = (*depth, Instant::now());
    while *depth < wanted {
        let messages = (wanted - *depth).div_ceil(DISABLED).min(BATCH);
        driver.batch(WAITING, messages).await?;
        *depth += messages * DISABLED;
    }
    Ok(rounded(float(*depth - from) / begun.elapsed().as_secs_f64()))
}

impl DepthRow {
    async fn measure(
        fixture: &LoadFixture,
        depth: usize,
        span: Duration,
    ) -> Result<Self, Box<dyn Error>> {
        fixture.log.begin_anew();
        let load = fixture.load(CONNECTIONS, Some(PACE), LoadEnd::After(span));
        let posted = Load { types: FRESH, ..load }.post(&fixture.log).await?;
        fixture.log.delivered_in_all(posted.accepted, DRAIN_LIMIT).await?;
        let (accepted, claimed) = (fixture.log.acceptances(), fixture.log.latencies(FRESH));
        let of = |sorted: &[Duration], part| rounded(quantile(sorted, part));
        Ok(Self {
            depth,
            filled_per_s: 0.0,
            accept_p50_ms: of(&accepted, 500),
            accept_p99_ms: of(&accepted, 990),
            claim_p50_ms: of(&claimed, 500),
            claim_p99_ms: of(&claimed, 990),
            rss_mib: rounded(fixture.rss_mib()?),
        })
    }
}

impl fmt::Display for QueueFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "nodes: {}; claims flat: {}", self.nodes, self.flat)?;
        writeln!(f, "| open | filled/s | accept p50 ms | p99 | claim p50 ms | p99 | MiB |")?;
        writeln!(f, "|{}", " ---: |".repeat(7))?;
        self.rows.iter().try_for_each(|row| {
            let DepthRow { depth, filled_per_s, accept_p50_ms, accept_p99_ms, .. } = row;
            write!(f, "| {depth} | {filled_per_s} | {accept_p50_ms} | {accept_p99_ms} ")?;
            let DepthRow { claim_p50_ms, claim_p99_ms, rss_mib, .. } = row;
            writeln!(f, "| {claim_p50_ms} | {claim_p99_ms} | {rss_mib} |")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_grow_with_the_depth_are_not_flat() {
        let rows = |p99s: [f64; 2]| {
            p99s.map(|claim_p99_ms| DepthRow { claim_p99_ms, ..DepthRow::default() })
        };
        assert!(is_flat(&rows([2.0, 14.0])) && is_flat(&rows([40.0, 85.0])));
        assert!(!is_flat(&rows([2.0, 15.0])) && !is_flat(&rows([40.0, 91.0])));
    }
}
