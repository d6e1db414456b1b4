//! Credentials for a NATS server.

use stagger::ConfigError;
use stagger_scheduler::model::{EndpointAuth, NkeyIdentity, SecretText};

use super::nkey::UserKey;

/// The credentials that `CONNECT` has.
#[derive(Debug)]
pub(super) enum NatsCredentials {
    None,
    Password { username: String, password: SecretText },
    Token(SecretText),
    Key { key: UserKey, jwt: Option<SecretText> },
}

impl NatsCredentials {
    /// Those of an endpoint or a source. A client certificate is shown in the TLS handshake.
    ///
    /// # Errors
    /// `auth` or a part of it; secrets are not repeated.
    pub(super) fn new(auth: Option<&EndpointAuth>) -> Result<Self, ConfigError> {
        match auth {
            None | Some(EndpointAuth::Mtls(_)) => Ok(Self::None),
            Some(EndpointAuth::Basic { username, password }) => {
                Ok(Self::Password { username: username.clone(), password: password.clone() })
            }
            Some(EndpointAuth::Bearer { token }) => Ok(Self::Token(token.clone())),
            Some(EndpointAuth::Nkey(NkeyIdentity { seed, jwt })) => {
                let key = UserKey::parse(seed.reveal()).ok_or_else(|| {
                    let bound = "the seed of a user: SU and 56 more letters and digits";
                    ConfigError::new("auth.seed", "(not shown)", bound)
                })?;
                Ok(Self::Key { key, jwt: jwt.clone() })
            }
            Some(other @ (EndpointAuth::OAuth2(_) | EndpointAuth::Aws(_))) => {
                let bound = "basic, bearer, nkey or mtls for a NATS server";
                Err(ConfigError::new("auth", other.kind(), bound))
            }
        }
    }
}
