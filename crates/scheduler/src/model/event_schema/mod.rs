//! The schema of an event type: JSON Schema, bounded in size and in work, which reads no other document.

mod graph;
mod position;
mod schema;
mod work;

pub use schema::{EventSchema, SchemaViolation};
