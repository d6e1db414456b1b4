//! Signing in at an OpenID Connect provider: the authorization code flow with PKCE (OpenID Connect Core 1.0 section
//! 3.1, RFC 7636).

mod http_client;
mod pending;
mod provider;

pub use provider::Oidc;
pub(crate) use provider::{LASTS, OidcError};
