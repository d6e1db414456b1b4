//! The credentials with which attempts to an endpoint authenticate, besides signatures and headers.

use std::fmt;

/// A text that is secret: neither shown nor logged, and only revealed to be sent or stored.
///
/// ```
/// use stagger_scheduler::model::SecretText;
/// let secret = SecretText::new("hunter2");
/// assert_eq!((format!("{secret:?}").as_str(), secret.reveal()), ("SecretText(..)", "hunter2"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Box<str>);

impl SecretText {
    /// The secret with this text.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Its text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

/// The credentials of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointAuth {
    /// A name and a password (RFC 7617).
    Basic {
        /// The name: at most 255 characters, no colon.
        username: String,
        /// The password: at most 1024 characters.
        password: SecretText,
    },
    /// A token that never changes by itself (RFC 6750).
    Bearer {
        /// The token: at most 4096 visible ASCII characters.
        token: SecretText,
    },
    /// Tokens of an authorization server, by client credentials (RFC 6749 section 4.4).
    OAuth2(OAuth2Client),
    /// A client certificate in the TLS handshake.
    Mtls(ClientIdentity),
    /// An access key of AWS, which signs each request (Signature Version 4).
    Aws(AwsIdentity),
    /// A key of NATS, which signs the challenge of the server.
    Nkey(NkeyIdentity),
}

impl EndpointAuth {
    /// The name of its kind in the API.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Basic { .. } => "basic",
            Self::Bearer { .. } => "bearer",
            Self::OAuth2(_) => "oauth2",
            Self::Mtls(_) => "mtls",
            Self::Aws(_) => "aws",
            Self::Nkey(_) => "nkey",
        }
    }
}

/// A client of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuth2Client {
    /// The token endpoint: https, and guarded like the endpoint itself.
    pub token_url: String,
    /// The client's id.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: SecretText,
    /// The scope to ask for: words with blanks between them.
    pub scope: Option<String>,
    /// The audience to ask for, where a server wants one.
    pub audience: Option<String>,
    /// The place of the client's id and secret in a request for a token.
    pub style: ClientAuthStyle,
}

/// The place of the client's id and secret in a request for a token (RFC 6749 section 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuthStyle {
    /// The header `Authorization`, which every server has to take.
    #[default]
    Header,
    /// The body, which some servers want.
    Body,
}

/// A client certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The certificate and its intermediates, as PEM.
    pub certificate: String,
    /// The private key, as PEM: PKCS 8, PKCS 1 or SEC 1, without a passphrase.
    pub key: SecretText,
    /// The only authorities to trust in the receiver's certificate, as PEM: default the node's.
    pub ca: Option<String>,
}

/// An access key of AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsIdentity {
    /// The id of the key, which requests name.
    pub access_key_id: String,
    /// The secret that signs.
    pub secret_access_key: SecretText,
    /// The token of temporary credentials.
    pub session_token: Option<SecretText>,
}

/// A user key of NATS, with the token of the account that signed it, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NkeyIdentity {
    /// The seed of the key: `SU` and 56 more letters and digits.
    pub seed: SecretText,
    /// The JSON web token of the user, as in a file of credentials.
    pub jwt: Option<SecretText>,
}
