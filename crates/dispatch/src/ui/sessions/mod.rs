//! Who gets in: signing in with the admin key, sessions, and requests that other pages have caused.

mod auth;
mod bucket;
mod middleware;
mod origin;
mod session_store;

pub(super) use auth::{Auth, SignInError};
pub(super) use middleware::require_session;
