//! The HTTP API: JSON in, JSON out, errors as problem documents, described by OpenAPI.
//!
//! Every `/v1` request except the one for the OpenAPI document carries `Authorization: Bearer KEY`.
//! The admin key gives access to everything, an application's key to the paths below its own
//! `/v1/applications/{app}`.

mod applications;
mod audit;
mod auth;
mod body;
mod deliveries;
mod endpoints;
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

pub use router::router;
pub use state::ApiOptions;
