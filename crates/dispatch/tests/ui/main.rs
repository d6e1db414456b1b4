//! The operator's page over a real dispatcher: its responses, and its behaviour in a browser.
#![expect(clippy::unwrap_used, reason = "what is unexpected in a test is a failure")]

mod browser;
mod catalogue;
mod endpoint_forms;
mod fixture;
#[cfg(feature = "oidc")]
mod oidc;
mod pages;
mod portal;
mod portal_browser;
mod portal_fixture;
mod portal_frame;
mod portal_routes;
mod roles;
