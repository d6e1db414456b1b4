//! The credentials of an endpoint in JSON: their secrets are taken, and never shown again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use stagger_scheduler::model::{
    AwsIdentity, ClientAuthStyle, ClientIdentity, Endpoint, EndpointAuth, NkeyIdentity,
    OAuth2Client, SecretText,
};
use url::Url;
use utoipa::ToSchema;

use crate::Error;

/// The credentials with which attempts authenticate, besides the signature. Secrets are never shown again; a patch keeps
/// those that it does not give, unless the kind changes, or their address moves to another origin.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[schema(as = EndpointAuth)]
pub(super) enum AuthSettings {
    /// A name and a password, in the header `Authorization` (RFC 7617).
    Basic {
        /// At most 255 characters, no colon.
        #[schema(min_length = 1, max_length = 255)]
        username: String,
        /// At most 1024 characters.
        #[schema(value_type = String, write_only, max_length = 1024)]
        password: WrittenSecret,
    },
    /// A token that never changes by itself, in the header `Authorization` (RFC 6750).
    Bearer {
        /// At most 4096 visible ASCII characters.
        #[schema(value_type = String, write_only, min_length = 1, max_length = 4096)]
        token: WrittenSecret,
    },
    /// Tokens of an authorization server, by client credentials (RFC 6749 section 4.4). A token is used until shortly before
    /// it expires; when the receiver answers 401, it is replaced once. Without a token nothing is sent, no attempt is
    /// counted, and the endpoint is held back for 1 s at first and up to a minute.
    #[serde(rename = "oauth2")]
    #[schema(rename = "oauth2")]
    OAuth2 {
        /// The token endpoint: an https address, which the egress guard checks like the endpoint's own.
        #[schema(value_type = super::schema::UrlText)]
        token_url: String,
        #[schema(min_length = 1, max_length = 255)]
        client_id: String,
        /// At most 1024 characters.
        #[schema(value_type = String, write_only, min_length = 1, max_length = 1024)]
        client_secret: WrittenSecret,
        /// The scope to ask for: words with blanks between them.
        #[serde(default)]
        #[schema(max_length = 1024)]
        scope: Option<String>,
        /// The audience to ask for, where the server wants one.
        #[serde(default)]
        #[schema(max_length = 1024)]
        audience: Option<String>,
        /// The place of the client's id and secret: `header` (default) or `body`.
        #[serde(default)]
        client_auth: Option<ClientAuthName>,
    },
    /// A client certificate in the TLS handshake. It needs an https `url`.
    Mtls {
        /// The certificate, then its intermediates, as PEM.
        #[schema(max_length = 65_536)]
        certificate: String,
        /// The private key of the certificate, as PEM without a passphrase.
        #[schema(value_type = String, write_only, max_length = 16_384)]
        key: WrittenSecret,
        /// The only authorities to trust in the receiver's certificate, as PEM: default the node's.
        #[serde(default)]
        #[schema(max_length = 65_536)]
        ca: Option<String>,
    },
    /// An access key of AWS, which signs each request (Signature Version 4): for a `destination` of the type `sqs`.
    Aws {
        #[schema(min_length = 1, max_length = 128)]
        access_key_id: String,
        /// At most 1024 visible ASCII characters.
        #[schema(value_type = String, write_only, min_length = 1, max_length = 1024)]
        secret_access_key: WrittenSecret,
        /// The token of temporary credentials, at most 4096 visible ASCII characters.
        #[serde(default)]
        #[schema(value_type = Option<String>, write_only, max_length = 4096)]
        session_token: Option<WrittenSecret>,
    },
    /// A user key of NATS, which signs the challenge of the server: for a `destination` of the type `nats`.
    Nkey {
        /// The seed of the key: `SU` and 56 more letters and digits.
        #[schema(value_type = String, write_only, min_length = 58, max_length = 58)]
        seed: WrittenSecret,
        /// The token of the user, as in a file of credentials.
        #[serde(default)]
        #[schema(value_type = Option<String>, write_only, max_length = 4096)]
        jwt: Option<WrittenSecret>,
    },
}

/// The place of the client's id and secret in a request for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ClientAuth)]
pub(super) enum ClientAuthName {
    Header,
    Body,
}

/// A secret of a request. It is serialized to merge a patch into it, and for nothing else.
#[derive(Clone, Debug)]
pub(super) struct WrittenSecret(SecretText);

impl Serialize for WrittenSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.reveal())
    }
}

impl<'de> Deserialize<'de> for WrittenSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(SecretText::new(text)))
    }
}

impl AuthSettings {
    /// The settings that `auth` has, with its secrets.
    pub(super) fn of(auth: &EndpointAuth) -> Self {
        let written = |secret: &SecretText| WrittenSecret(secret.clone());
        match auth {
            EndpointAuth::Basic { username, password } => {
                Self::Basic { username: username.clone(), password: written(password) }
            }
            EndpointAuth::Bearer { token } => Self::Bearer { token: written(token) },
            EndpointAuth::OAuth2(client) => Self::OAuth2 {
                token_url: client.token_url.clone(),
                client_id: client.client_id.clone(),
                client_secret: written(&client.client_secret),
                scope: client.scope.clone(),
                audience: client.audience.clone(),
                client_auth: Some(client.style.into()),
            },
            EndpointAuth::Mtls(ClientIdentity { certificate, key, ca }) => {
                let (certificate, ca) = (certificate.clone(), ca.clone());
                Self::Mtls { certificate, key: written(key), ca }
            }
            EndpointAuth::Aws(AwsIdentity { access_key_id, secret_access_key, session_token }) => {
                Self::Aws {
                    access_key_id: access_key_id.clone(),
                    secret_access_key: written(secret_access_key),
                    session_token: session_token.as_ref().map(written),
                }
            }
            EndpointAuth::Nkey(NkeyIdentity { seed, jwt }) => {
                Self::Nkey { seed: written(seed), jwt: jwt.as_ref().map(written) }
            }
        }
    }

    /// The credentials, not checked yet.
    pub(super) fn into_auth(self) -> EndpointAuth {
        match self {
            Self::Basic { username, password } => {
                EndpointAuth::Basic { username, password: password.0 }
            }
            Self::Bearer { token } => EndpointAuth::Bearer { token: token.0 },
            Self::OAuth2 { token_url, client_id, client_secret, scope, audience, client_auth } => {
                let style = client_auth.map(ClientAuthStyle::from).unwrap_or_default();
                let client_secret = client_secret.0;
                let client =
                    OAuth2Client { token_url, client_id, client_secret, scope, audience, style };
                EndpointAuth::OAuth2(client)
            }
            Self::Mtls { certificate, key, ca } => {
                EndpointAuth::Mtls(ClientIdentity { certificate, key: key.0, ca })
            }
            Self::Aws { access_key_id, secret_access_key, session_token } => {
                EndpointAuth::Aws(AwsIdentity {
                    access_key_id,
                    secret_access_key: secret_access_key.0,
                    session_token: session_token.map(|secret| secret.0),
                })
            }
            Self::Nkey { seed, jwt } => {
                EndpointAuth::Nkey(NkeyIdentity { seed: seed.0, jwt: jwt.map(|secret| secret.0) })
            }
        }
    }
}

impl From<ClientAuthStyle> for ClientAuthName {
    fn from(style: ClientAuthStyle) -> Self {
        match style {
            ClientAuthStyle::Header => Self::Header,
            ClientAuthStyle::Body => Self::Body,
        }
    }
}

impl From<ClientAuthName> for ClientAuthStyle {
    fn from(name: ClientAuthName) -> Self {
        match name {
            ClientAuthName::Header => Self::Header,
            ClientAuthName::Body => Self::Body,
        }
    }
}

/// The credentials of an endpoint without their secrets.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EndpointAuthView)]
pub(super) struct AuthView {
    /// The kind: `basic`, `bearer`, `oauth2`, `mtls`, `aws` or `nkey`.
    #[schema(example = "oauth2")]
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_auth: Option<ClientAuthName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_key_id: Option<String>,
}

impl From<&EndpointAuth> for AuthView {
    fn from(auth: &EndpointAuth) -> Self {
        let mut view = Self {
            r#type: auth.kind(),
            username: None,
            token_url: None,
            client_id: None,
            scope: None,
            audience: None,
            client_auth: None,
            certificate: None,
            ca: None,
            access_key_id: None,
        };
        match auth {
            EndpointAuth::Basic { username, .. } => view.username = Some(username.clone()),
            EndpointAuth::Bearer { .. } | EndpointAuth::Nkey(_) => {}
            EndpointAuth::Aws(identity) => {
                view.access_key_id = Some(identity.access_key_id.clone());
            }
            EndpointAuth::OAuth2(client) => {
                view.token_url = Some(client.token_url.clone());
                view.client_id = Some(client.client_id.clone());
                view.scope.clone_from(&client.scope);
                view.audience.clone_from(&client.audience);
                view.client_auth = Some(client.style.into());
            }
            EndpointAuth::Mtls(ClientIdentity { certificate, ca, .. }) => {
                view.certificate = Some(certificate.clone());
                view.ca.clone_from(ca);
            }
        }
        view
    }
}

/// Completes the patch of credentials: another kind replaces all of the old one, and a secret does not go with its address
/// to another origin. `moves` is whether the URL of the endpoint does.
///
/// # Errors
/// A secret is needed and not given.
pub(super) fn complete_patch(
    members: &mut Map<String, Value>,
    old: &Endpoint,
    moves: bool,
) -> Result<(), Error> {
    let Some(auth) = &old.auth else { return Ok(()) };
    let secret = match auth {
        EndpointAuth::Basic { .. } => "password",
        EndpointAuth::Bearer { .. } => "token",
        EndpointAuth::OAuth2(_) => "client_secret",
        // These keys sign, and stay here whatever the address.
        EndpointAuth::Mtls(_) | EndpointAuth::Aws(_) | EndpointAuth::Nkey(_) => "",
    };
    let patch = match members.get_mut("auth") {
        Some(Value::Object(patch)) => patch,
        Some(_) => return Ok(()),
        None if moves && !secret.is_empty() => return Err(needs_secret(auth)),
        None => return Ok(()),
    };
    if patch.get("type").is_some_and(|kind| kind != auth.kind()) {
        let settings = serde_json::to_value(AuthSettings::of(auth)).unwrap_or_default();
        let names = settings.as_object().into_iter().flat_map(Map::keys);
        for name in names.filter(|name| *name != "type") {
            patch.entry(name).or_insert(Value::Null);
        }
        return Ok(());
    }
    let moves =
        moves || matches!(auth, EndpointAuth::OAuth2(client) if token_url_moves(patch, client));
    if moves && !secret.is_empty() && !patch.get(secret).is_some_and(Value::is_string) {
        return Err(needs_secret(auth));
    }
    Ok(())
}

fn token_url_moves(patch: &Map<String, Value>, client: &OAuth2Client) -> bool {
    let origin = |url: &str| Url::parse(url).ok().map(|url| url.origin());
    let new = patch.get("token_url").and_then(Value::as_str);
    new.is_some_and(|new| origin(new) != origin(&client.token_url))
}

fn needs_secret(auth: &EndpointAuth) -> Error {
    let bound = "given again with its secret, or removed (null), because its address moves to another origin, which \
                 would learn the secret";
    Error::invalid("auth", auth.kind(), bound)
}
