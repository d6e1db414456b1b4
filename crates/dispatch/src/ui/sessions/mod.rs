//! Authentication: signing in with the admin key, sessions, and requests forged by other pages.

mod auth;
mod middleware;

pub use auth::UiOptions;
pub(super) use auth::{Auth, SignInError, cookie};
pub(super) use middleware::{is_own, require_session};
