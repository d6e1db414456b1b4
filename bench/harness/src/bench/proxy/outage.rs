//! The outage of `docs/proxy-outage.toml` over real sockets: how much later it is over when the proxy retries under the
//! default budget of a route.

use std::error::Error;
use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use tokio::process::Command;

use super::process::ProxyProcess;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxy-outage.toml");

/// The routes: one attempt a call, and three under the default budget.
const ROUTES: [(&str, u32); 2] = [("once", 1), ("thrice", 3)];

/// The times until first attempts succeed again, in seconds, summed over the runs; infinite where they never did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutageFigures {
    pub(super) once_s: f64,
    pub(super) thrice_s: f64,
}

impl OutageFigures {
    /// The time with retries, as a multiple of that without.
    pub(super) fn ratio(&self) -> f64 {
        self.thrice_s / self.once_s
    }
}

/// The parts of the callers' page that are read.
#[derive(Deserialize)]
struct CallersPage {
    rows: Vec<CallersRow>,
}

#[derive(Deserialize)]
struct CallersRow {
    end: String,
    measured: MeasuredRow,
}

#[derive(Deserialize)]
struct MeasuredRow {
    recovery_s: Option<f64>,
}

/// Plays the outage so many times, each with arrivals of its own, through both routes at the same time.
pub(super) async fn run(
    binary: &Path,
    folder: &Path,
    runs: u32,
) -> Result<OutageFigures, Box<dyn Error>> {
    let mut figures = OutageFigures::default();
    for seed in 1..=runs {
        let [once, thrice] =
            ROUTES.map(|(name, attempts)| play(binary, folder, name, (attempts, seed)));
        let (once, thrice) = tokio::try_join!(once, thrice)?;
        figures.once_s += once;
        figures.thrice_s += thrice;
    }
    Ok(figures)
}

async fn play(
    binary: &Path,
    folder: &Path,
    name: &str,
    (attempts, seed): (u32, u32),
) -> Result<f64, Box<dyn Error>> {
    let name = format!("outage-{name}-{seed}");
    let served =
        ProxyProcess::served(binary, (folder, &format!("{name}-server")), SCENARIO).await?;
    let route = format!(
        "[route.api.policy.limits]\nmax_attempts = {attempts}\nattempt_timeout = \"1s\"\ndeadline = \"3s\"\n"
    );
    let proxy = ProxyProcess::stagger(binary, (folder, &name), (served.addr, &route), &[]).await?;
    let mut callers = Command::new(binary);
    callers.args(["storm", SCENARIO, "--seed", &seed.to_string(), "--format", "json", "--quiet"]);
    callers.args(["--against", &format!("http://{}/", proxy.addr)]);
    let output = callers.stdin(Stdio::null()).stderr(Stdio::piped()).output().await?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let page: CallersPage = serde_json::from_slice(&output.stdout)?;
    match page.rows.first() {
        Some(row) if row.end == "complete" => Ok(row.measured.recovery_s.unwrap_or(f64::INFINITY)),
        row => Err(format!("the callers ended early: {:?}", row.map(|row| &row.end)).into()),
    }
}
