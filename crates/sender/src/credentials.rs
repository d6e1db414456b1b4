//! The credentials of an endpoint made ready to be sent: checked, and read once.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderValue;
use sha2::{Digest, Sha256};
use stagger::ConfigError;
use stagger_scheduler::model::{
    ClientAuthStyle, ClientIdentity, Endpoint, EndpointAuth, OAuth2Client, SecretText,
};
use tokio_rustls::TlsConnector;
use url::form_urlencoded::{self, Serializer};

use crate::address::{Address, Ports};
use crate::guard::EgressGuard;
use crate::tls::TlsRoots;
use crate::token_cache::TokenCache;

const TOKEN_URL: &str = "auth.token_url";
/// Longest name, scope and audience, and longest secret, in characters.
const MAX_NAME: usize = 255;
const MAX_PHRASE: usize = 1024;
const MAX_SECRET: usize = 1024;
/// Longest token, in bytes: with the other headers it fits the head that most servers take.
const MAX_TOKEN: usize = 4096;

/// The facts that credentials are prepared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CredentialRules<'s> {
    pub(crate) ports: &'s Ports,
    pub(crate) roots: &'s TlsRoots,
}

/// The credentials of an endpoint.
#[derive(Debug, Default)]
pub(crate) enum Credentials {
    #[default]
    None,
    /// The value of `Authorization`.
    Fixed(HeaderValue),
    /// A token of an authorization server.
    Token(Box<TokenClient>),
    /// A certificate in the handshake.
    Certificate(CertificateCredentials),
}

/// A connector with a client certificate, and the fingerprint of all that it was made of.
pub(crate) struct CertificateCredentials {
    pub(crate) connector: TlsConnector,
    pub(crate) fingerprint: String,
}

/// The request for a token, and the token that is kept.
pub(crate) struct TokenClient {
    pub(crate) address: Address,
    pub(crate) body: Bytes,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) cache: TokenCache,
}

impl Credentials {
    /// Checks and prepares the credentials of an endpoint.
    ///
    /// # Errors
    /// `auth` or a part of it, with the bound that it breaks; secrets are not repeated.
    pub(crate) fn new(
        endpoint: &Endpoint,
        rules: CredentialRules<'_>,
    ) -> Result<Self, ConfigError> {
        let Some(auth) = &endpoint.auth else { return Ok(Self::None) };
        let sets_header = endpoint.headers.iter().any(|header| header.name == "authorization");
        if sets_header && !matches!(auth, EndpointAuth::Mtls(_)) {
            let bound = "left out beside the header authorization, which it would replace";
            return Err(ConfigError::new("auth", auth.kind(), bound));
        }
        match auth {
            EndpointAuth::Basic { username, password } => {
                basic(username, password).map(Self::Fixed)
            }
            EndpointAuth::Bearer { token } => {
                let value = bearer(token.reveal()).filter(|_| token.reveal().len() <= MAX_TOKEN);
                let bound = "1 to 4096 letters, digits and other visible ASCII characters";
                value.map(Self::Fixed).ok_or_else(|| hidden("auth.token", bound))
            }
            EndpointAuth::OAuth2(client) => {
                TokenClient::new(client, rules).map(|client| Self::Token(Box::new(client)))
            }
            EndpointAuth::Aws(_) | EndpointAuth::Nkey(_) => {
                let bound = "used with the destination that takes it, or replaced";
                Err(ConfigError::new("auth", auth.kind(), bound))
            }
            EndpointAuth::Mtls(identity) => {
                if !endpoint.url.starts_with("https:") {
                    let bound = "used with an https url: there is no certificate without TLS";
                    return Err(ConfigError::new("auth", auth.kind(), bound));
                }
                CertificateCredentials::new(identity, rules.roots).map(Self::Certificate)
            }
        }
    }

    /// Checks the address of an authorization server before it is saved: a literal one that the egress guard refuses, and
    /// one without TLS, except where private addresses are allowed.
    ///
    /// # Errors
    /// `auth.token_url` with the bound that it breaks.
    pub(crate) fn check_server(
        endpoint: &Endpoint,
        guard: EgressGuard,
        ports: &Ports,
    ) -> Result<(), ConfigError> {
        let Some(EndpointAuth::OAuth2(OAuth2Client { token_url, .. })) = &endpoint.auth else {
            return Ok(());
        };
        let address = Address::parse(token_url, guard, ports).map_err(|e| e.at(TOKEN_URL))?;
        if address.tls_name.is_none() && !guard.allows_private() {
            let bound = "an https address: it gets the client's secret";
            return Err(ConfigError::new(TOKEN_URL, token_url, bound));
        }
        Ok(())
    }

    /// The key under which connections of this endpoint are shared. One with a client certificate belongs to it alone.
    pub(crate) fn pool_key(&self, endpoint: &Endpoint, origin: &Arc<str>) -> Arc<str> {
        match self {
            Self::Certificate(certificate) => {
                format!("{origin} {} {}", endpoint.id, certificate.fingerprint).into()
            }
            Self::None | Self::Fixed(_) | Self::Token(_) => Arc::clone(origin),
        }
    }
}

impl CertificateCredentials {
    fn new(identity: &ClientIdentity, roots: &TlsRoots) -> Result<Self, ConfigError> {
        let connector = roots.with_identity(identity)?;
        let ClientIdentity { certificate, key, ca } = identity;
        let mut hash = Sha256::new();
        for part in [certificate.as_str(), key.reveal(), ca.as_deref().unwrap_or_default()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Ok(Self { connector, fingerprint: STANDARD.encode(hash.finalize()) })
    }
}

impl std::fmt::Debug for CertificateCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificateCredentials").finish_non_exhaustive()
    }
}

impl TokenClient {
    fn new(client: &OAuth2Client, rules: CredentialRules<'_>) -> Result<Self, ConfigError> {
        let OAuth2Client { token_url, client_id, client_secret, scope, audience, style } = client;
        // A literal one is judged when it is dialled, like any other.
        let address = Address::read(token_url, rules.ports).map_err(|e| e.at(TOKEN_URL))?;
        if !is_plain(client_id, MAX_NAME) {
            let bound = "1 to 255 characters without control characters";
            return Err(ConfigError::new("auth.client_id", client_id.escape_debug(), bound));
        }
        let secret = client_secret.reveal();
        if !is_plain(secret, MAX_SECRET) {
            let bound = "1 to 1024 characters without control characters";
            return Err(hidden("auth.client_secret", bound));
        }
        for (field, phrase) in [("auth.scope", scope), ("auth.audience", audience)] {
            if let Some(phrase) = phrase.as_deref().filter(|phrase| !is_plain(phrase, MAX_PHRASE)) {
                let bound = "1 to 1024 characters without control characters, or left out";
                return Err(ConfigError::new(field, phrase.escape_debug(), bound));
            }
        }
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        for (name, value) in [("scope", scope), ("audience", audience)] {
            form.extend_pairs(value.as_deref().map(|value| (name, value)));
        }
        let authorization = match style {
            ClientAuthStyle::Header => Some(header_of_client(client_id, secret)),
            ClientAuthStyle::Body => {
                form.append_pair("client_id", client_id).append_pair("client_secret", secret);
                None
            }
        };
        let body = Bytes::from(form.finish());
        Ok(Self { address, body, authorization, cache: TokenCache::default() })
    }
}

impl std::fmt::Debug for TokenClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenClient").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The value of `Authorization` with a token, if it can be sent.
pub(crate) fn bearer(token: &str) -> Option<HeaderValue> {
    let visible = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    visible.then(|| sensitive(&format!("Bearer {token}"))).flatten()
}

fn basic(username: &str, password: &SecretText) -> Result<HeaderValue, ConfigError> {
    // RFC 7617 section 2: the first colon ends the name.
    if !is_plain(username, MAX_NAME) || username.contains(':') {
        let bound = "1 to 255 characters without colons and control characters";
        return Err(ConfigError::new("auth.username", username.escape_debug(), bound));
    }
    let secret = password.reveal();
    let fits = secret.is_empty() || is_plain(secret, MAX_SECRET);
    let value = fits
        .then(|| sensitive(&format!("Basic {}", STANDARD.encode(format!("{username}:{secret}")))));
    value.flatten().ok_or_else(|| {
        hidden("auth.password", "at most 1024 characters without control characters")
    })
}

/// RFC 6749 section 2.3.1: both are written as in a form before they are joined.
fn header_of_client(id: &str, secret: &str) -> HeaderValue {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let joined = format!("{}:{}", encoded(id), encoded(secret));
    let value = sensitive(&format!("Basic {}", STANDARD.encode(joined)));
    value.expect("base64 is visible ASCII")
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn is_plain(text: &str, most: usize) -> bool {
    let length = text.chars().take(most + 1).count();
    (1..=most).contains(&length) && !text.contains(char::is_control)
}

fn hidden(field: &'static str, bound: &str) -> ConfigError {
    ConfigError::new(field, "(not shown)", bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7617 section 2 and RFC 6749 section 2.3.1.
    #[test]
    fn names_and_passwords_are_written_as_the_standards_do() {
        let value = basic("Aladdin", &SecretText::new("open sesame")).unwrap();
        assert_eq!(value, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let value = header_of_client("s6BhdRkqt3", "7Fjfp0ZBr1KtDRbnfVdmIw");
        assert_eq!(value, "Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3");
        // A colon in an id is no end of it.
        let decoded = header_of_client("a:b", "ü d");
        let decoded = STANDARD.decode(&decoded.as_bytes()[6..]).unwrap();
        assert_eq!(decoded, b"a%3Ab:%C3%BC+d");
    }

    #[test]
    fn a_secret_is_neither_shown_nor_broken_into_lines() {
        for wrong in ["", "a b", "a\r\nhost: b", "é"] {
            assert!(bearer(wrong).is_none(), "{wrong:?}");
        }
        assert!(bearer("a.b-c_d~e+f/g==").unwrap().is_sensitive());
        let error = basic("me", &SecretText::new("hunter2\n")).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        assert!(basic("a:b", &SecretText::new("x")).is_err());
        assert!(format!("{:?}", bearer("hunter2")).contains("Sensitive"));
    }
}
