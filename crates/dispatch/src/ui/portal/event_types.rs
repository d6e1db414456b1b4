//! The event types of the catalogue, for those who build receivers.

use axum::response::Response;
use http::Uri;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::PortalError;
use super::state::PortalVisitor;
use super::view::{EventTypeLine, EventTypesPage, PortalSection};
use crate::ui::pages::visit::show;

/// The event types that are offered, by name.
pub(super) async fn event_types(visitor: PortalVisitor, uri: Uri) -> Result<Response, PortalError> {
    let offered = visitor.node.event_types().into_iter().filter(|it| !it.archived);
    let line = |it: std::sync::Arc<crate::node::CatalogueType>| EventTypeLine {
        name: it.name.to_string(),
        description: it.description.clone(),
        schema: it.schema.as_deref().map(pretty),
        example: it.example.as_deref().map(pretty),
    };
    Ok(show(&EventTypesPage {
        frame: visitor.frame(PortalSection::EventTypes, &uri, None),
        event_types: offered.map(line).collect(),
    })?)
}

/// JSON with a line for each member.
fn pretty(json: &RawValue) -> String {
    let value: Value = serde_json::from_str(json.get()).unwrap_or_default();
    serde_json::to_string_pretty(&value).unwrap_or_default()
}
