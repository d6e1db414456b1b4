//! Calls of the interface: JSON in, JSON or an error out.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use stagger_scheduler::model::{ApplicationId, AttemptFailure};
use stagger_sender::{
    DestinationReply, GuardedNetwork, HttpAddress, HttpCall, SendFailure, Written,
};

/// Longest reply, in bytes: a pull of 64 messages of the usual size; one of the largest is 10 MB.
const MAX_REPLY: usize = 16 << 20;

#[derive(Deserialize)]
struct ErrorReply {
    error: ErrorBody,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    message: String,
    #[serde(default)]
    status: String,
}

/// Calls one method of a resource; `token` is that of a source.
///
/// # Errors
/// There is no reply, or no token.
pub(super) async fn call(
    network: &GuardedNetwork,
    (to, of): (&HttpAddress, ApplicationId),
    (body, token): (&Value, Option<&HeaderValue>),
    written: &Written,
) -> Result<DestinationReply, SendFailure> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(token.map(|token| (AUTHORIZATION, token.clone())));
    let call = HttpCall { headers, body: Bytes::from(body.to_string()), max_reply: MAX_REPLY };
    let reply = network.call(to, of, &call, written).await?;
    let body = reply.body.ok_or_else(|| {
        SendFailure::new(AttemptFailure::Transport, "the reply breaks off, or is too long")
    })?;
    if reply.status.is_success() {
        return Ok(DestinationReply::taken(body));
    }
    let error = serde_json::from_slice(&body).ok();
    let detail = error.map(|ErrorReply { error }| format!("{}: {}", error.status, error.message));
    // A 410 would disable the endpoint, which no broker means.
    let status = if reply.status.as_u16() == 410 { 404 } else { reply.status.as_u16() };
    let mut refused = DestinationReply::refused(status, detail.unwrap_or_default());
    (refused.hint, refused.reply) = (reply.hint, body);
    Ok(refused)
}
