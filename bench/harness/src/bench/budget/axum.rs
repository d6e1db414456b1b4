//! Calls in the handler of a web service, whose clients hang up.

use std::error::Error;
use std::io;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use tokio::time::timeout;

use super::caller::{LayoutCaller, PATIENCE, caller, policy, retrier};
use super::connection::{connect, send};
use super::upstream::Upstream;

/// Each client has a connection of its own and closes it when its patience ends. hyper then drops the handler's
/// future, and the call with it.
pub(super) fn axum_disconnect(upstream: Upstream) -> Result<LayoutCaller, Box<dyn Error>> {
    let retrier = retrier(policy())?;
    let handler = async move || {
        let call = retrier.retry_if(|_: &io::Error| true).run(|| upstream.clone().answer());
        call.await.map_or(StatusCode::BAD_GATEWAY, |()| StatusCode::OK)
    };
    let front = Router::new().route("/", get(handler));
    Ok(caller(move || {
        let front = front.clone();
        async {
            let request = Request::new(Empty::<Bytes>::new());
            let _elapsed = timeout(PATIENCE, send(connect(front), request)).await;
        }
    }))
}
