//! The HTTP API: JSON in, JSON out, errors as problem documents, described by OpenAPI.
//!
//! Every `/v1` request except the one for the OpenAPI document carries `Authorization: Bearer KEY`.
//! The admin key gives access to everything, an application's key to the paths below its own
//! `/v1/applications/{app}`, and an API key to what its scopes allow.

mod api_keys;
mod applications;
mod audit;
mod auth;
mod body;
mod cloud_events;
mod deliveries;
mod endpoints;
mod event_types;
mod export;
mod filter_test;
pub(crate) mod manage;
mod messages;
mod nodes;
mod openapi;
mod operators;
mod portal_links;
mod problem;
mod query;
mod router;
mod running_exports;
mod state;
mod trace;
mod wire;

pub(crate) use api_keys::day_text;
pub use router::router;
pub use state::ApiOptions;
