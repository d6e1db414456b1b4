//! Asks whether an endpoint would receive a message, and why, without sending one.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use stagger_scheduler::model::{ChannelName, ContentFilter, EventType, FieldPaths, FieldResult};
use utoipa::ToSchema;

use super::auth::OwnEndpoint;
use super::body::JsonBytes;
use super::problem::Problem;
use super::wire::{AnyJson, ChannelNameText, ContentFilterJson, EventTypeText};
use super::{body, openapi};

/// A message that is not sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"event_type": "invoice.paid", "payload": {"amount": 1250}, "filter": {"path": "/amount", "ge": 100}}))]
pub(super) struct FilterTest<'b> {
    /// The event type.
    #[serde(borrow)]
    #[schema(value_type = EventTypeText)]
    event_type: Cow<'b, str>,
    /// Any JSON.
    #[serde(borrow)]
    #[schema(value_type = AnyJson)]
    payload: &'b RawValue,
    /// The channels that it is in: default none.
    #[schema(value_type = Option<Vec<ChannelNameText>>, max_items = 10)]
    channels: Option<Vec<ChannelName>>,
    /// A filter to try: default that of the endpoint.
    #[schema(value_type = Option<ContentFilterJson>)]
    filter: Option<Value>,
}

/// Whether an endpoint would receive a message, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FilterTested {
    /// Whether it would receive the message: all that follows is true.
    receives: bool,
    /// Whether it subscribes to the event type.
    event_type: bool,
    /// Whether it has no channels, or the message is in one of them.
    channels: bool,
    /// Whether the payload passes the filter; true without a filter.
    filter: bool,
    /// The comparisons of the filter, in the order in which they stand.
    fields: Vec<ComparedField>,
}

/// The comparisons of one field.
#[derive(Debug, Serialize, ToSchema)]
struct ComparedField {
    /// The JSON pointer of the field.
    path: String,
    /// The kind of value that was found: `missing`, `null`, `boolean`, `number`, `string`, or `array or object`.
    found: &'static str,
    /// Whether all comparisons of the field hold.
    passed: bool,
}

impl From<FieldResult> for ComparedField {
    fn from(result: FieldResult) -> Self {
        let FieldResult { path, found, passed } = result;
        Self { path, found, passed }
    }
}

/// Asks whether an endpoint would receive a message, and why. Nothing is sent. A filter can be tried before it is
/// saved.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/filter-test", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = FilterTest,
    responses((status = 200, description = "Whether, and why.", body = FilterTested)),
)]
pub(super) async fn test_filter(
    own: OwnEndpoint,
    JsonBytes(body): JsonBytes,
) -> Result<axum::Json<FilterTested>, Problem> {
    let test: FilterTest<'_> = body::json(&body)?;
    let event_type: EventType = test.event_type.parse().map_err(crate::Error::from)?;
    let channels =
        ChannelName::set(test.channels.unwrap_or_default()).map_err(crate::Error::from)?;
    let tried =
        test.filter.as_ref().map(ContentFilter::parse).transpose().map_err(crate::Error::from)?;
    let filter = tried.as_ref().or(own.endpoint.filter.as_ref());
    let paths = FieldPaths::of(filter);
    let fields = paths.read(test.payload.get().as_bytes());
    let wants_type = own.endpoint.events.wants(&event_type);
    let in_channel = own.endpoint.listens_on(&event_type, &channels);
    let passes = filter.is_none_or(|filter| filter.passes(&fields));
    let compared = filter.map(|filter| filter.explain(&fields)).unwrap_or_default();
    Ok(axum::Json(FilterTested {
        receives: wants_type && in_channel && passes,
        event_type: wants_type,
        channels: in_channel,
        filter: passes,
        fields: compared.into_iter().map(ComparedField::from).collect(),
    }))
}
