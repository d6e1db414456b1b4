//! The cost of one bad endpoint to the others: `cargo xtask bench neighbours`.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::load::LoadEnd;
use super::load_fixture::LoadFixture;
use crate::rig::{Reaction, StoreKind, build, quantile, run_here};
use xtask_workbench::{Format, note};

/// The healthy endpoints; one more is sometimes sick. Every message goes to all of them.
const HEALTHY: usize = 9;
/// Messages a second.
const PACE: f64 = 40.0;
/// The number of concurrent posters.
const CONNECTIONS: usize = 4;
/// The time within which deliveries must end after the last post.
const DRAIN_LIMIT: Duration = Duration::from_secs(120);

/// Measures for so many seconds a run, and shows; false when a message came twice.
pub(crate) fn run(format: Format, seconds: u64) -> Result<bool, Box<dyn Error>> {
    let binary = build()?;
    let figures = run_here(measure(&binary, Duration::from_secs(seconds)))?;
    format.show(&figures, &figures)?;
    Ok(figures.duplicates == 0)
}

#[derive(Debug, Serialize)]
struct NeighbourFigures {
    healthy_p99_ms_alone: f64,
    healthy_p99_ms_one_hung: f64,
    healthy_p99_ms_one_dripping: f64,
    /// Messages that came again after they had been answered with a 2xx, anywhere, in all runs.
    duplicates: usize,
}

async fn measure(binary: &Path, length: Duration) -> Result<NeighbourFigures, Box<dyn Error>> {
    let (alone, again) =
        one(binary, length, "none is sick", json!({}), Reaction::Answer(200)).await?;
    let (hung, twice) = one(binary, length, "one hangs", json!({}), Reaction::Hang).await?;
    // With a short limit, what takes a slow body for a failure has time to try again.
    let short = json!({ "timeout": "5s" });
    let (dripping, thrice) = one(binary, length, "one drips", short, Reaction::Drip).await?;
    Ok(NeighbourFigures {
        healthy_p99_ms_alone: alone,
        healthy_p99_ms_one_hung: hung,
        healthy_p99_ms_one_dripping: dripping,
        duplicates: again + twice + thrice,
    })
}

/// One run: the 99th percentile at the healthy endpoints, and the duplicates at all of them.
async fn one(
    binary: &Path,
    length: Duration,
    what: &str,
    settings: Value,
    sick: Reaction,
) -> Result<(f64, usize), Box<dyn Error>> {
    note(&format!("{} endpoints for {length:?}: {what}", HEALTHY + 1));
    let mut endpoints = vec![(json!({}), Reaction::Answer(200)); HEALTHY];
    endpoints.push((settings, sick));
    let fixture = LoadFixture::start((binary, StoreKind::Embedded), endpoints).await?;
    let load = fixture.load(CONNECTIONS, Some(PACE), LoadEnd::After(length));
    let posted = load.post(&fixture.log).await?;
    fixture.log.delivered(HEALTHY, posted.accepted, DRAIN_LIMIT).await?;
    let p99 = quantile(&fixture.log.latencies(HEALTHY), 990);
    Ok(((p99 * 1000.0).round() / 1000.0, fixture.log.duplicates()))
}

/// The figures of Svix 1.100.0 with the same endpoints and pace; its duplicates are those of one that drips.
const PEER_ALONE_MS: f64 = 5.5;
const PEER_HUNG_MS: f64 = 31_700.0;
const PEER_DUPLICATES: usize = 1000;

impl fmt::Display for NeighbourFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| p99 ms of the healthy | stagger | Svix 1.100.0 |")?;
        writeln!(f, "| --- | ---: | ---: |")?;
        writeln!(f, "| none is sick | {} | {PEER_ALONE_MS} |", self.healthy_p99_ms_alone)?;
        writeln!(f, "| one hangs | {} | {PEER_HUNG_MS} |", self.healthy_p99_ms_one_hung)?;
        writeln!(f, "| one drips | {} | |", self.healthy_p99_ms_one_dripping)?;
        writeln!(f, "| duplicates | {} | {PEER_DUPLICATES} |", self.duplicates)
    }
}
