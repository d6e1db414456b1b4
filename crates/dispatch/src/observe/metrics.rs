//! Metrics: their instruments, and the page that shows them.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use bytes::Bytes;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use stagger::{Sleep, Span, TokioTime};

use super::instruments::describe;
use crate::Error;
use crate::edge;
use crate::edge::SharedAnswer;
use crate::node::Node;

/// Text in the Prometheus exposition format, version 0.0.4.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Bounds of the histograms, in seconds: from a commit in memory to a delay of a day.
const BUCKETS: [f64; 17] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0, 3600.0,
    18_000.0, 86_400.0,
];

/// The interval at which histograms without readers are folded, so that they use no memory.
const UPKEEP: Span = Span::from_secs(30);

/// The recorder of this process.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
}

/// Installs the recorder of this process. To be called once, in a tokio runtime, before the node
/// starts: it looks its figures up then.
///
/// # Errors
/// The process has a recorder already.
pub fn init_metrics() -> Result<Metrics, Error> {
    let handle = PrometheusBuilder::new()
        .set_buckets(&BUCKETS)
        .map(|builder| builder.with_recommended_naming(true))
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Error::conflict(error.to_string()))?;
    describe();
    edge::describe();
    tokio::spawn(upkeep(handle.clone()));
    Ok(Metrics { handle })
}

/// `GET /metrics`.
pub fn metrics_route(metrics: Metrics, node: Node) -> Router {
    let page = MetricsPage { metrics, node, last: SharedAnswer::default() };
    Router::new().route("/metrics", get(show)).with_state(Arc::new(page))
}

impl Metrics {
    /// All metrics in the format of Prometheus; the gauges of `node` are read now.
    pub async fn render(&self, node: &Node) -> String {
        node.gauges().await.report();
        self.handle.render()
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics(..)")
    }
}

/// The page, which is made once a second at most.
struct MetricsPage {
    metrics: Metrics,
    node: Node,
    last: SharedAnswer<Bytes>,
}

async fn show(State(page): State<Arc<MetricsPage>>) -> impl IntoResponse {
    let text = page.last.get(async { page.metrics.render(&page.node).await.into() }).await;
    ([(CONTENT_TYPE, FORMAT)], text)
}

async fn upkeep(handle: PrometheusHandle) {
    loop {
        TokioTime.sleep(UPKEEP).await;
        handle.run_upkeep();
    }
}
