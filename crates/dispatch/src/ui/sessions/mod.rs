//! Authentication: signing in with the admin key, sessions, and requests forged by other pages.

mod auth;
mod middleware;

pub use auth::UiOptions;
pub(super) use auth::{Auth, SignInError};
pub(super) use middleware::require_session;
