//! Event types of the catalogue in JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use stagger_scheduler::model::EventType;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::schema::{AnyJson, EventSchemaJson, EventTypeText, TimestampText};
use crate::Error;
use crate::node::{CatalogueType, EventTypeSettings};

/// An event type to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct NewEventType {
    /// The name, which messages have as their `event_type`.
    #[schema(value_type = EventTypeText)]
    name: String,
    /// A description for people: default none.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    description: String,
    /// The JSON Schema of its payloads: default none, so that every payload matches.
    #[schema(value_type = Option<EventSchemaJson>)]
    schema: Option<Value>,
    /// A payload that matches the schema, at most 64 KiB: default none.
    #[schema(value_type = Option<AnyJson>)]
    example: Option<Value>,
    /// Whether it is offered no more in forms and in the portal: default false. Its messages are accepted.
    #[serde(default)]
    archived: bool,
}

/// The settings that replace those of an event type.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct EventTypeChange {
    /// A description for people: default none.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    description: String,
    /// The JSON Schema of its payloads: default none, so that every payload matches.
    #[schema(value_type = Option<EventSchemaJson>)]
    schema: Option<Value>,
    /// A payload that matches the schema, at most 64 KiB: default none.
    #[schema(value_type = Option<AnyJson>)]
    example: Option<Value>,
    /// Whether it is offered no more in forms and in the portal: default false. Its messages are accepted.
    #[serde(default)]
    archived: bool,
}

impl NewEventType {
    /// The settings that it has.
    ///
    /// # Errors
    /// The name is none.
    pub(in super::super) fn into_settings(self) -> Result<EventTypeSettings, Error> {
        let Self { name, description, schema, example, archived } = self;
        let name = name.parse::<EventType>();
        let name =
            name.map_err(|error| Error::invalid("name", error.value(), error.bound().to_owned()))?;
        Ok(EventTypeChange { description, schema, example, archived }.into_settings(name))
    }
}

impl EventTypeChange {
    pub(in super::super) fn into_settings(self, name: EventType) -> EventTypeSettings {
        let Self { description, schema, example, archived } = self;
        EventTypeSettings { name, description, schema, example, archived }
    }
}

/// An event type.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CatalogueEventType)]
pub(in super::super) struct EventTypeView {
    /// The name, which messages have as their `event_type`.
    #[schema(value_type = EventTypeText)]
    name: EventType,
    /// A description for people.
    description: String,
    /// The JSON Schema of its payloads.
    #[schema(value_type = Option<EventSchemaJson>)]
    schema: Option<Box<RawValue>>,
    /// A payload that matches the schema.
    #[schema(value_type = Option<AnyJson>)]
    example: Option<Box<RawValue>>,
    /// Whether it is offered no more in forms and in the portal. Its messages are accepted.
    archived: bool,
    /// The number of its schemas: one more at each change of the schema, from 1.
    version: u32,
    #[schema(value_type = TimestampText)]
    created_at: Timestamp,
    #[schema(value_type = TimestampText)]
    updated_at: Timestamp,
}

impl EventTypeView {
    pub(in super::super) const fn name(&self) -> &EventType {
        &self.name
    }
}

impl From<&CatalogueType> for EventTypeView {
    fn from(event_type: &CatalogueType) -> Self {
        Self {
            name: event_type.name.clone(),
            description: event_type.description.clone(),
            schema: event_type.schema.clone(),
            example: event_type.example.clone(),
            archived: event_type.archived,
            version: event_type.version,
            created_at: Timestamp(event_type.created_at),
            updated_at: Timestamp(event_type.updated_at),
        }
    }
}

/// Some event types.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct EventTypeList {
    /// By name.
    pub(in super::super) items: Vec<EventTypeView>,
    /// The `after` of the next page, if there is one.
    pub(in super::super) next: Option<String>,
}
