//! The run of all four measurements, and their goals.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::time::sleep;
use xtask_workbench::{Format, note};

use super::herd::HerdFigures;
use super::latency::CostFigures;
use super::process::ProxyProcess;
use super::upstream::ScriptedServer;
use super::{fleet, herd, latency, outage};
use crate::rig::{ScratchFolder, build, run_here};

/// Turns of each path, the seconds of the fleet's outage, and the runs of the lab's; the second of each is for a quick run.
const TURNS: [u32; 2] = [12, 2];
const OUTAGE_SECONDS: [u64; 2] = [20, 8];
const OUTAGE_RUNS: [u32; 2] = [3, 1];
/// The time after which a proxy that has no calls is idle.
const IDLE: Duration = Duration::from_secs(1);

/// The goals.
const ATTEMPTS: f64 = 1.1;
const ADDED_P50_RATIO: f64 = 1.5;
const CPU_RATIO: f64 = 2.0;
const RSS_MIB: f64 = 20.0;
const FLEET_ATTEMPTS: f64 = 1.12;
const RECOVERY_RATIO: f64 = 1.5;

/// Measures and shows; false when a goal is missed.
pub(in crate::bench) fn run(
    format: Format,
    quick: bool,
    binary: Option<&Path>,
) -> Result<bool, Box<dyn Error>> {
    let binary = binary.map_or_else(build, |binary| Ok(binary.to_owned()))?;
    let measured = run_here(measure(&binary, usize::from(quick)))?;
    note(&measured.peer());
    format.show(&measured.figures, &measured.figures)?;
    Ok(measured.figures.is_within_goals())
}

/// The figures with those of HAProxy beside them.
struct Measured {
    figures: ProxyFigures,
    haproxy: HerdFigures,
    cost: CostFigures,
    succeeded: usize,
}

impl Measured {
    fn peer(&self) -> String {
        let Self { haproxy, cost, .. } = self;
        format!(
            "herd: HAProxy {} attempts a call, {} before the hint, {} of 500 calls succeeded; ours {} succeeded\n\
             p50 ms: direct {:.3}, HAProxy {:.3}, ours {:.3}; CPU us a request: HAProxy {:.1}, ours {:.1}",
            haproxy.attempts_per_call,
            haproxy.before_hint,
            haproxy.succeeded,
            self.succeeded,
            cost.direct_ms,
            cost.haproxy_ms,
            cost.stagger_ms,
            cost.haproxy_cpu_us,
            cost.stagger_cpu_us,
        )
    }
}

#[derive(Debug, Serialize)]
struct ProxyFigures {
    /// Attempts at the server for each call of the herd.
    attempts_per_call: f64,
    /// Attempts of the herd while a `Retry-After` said that it was too early.
    before_hint: usize,
    /// The median time that ours adds to a request, as a multiple of what HAProxy adds.
    added_p50_ratio_haproxy: f64,
    cpu_ratio_haproxy: f64,
    rss_idle_mib: f64,
    fleet_attempts_per_call: f64,
    calls_waiting_on_redis: usize,
    /// The time until an outage of the lab is over with retries under the default budget, as a multiple of that
    /// without retries.
    recovery_ratio: f64,
}

impl ProxyFigures {
    fn is_within_goals(&self) -> bool {
        self.attempts_per_call <= ATTEMPTS
            && self.before_hint == 0
            && self.added_p50_ratio_haproxy <= ADDED_P50_RATIO
            && self.cpu_ratio_haproxy <= CPU_RATIO
            && self.rss_idle_mib <= RSS_MIB
            && self.fleet_attempts_per_call <= FLEET_ATTEMPTS
            && self.calls_waiting_on_redis == 0
            && self.recovery_ratio <= RECOVERY_RATIO
    }
}

async fn measure(binary: &Path, pace: usize) -> Result<Measured, Box<dyn Error>> {
    let folder = ScratchFolder::new("proxy")?;
    let upstream = ScriptedServer::start().await?;
    let haproxy = ProxyProcess::haproxy(folder.path(), upstream.addr).await?;
    let place = (folder.path(), "alone");
    let stagger = ProxyProcess::stagger(binary, place, (upstream.addr, ""), &[]).await?;
    sleep(IDLE).await;
    let rss = stagger.rss_mib()?;
    note("2 s: 500 clients through HAProxy, then through ours");
    let haproxy_herd = herd::run(&upstream, haproxy.addr).await?;
    let herd = herd::run(&upstream, stagger.addr).await?;
    drop(stagger);
    // What a breaker and a budget remember of the herd is not part of a healthy request.
    let place = (folder.path(), "cost");
    let stagger = ProxyProcess::stagger(binary, place, (upstream.addr, ""), &[]).await?;
    note(&format!("{} turns of 1 s: 2000 requests a second", TURNS[pace] * 3));
    let cost = latency::run(&upstream, &haproxy, &stagger, TURNS[pace]).await?;
    drop((stagger, haproxy));
    note(&format!("{} s: three proxies with one budget in an outage", OUTAGE_SECONDS[pace]));
    let fleet = fleet::run(binary, folder.path(), &upstream, OUTAGE_SECONDS[pace]).await?;
    note(&format!(
        "calls in the outage: {} from Rust, {} from Python",
        fleet.rust_calls, fleet.python_calls
    ));
    let runs = OUTAGE_RUNS[pace];
    note(&format!("{} s: an outage of the lab with and without retries", runs * 22));
    let outage = outage::run(binary, folder.path(), runs).await?;
    let [once, thrice] = [outage.once_s, outage.thrice_s].map(|sum| sum / f64::from(runs));
    note(&format!("recovery: {once:.2} s without retries, {thrice:.2} s with the default budget"));
    let figures = ProxyFigures {
        attempts_per_call: herd.attempts_per_call,
        before_hint: herd.before_hint,
        added_p50_ratio_haproxy: hundredths(cost.added_p50_ratio()),
        cpu_ratio_haproxy: hundredths(cost.cpu_ratio()),
        rss_idle_mib: hundredths(rss),
        fleet_attempts_per_call: fleet.attempts_per_call,
        calls_waiting_on_redis: fleet.waiting,
        recovery_ratio: hundredths(outage.ratio()),
    };
    Ok(Measured { figures, haproxy: haproxy_herd, cost, succeeded: herd.succeeded })
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl fmt::Display for ProxyFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| figure | measured | goal |")?;
        writeln!(f, "| --- | ---: | ---: |")?;
        writeln!(f, "| attempts a call of the herd | {} | {ATTEMPTS} |", self.attempts_per_call)?;
        writeln!(f, "| attempts before the hint | {} | 0 |", self.before_hint)?;
        let (p50, cpu) = (self.added_p50_ratio_haproxy, self.cpu_ratio_haproxy);
        writeln!(f, "| added p50, times HAProxy's | {p50} | {ADDED_P50_RATIO} |")?;
        writeln!(f, "| CPU, times HAProxy's | {cpu} | {CPU_RATIO} |")?;
        writeln!(f, "| idle memory, MiB | {} | {RSS_MIB} |", self.rss_idle_mib)?;
        let attempts = self.fleet_attempts_per_call;
        writeln!(f, "| attempts a call of the fleet | {attempts} | {FLEET_ATTEMPTS} |")?;
        writeln!(f, "| calls that waited for Redis | {} | 0 |", self.calls_waiting_on_redis)?;
        writeln!(
            f,
            "| recovery, times that without retries | {} | {RECOVERY_RATIO} |",
            self.recovery_ratio
        )
    }
}
