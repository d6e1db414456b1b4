//! The dispatcher under load: `cargo xtask bench dispatch`.
//!
//! The released binary on a durable store, 1 KiB a message, with load and receiver on the same cores.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::time::sleep;

use super::load::{LoadEnd, Posted};
use super::load_fixture::{LoadFixture, Setup};
use crate::rig::{Reaction, StoreKind, build, median, quantile, run_here};
use xtask_workbench::{Format, note};

/// The number of concurrent posters when the rate of accepting is measured.
const CONNECTIONS: usize = 64;
/// Attempts under way at once at the one endpoint of that run.
const CONCURRENCY: u32 = 64;
/// Endpoints of a fan-out, and who posts to it how often.
const FAN_OUT: usize = 100;
const FAN_OUT_CONNECTIONS: usize = 8;
const FAN_OUT_MESSAGES: usize = 400;
/// The time within which deliveries must end after the last post.
const DRAIN_LIMIT: Duration = Duration::from_secs(120);

/// Measures and shows.
pub(crate) fn run(format: Format, quick: bool, store: StoreKind) -> Result<bool, Box<dyn Error>> {
    let binary = build()?;
    let length = if quick { Length::QUICK } else { Length::FULL };
    let figures = run_here(measure((&binary, store), &length))?;
    format.show(&figures, &figures)?;
    Ok(true)
}

/// The amount of work to measure.
struct Length {
    runs: usize,
    posting: Duration,
    paced: Duration,
}

impl Length {
    const FULL: Self =
        Self { runs: 3, posting: Duration::from_secs(5), paced: Duration::from_secs(10) };
    const QUICK: Self =
        Self { runs: 1, posting: Duration::from_secs(1), paced: Duration::from_secs(2) };
}

/// The measurements; medians where there are several runs.
#[derive(Debug, Serialize)]
struct DispatchFigures {
    accepted_per_s: f64,
    delivered_per_s: f64,
    fanout100_deliveries_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    cpu_ms_per_message: f64,
    rss_idle_mib: f64,
    rss_load_mib: f64,
}

/// The figures of Svix 1.100.0 on two such cores, with PostgreSQL, on another day.
const PEER_ACCEPTED: f64 = 814.0;
const PEER_FAN_OUT: f64 = 2831.0;
const PEER_CPU_MS: f64 = 1.8;
const PEER_IDLE_MIB: f64 = 43.0;

async fn measure(setup: Setup<'_>, length: &Length) -> Result<DispatchFigures, Box<dyn Error>> {
    let (mut single, mut fan_out) = (Vec::new(), Vec::new());
    for run in 1..=length.runs {
        note(&format!("run {run} of {}: one endpoint, then {FAN_OUT}", length.runs));
        single.push(Single::measure(setup, length.posting).await?);
        fan_out.push(fan_out_rate(setup).await?);
    }
    let middle = |of: fn(&Single) -> f64| median(single.iter().map(of).collect());
    let (accepted, delivered) = (middle(|s| s.accepted), middle(|s| s.delivered));
    note("latency at half of that load");
    let [p50_ms, p99_ms] = latency(setup, accepted.min(delivered) / 2.0, length.paced).await?;
    Ok(DispatchFigures {
        accepted_per_s: rounded(accepted),
        delivered_per_s: rounded(delivered),
        fanout100_deliveries_per_s: rounded(median(fan_out.iter().map(|f| f.0).collect())),
        p50_ms: rounded(p50_ms),
        p99_ms: rounded(p99_ms),
        cpu_ms_per_message: rounded(middle(|s| s.cpu_ms)),
        rss_idle_mib: rounded(middle(|s| s.idle_mib)),
        rss_load_mib: rounded(fan_out.iter().map(|f| f.1).fold(middle(|s| s.peak_mib), f64::max)),
    })
}

/// One endpoint, as many messages as can be.
struct Single {
    accepted: f64,
    delivered: f64,
    cpu_ms: f64,
    idle_mib: f64,
    peak_mib: f64,
}

impl Single {
    async fn measure(setup: Setup<'_>, posting: Duration) -> Result<Self, Box<dyn Error>> {
        let fixture = LoadFixture::start(setup, vec![endpoint(CONCURRENCY)]).await?;
        // What a start leaves behind has settled after a second.
        sleep(Duration::from_secs(1)).await;
        let (idle_mib, _) = fixture.process().rss_mib()?;
        let cpu = fixture.process().cpu_ms()?;
        let load = fixture.load(CONNECTIONS, None, LoadEnd::After(posting));
        let posted = load.post(&fixture.log).await?;
        fixture.log.delivered(1, posted.accepted, DRAIN_LIMIT).await?;
        let cpu = fixture.process().cpu_ms()? - cpu;
        let (_, peak_mib) = fixture.process().rss_mib()?;
        let posting = posted.until.saturating_duration_since(posted.from);
        Ok(Self {
            accepted: float(posted.accepted) / posting.as_secs_f64(),
            delivered: deliveries_per_s(&fixture, posted, 1),
            // OK because a run takes far less than 2^52 ms.
            cpu_ms: float(usize::try_from(cpu)?) / float(posted.accepted),
            idle_mib,
            peak_mib,
        })
    }
}

/// Deliveries a second of messages that go to many endpoints, and the most memory used.
async fn fan_out_rate(setup: Setup<'_>) -> Result<(f64, f64), Box<dyn Error>> {
    let fixture = LoadFixture::start(setup, (0..FAN_OUT).map(|_| endpoint(16)).collect()).await?;
    let load = fixture.load(FAN_OUT_CONNECTIONS, None, LoadEnd::Messages(FAN_OUT_MESSAGES));
    let posted = load.post(&fixture.log).await?;
    fixture.log.delivered(FAN_OUT, posted.accepted, DRAIN_LIMIT).await?;
    Ok((deliveries_per_s(&fixture, posted, FAN_OUT), fixture.process().rss_mib()?.1))
}

/// From accepted to arrived at this pace: the median and the 99th percentile in ms.
async fn latency(setup: Setup<'_>, pace: f64, paced: Duration) -> Result<[f64; 2], Box<dyn Error>> {
    let fixture = LoadFixture::start(setup, vec![endpoint(CONCURRENCY)]).await?;
    let posted =
        fixture.load(CONNECTIONS, Some(pace), LoadEnd::After(paced)).post(&fixture.log).await?;
    fixture.log.delivered(1, posted.accepted, DRAIN_LIMIT).await?;
    let sorted = fixture.log.latencies(1);
    Ok([quantile(&sorted, 500), quantile(&sorted, 990)])
}

fn endpoint(concurrency: u32) -> (serde_json::Value, Reaction) {
    (json!({ "concurrency": concurrency }), Reaction::Answer(200))
}

/// From the first post to the last arrival.
fn deliveries_per_s(fixture: &LoadFixture, posted: Posted, endpoints: usize) -> f64 {
    let last = fixture.log.last().unwrap_or(posted.until);
    let span = last.saturating_duration_since(posted.from);
    float(posted.accepted * endpoints) / span.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 of anything")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

/// To hundredths of small figures, to whole ones of great ones: more digits would be noise.
pub(super) fn rounded(figure: f64) -> f64 {
    if figure < 100.0 { (figure * 1000.0).round() / 1000.0 } else { figure.round() }
}

impl fmt::Display for DispatchFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = |ours: f64, theirs: f64| Some((theirs, ours / theirs));
        let less = |ours: f64, theirs: f64| Some((theirs, theirs / ours));
        let rows = [
            ("accepted/s", self.accepted_per_s, more(self.accepted_per_s, PEER_ACCEPTED)),
            ("delivered/s", self.delivered_per_s, more(self.delivered_per_s, PEER_ACCEPTED)),
            (
                "deliveries/s, 1 to 100",
                self.fanout100_deliveries_per_s,
                more(self.fanout100_deliveries_per_s, PEER_FAN_OUT),
            ),
            ("p50 ms, half load", self.p50_ms, None),
            ("p99 ms, half load", self.p99_ms, None),
            (
                "processor ms/message",
                self.cpu_ms_per_message,
                less(self.cpu_ms_per_message, PEER_CPU_MS),
            ),
            ("memory idle, MiB", self.rss_idle_mib, less(self.rss_idle_mib, PEER_IDLE_MIB)),
            ("memory at most, MiB", self.rss_load_mib, None),
        ];
        writeln!(f, "| measure | stagger | Svix 1.100.0 | times better |")?;
        writeln!(f, "| --- | ---: | ---: | ---: |")?;
        rows.iter().try_for_each(|(name, ours, peer)| match peer {
            Some((theirs, ratio)) => writeln!(f, "| {name} | {ours} | {theirs} | {ratio:.1} |"),
            None => writeln!(f, "| {name} | {ours} | | |"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_memory_is_better_and_so_is_more_throughput() {
        let figures = DispatchFigures {
            accepted_per_s: 8140.0,
            delivered_per_s: 8140.0,
            fanout100_deliveries_per_s: 28_310.0,
            p50_ms: 1.0,
            p99_ms: 2.0,
            cpu_ms_per_message: 0.18,
            rss_idle_mib: 21.5,
            rss_load_mib: 100.0,
        };
        let table = figures.to_string();
        assert!(table.contains("| processor ms/message | 0.18 | 1.8 | 10.0 |"), "{table}");
        assert!(table.contains("| memory idle, MiB | 21.5 | 43 | 2.0 |"), "{table}");
        let json = serde_json::to_value(&figures).expect("figures are plain data");
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(8));
    }
}
