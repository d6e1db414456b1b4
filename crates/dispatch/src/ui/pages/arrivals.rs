//! The numbers of the chart.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as Asked, State};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde::Serialize;

use super::trouble::Trouble;
use super::visit::{Query, id};
use crate::node;
use crate::ui::desk::Desk;

/// Attempts by the second, in columns.
#[derive(Debug, Default, Serialize)]
struct Arrivals {
    /// Seconds since the epoch.
    at: Vec<u64>,
    first: Vec<u32>,
    retries: Vec<u32>,
}

impl From<node::Arrivals> for Arrivals {
    fn from(arrivals: node::Arrivals) -> Self {
        let mut columns = Self::default();
        for second in arrivals.seconds {
            columns.at.push(second.at.as_nanos() / 1_000_000_000);
            columns.first.push(second.first);
            columns.retries.push(second.retries);
        }
        columns
    }
}

/// The attempts of the last 5 minutes, of one endpoint or of all.
pub(in crate::ui) async fn arrivals(
    State(desk): State<Arc<Desk>>,
    Asked(query): Asked<Query>,
) -> Result<Response, Trouble> {
    let endpoint = match query.endpoint.as_str() {
        "" => None,
        text => Some(id(text, "endpoint")?),
    };
    let arrivals = Arrivals::from(desk.node.arrivals(endpoint));
    Ok(([(CACHE_CONTROL, "no-store")], Json(arrivals)).into_response())
}
