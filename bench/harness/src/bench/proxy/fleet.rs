//! Three proxies with one budget in Redis: a total outage, and calls while Redis answers nothing and after its end.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::herd::ratio;
use super::process::ProxyProcess;
use super::upstream::{CALL, Script, ScriptedServer};
use crate::rig::{Connection, HttpRequest, Redis};

/// The proxies that share the budget.
const PROXIES: usize = 3;
/// Calls a second through each proxy from callers in Rust.
const RATE: u32 = 200;
/// Connections of the callers in Rust to each proxy.
const CONNECTIONS: u32 = 16;
/// The time of each phase without Redis.
const PHASE: Duration = Duration::from_secs(4);
/// The longest time for one call.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// A call that takes longer has waited for Redis: its own delays are at most 20 ms, and the rest is the machine's.
const WAITED: Duration = Duration::from_millis(500);

/// The route of each proxy: retries at once, held by the budget alone.
const ROUTE: &str = r#"
[route.api.policy]
backoff = { base = "10ms", cap = "20ms" }
budget.window = { ratio = 0.1, floor = 0 }
"#;

/// The callers in Python: calls one after the other through each proxy in turn, until the time is over. It prints the
/// number of its calls.
const PYTHON: &str = r#"
import sys, time, urllib.error, urllib.request
until, calls = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < until:
    for url in sys.argv[2:]:
        calls += 1
        request = urllib.request.Request(url, headers={"x-call": str(10_000_000 + calls)})
        try:
            urllib.request.urlopen(request, timeout=10).read()
        except urllib.error.HTTPError as error:
            error.read()
        time.sleep(0.005)
print(calls)
"#;

/// The results of the fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FleetFigures {
    pub(super) attempts_per_call: f64,
    /// Calls that took longer than half a second while Redis was silent or gone.
    pub(super) waiting: usize,
    /// Calls of each language in the outage.
    pub(super) rust_calls: u64,
    pub(super) python_calls: u64,
}

/// Runs the fleet, its outage for `seconds`.
pub(super) async fn run(
    binary: &Path,
    folder: &Path,
    upstream: &ScriptedServer,
    seconds: u64,
) -> Result<FleetFigures, Box<dyn Error>> {
    let redis = Redis::start("proxy-redis")?;
    let mut proxies = Vec::new();
    for n in 0..PROXIES {
        let place = (folder, &*format!("fleet-{n}"));
        let route = (upstream.addr, ROUTE);
        let flags = ["--redis", redis.url(), "--redis-processes", "3"];
        proxies.push(ProxyProcess::stagger(binary, place, route, &flags).await?);
    }
    let addrs: Vec<SocketAddr> = proxies.iter().map(|proxy| proxy.addr).collect();
    // What a window has earned in calm times may be spent at the start of the outage.
    upstream.play(Script::TenthFailsOnce);
    load(&addrs, PHASE, 0).await?;
    upstream.play(Script::Down);
    let python = python(&addrs, seconds)?;
    let outage = load(&addrs, Duration::from_secs(seconds), 1_000_000).await?;
    let python = timeout(CALL_LIMIT * 2, python.wait_with_output()).await??;
    let python_calls: u64 = String::from_utf8(python.stdout)?.trim().parse()?;
    let rust_calls = u64::try_from(outage.len())?;
    let attempts_per_call = ratio(upstream.attempts().len(), rust_calls + python_calls);
    upstream.play(Script::TenthFailsOnce);
    redis.pause()?;
    let silent = load(&addrs, PHASE, 2_000_000).await;
    redis.resume()?;
    let silent = silent?;
    // The proxies find the store again before it ends for good.
    sleep(PHASE).await;
    redis.stop()?;
    let gone = load(&addrs, PHASE, 3_000_000).await?;
    let waiting = silent.iter().chain(&gone).filter(|span| **span > WAITED).count();
    Ok(FleetFigures { attempts_per_call, waiting, rust_calls, python_calls })
}

fn python(addrs: &[SocketAddr], seconds: u64) -> Result<tokio::process::Child, Box<dyn Error>> {
    let urls = addrs.iter().map(|addr| format!("http://{addr}/"));
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON, &seconds.to_string()]).args(urls);
    // A proxy for every program of this shell is not the one to measure.
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn();
    child.map_err(|error| format!("python3: {error}").into())
}

/// Calls through all proxies for so long; answers the time that each call took. Calls are numbered from `first`.
async fn load(
    addrs: &[SocketAddr],
    length: Duration,
    first: u32,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let begun = Instant::now();
    let calls = u32::try_from(length.as_millis())? * RATE / 1_000;
    let mut callers = JoinSet::new();
    for (proxy, addr) in (0..).zip(addrs.iter().copied()) {
        for at in 0..CONNECTIONS {
            callers.spawn(async move {
                let mut connection = Connection::open(addr).await.map_err(|e| e.to_string())?;
                let mut spans = Vec::new();
                for n in (at..calls).step_by(CONNECTIONS as usize) {
                    sleep_until(begun + Duration::from_secs(1) * n / RATE).await;
                    let number = (first + proxy * calls + n).to_string();
                    let request = HttpRequest::new("GET", "/", "key", &[(CALL, &number)], "");
                    let sent = Instant::now();
                    let answer = timeout(CALL_LIMIT, connection.send(&request)).await;
                    let answered = matches!(answer, Ok(Ok(_)));
                    spans.push(sent.elapsed());
                    if !answered {
                        connection = Connection::open(addr).await.map_err(|e| e.to_string())?;
                    }
                }
                Ok::<_, String>(spans)
            });
        }
    }
    let mut spans = Vec::new();
    while let Some(done) = callers.join_next().await {
        spans.extend(done??);
    }
    Ok(spans)
}
