//! The figures of a watch for Prometheus, at `/metrics`.

use std::fmt::{Display, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::figures::WatchFigures;
use crate::command_error::CommandError;
use crate::streams;

/// The figures as they were last set.
#[derive(Clone, Debug, Default)]
pub(super) struct MetricsPage(Arc<Mutex<WatchFigures>>);

/// The media type of the text format.
const TEXT: [(axum::http::HeaderName, &str); 1] = [(CONTENT_TYPE, "text/plain; version=0.0.4")];

impl MetricsPage {
    /// Serves the page for as long as the runtime lives, where an address was named.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub(super) async fn serve(&self, address: Option<SocketAddr>) -> Result<(), CommandError> {
        let Some(address) = address else { return Ok(()) };
        let listener = TcpListener::bind(address).await;
        let listener = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (bound, listener) = listener.map_err(|error| {
            CommandError::bad_value(&format!("cannot listen on --metrics {address}: {error}"))
        })?;
        streams::note(&format!("metrics at http://{bound}/metrics"));
        let routes = Router::new().route("/metrics", get(page)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(())
    }

    /// Replaces the figures.
    pub(super) fn set(&self, figures: WatchFigures) {
        *self.lock() = figures;
    }

    fn lock(&self) -> MutexGuard<'_, WatchFigures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn page(State(page): State<MetricsPage>) -> impl IntoResponse {
    let figures = page.lock().clone();
    (TEXT, text(&figures))
}

/// The page; a figure that is not known is left out.
fn text(figures: &WatchFigures) -> String {
    let mut page = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, value: &dyn Display| {
        let name = format!("stagger_watch_{name}");
        let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    };
    metric("storm", "gauge", "1 while a retry storm is on.", &u8::from(figures.is_storm));
    metric("storms_total", "counter", "Retry storms that began.", &figures.storms);
    metric("lines_total", "counter", "Lines of the log, or looks at counters.", &figures.lines);
    metric("malformed_total", "counter", "Those that could not be read.", &figures.malformed);
    if let Some(totals) = figures.totals {
        metric("attempts_total", "counter", "Attempts in the log.", &totals.attempts);
        let help = "Attempts whose times are not those of their neighbours.";
        metric("out_of_time_total", "counter", help, &totals.out_of_time);
    }
    let Some(now) = &figures.now else { return page };
    let estimate = &now.estimate;
    let ratio = estimate.attempts_a_call();
    metric("attempts_a_call", "gauge", "Attempts a call in the last window.", &ratio);
    let help = "The same at least, by three standard errors.";
    metric("attempts_a_call_at_least", "gauge", help, &estimate.at_least());
    metric("window_attempts", "gauge", "Attempts in the last window.", &estimate.attempts);
    metric("window_calls", "gauge", "Calls in the last window.", &estimate.calls);
    if let Some(failing) = now.failing {
        metric("failing_ratio", "gauge", "The share of attempts that failed.", &failing);
    }
    if let Some(synchrony) = now.synchrony {
        let help = "Variance over mean of attempts in 50 ms; 1 in a Poisson process.";
        metric("dispersion", "gauge", help, &synchrony.dispersion);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_of_the_format_that_counters_are_read_in() {
        let figures = WatchFigures { storms: 2, is_storm: true, ..WatchFigures::default() };
        let samples = stagger_watch::parse_exposition(&text(&figures), |_| true).unwrap();
        let value = |name: &str| samples.iter().find(|sample| sample.name == name).unwrap().value;
        assert!((value("stagger_watch_storm") - 1.0).abs() < 1e-9);
        assert!((value("stagger_watch_storms_total") - 2.0).abs() < 1e-9);
    }
}
