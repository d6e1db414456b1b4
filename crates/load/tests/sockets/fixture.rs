//! Rows of small scenarios, runs of them against a server, and a server that behaves as a closure says.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stagger_core::{Instant, Policy, Span};
use stagger_load::{
    LoadBounds, LoadForecast, LoadMeasurement, LoadRow, LoadRun, LoadUrl, ScenarioServer,
    ServerCounts,
};
use stagger_sim::{ArrivalProcess, CallerLayer, Fault, Law, RunPlan, Schedule, Trouble};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// The bounds of tests: ten seconds end what hangs.
pub(crate) const BOUNDS: LoadBounds = LoadBounds {
    rate: LoadBounds::THIS_MACHINE.rate,
    time: Span::from_secs(10),
    connections: LoadBounds::THIS_MACHINE.connections,
};

pub(crate) fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(ms)
}

/// A policy that comes back soon, so that tests are short.
pub(crate) fn soon(attempts: u32) -> Policy {
    let base = Span::from_millis(5);
    let schedule = Schedule { base, cap: base, attempts };
    Law::Full.policy(&schedule).unwrap()
}

/// So many callers at once under this policy.
pub(crate) fn herd(callers: u32, policy: Policy) -> LoadRow {
    let plan = RunPlan::new(ArrivalProcess::Together { callers }, CallerLayer::new(policy));
    LoadRow { name: "herd".to_owned(), plan }
}

/// The same row with a trouble that never ends.
pub(crate) fn with_trouble(mut row: LoadRow, trouble: Trouble) -> LoadRow {
    row.plan.faults.push(Fault::new(trouble, Instant::ORIGIN, Instant::FAR));
    row
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A run against a URL.
pub(crate) async fn run(row: &LoadRow, url: &str, bounds: LoadBounds) -> LoadMeasurement {
    let destination = LoadUrl::parse(url, None).unwrap().resolve().await.unwrap();
    LoadRun::new(row, 1, bounds).play(&destination, || false).await
}

/// A run against the scenario's own server, and what that served.
pub(crate) async fn run_both(row: &LoadRow) -> (LoadMeasurement, ServerCounts) {
    let address = "127.0.0.1:0".parse().unwrap();
    let server = ScenarioServer::bind(address, vec![row.clone()]).await.unwrap();
    let url = format!("http://{}/", server.address());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(server.serve(async {
        stopped.await.unwrap_or_default();
    }));
    let measured = run(row, &url, BOUNDS).await;
    drop(stop);
    (measured, served.await.unwrap())
}

/// The lab's run of the same row.
pub(crate) fn model(row: &LoadRow) -> LoadForecast {
    LoadForecast::of(row, 1).unwrap()
}

/// A server that treats each connection as `treat` does: its URL, and the connections so far.
pub(crate) async fn served_by<F, T>(treat: F) -> (String, Arc<AtomicUsize>)
where
    F: Fn(TcpStream) -> T + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(treat(stream));
        }
    });
    (url, count)
}
