//! The cost of a request: 2,000 a second to the server alone, through HAProxy and through ours, in turns of one second
//! in one run, so that what else the machine does is the same for all three.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::process::ProxyProcess;
use super::upstream::{CALL, Script, ScriptedServer};
use crate::rig::{Connection, HttpRequest, quantile};

/// Requests a second, and the connections that send them in turn.
const RATE: u32 = 2_000;
const CONNECTIONS: u32 = 32;
/// The time of one turn.
const TURN: Duration = Duration::from_secs(1);
/// The longest time for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Times and processor time of both proxies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CostFigures {
    /// Medians, in milliseconds.
    pub(super) direct_ms: f64,
    pub(super) haproxy_ms: f64,
    pub(super) stagger_ms: f64,
    /// Processor time of one request, in microseconds.
    pub(super) haproxy_cpu_us: f64,
    pub(super) stagger_cpu_us: f64,
}

impl CostFigures {
    /// Our added time as a multiple of HAProxy's.
    pub(super) fn added_p50_ratio(&self) -> f64 {
        (self.stagger_ms - self.direct_ms) / (self.haproxy_ms - self.direct_ms)
    }

    pub(super) fn cpu_ratio(&self) -> f64 {
        self.stagger_cpu_us / self.haproxy_cpu_us
    }
}

/// Measures for so many turns of each.
pub(super) async fn run(
    upstream: &ScriptedServer,
    haproxy: &ProxyProcess,
    stagger: &ProxyProcess,
    turns: u32,
) -> Result<CostFigures, Box<dyn Error>> {
    upstream.play(Script::Healthy);
    let mut paths = [
        Path::new(upstream.addr, None).await?,
        Path::new(haproxy.addr, Some(haproxy)).await?,
        Path::new(stagger.addr, Some(stagger)).await?,
    ];
    // The first turn opens connections and fills caches, and is not counted.
    for turn in 0..=turns {
        for path in &mut paths {
            path.turn(turn > 0).await?;
        }
    }
    let [direct, haproxy, stagger] = paths.map(Path::figures);
    Ok(CostFigures {
        direct_ms: direct.0,
        haproxy_ms: haproxy.0,
        stagger_ms: stagger.0,
        haproxy_cpu_us: haproxy.1,
        stagger_cpu_us: stagger.1,
    })
}

/// One way to the server, with connections that are kept.
struct Path<'p> {
    connections: Vec<Connection>,
    process: Option<&'p ProxyProcess>,
    spans: Vec<Duration>,
    cpu_ms: u64,
}

impl<'p> Path<'p> {
    async fn new(
        addr: SocketAddr,
        process: Option<&'p ProxyProcess>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(Connection::open(addr).await?);
        }
        Ok(Self { connections, process, spans: Vec::new(), cpu_ms: 0 })
    }

    /// One turn: each request when it is due, its time from there to the answer.
    async fn turn(&mut self, counted: bool) -> Result<(), Box<dyn Error>> {
        let cpu = |process: Option<&ProxyProcess>| process.map_or(Ok(0), ProxyProcess::cpu_ms);
        let before = cpu(self.process)?;
        let begun = Instant::now();
        let mut senders = JoinSet::new();
        for (at, mut connection) in (0..).zip(self.connections.drain(..)) {
            senders.spawn(async move {
                let request = HttpRequest::new("GET", "/", "key", &[(CALL, "1")], "");
                let mut spans = Vec::new();
                for n in (at..RATE).step_by(CONNECTIONS as usize) {
                    sleep_until(begun + TURN * n / RATE).await;
                    let sent = Instant::now();
                    let answer = timeout(ANSWER_LIMIT, connection.send(&request)).await;
                    let answer = answer.map_err(|late| late.to_string())?;
                    let status = answer.map_err(|error| error.to_string())?.status;
                    if status != 200 {
                        return Err(format!("a healthy server was said to answer {status}"));
                    }
                    spans.push(sent.elapsed());
                }
                Ok((connection, spans))
            });
        }
        while let Some(done) = senders.join_next().await {
            let (connection, spans) = done??;
            self.connections.push(connection);
            if counted {
                self.spans.extend(spans);
            }
        }
        if counted {
            self.cpu_ms += cpu(self.process)? - before;
        }
        Ok(())
    }

    /// The median, and the processor time of one request.
    #[expect(clippy::cast_precision_loss, reason = "far fewer requests than 2^52")]
    fn figures(mut self) -> (f64, f64) {
        self.spans.sort_unstable();
        let cpu = self.cpu_ms as f64 * 1_000.0 / self.spans.len().max(1) as f64;
        (quantile(&self.spans, 500), cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_what_a_proxy_adds() {
        let figures = CostFigures {
            direct_ms: 0.1,
            haproxy_ms: 0.2,
            stagger_ms: 0.25,
            haproxy_cpu_us: 50.0,
            stagger_cpu_us: 75.0,
        };
        assert!((figures.added_p50_ratio() - 1.5).abs() < 1e-9);
        assert!((figures.cpu_ratio() - 1.5).abs() < 1e-9);
    }
}
