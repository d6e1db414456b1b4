//! The HTTP API: JSON in, JSON out, errors as problem documents, described by OpenAPI.
//!
//! Every `/v1` request except the one for the OpenAPI document carries `Authorization: Bearer KEY`.
//! The admin key gives access to everything, an application's key to the paths below its own
//! `/v1/applications/{app}`.

mod applications;
mod auth;
mod body;
mod cursor;
mod deliveries;
mod endpoints;
mod health;
mod instant;
mod key;
mod keys;
mod merge;
mod messages;
mod openapi;
mod problem;
mod query;
mod rate;
mod reading;
mod replay;
mod router;
mod secrets;
mod state;
mod wire;

pub use router::router;
pub use state::ApiOptions;
