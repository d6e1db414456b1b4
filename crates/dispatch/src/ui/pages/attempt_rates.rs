//! The numbers of the chart.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query as UrlQuery, State};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde::Serialize;

use super::error::PageError;
use super::visit::{Query, id};
use crate::node;
use crate::ui::page_state::PageState;

/// Attempts by the second, in columns.
#[derive(Debug, Default, Serialize)]
pub(in crate::ui) struct RateColumns {
    /// Seconds since the epoch.
    at: Vec<u64>,
    first: Vec<u32>,
    retries: Vec<u32>,
}

impl From<node::AttemptRates> for RateColumns {
    fn from(arrivals: node::AttemptRates) -> Self {
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
pub(in crate::ui) async fn attempt_rates(
    State(page_state): State<Arc<PageState>>,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let endpoint = match query.endpoint.as_str() {
        "" => None,
        text => Some(id(text, "endpoint")?),
    };
    let arrivals = RateColumns::from(page_state.node.attempt_rates(endpoint));
    Ok(([(CACHE_CONTROL, "no-store")], Json(arrivals)).into_response())
}
