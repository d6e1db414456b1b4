//! The credentials of an endpoint in its document: the only place of their secrets in a store.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stagger_scheduler::model::{
    AwsIdentity, ClientAuthStyle, ClientIdentity, EndpointAuth, NkeyIdentity, OAuth2Client,
    SecretText,
};

/// The credentials of an endpoint as JSON.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum AuthDocument {
    Basic {
        username: String,
        password: StoredSecret,
    },
    Bearer {
        token: StoredSecret,
    },
    #[serde(rename = "oauth2")]
    OAuth2 {
        token_url: String,
        client_id: String,
        client_secret: StoredSecret,
        #[serde(default)]
        scope: Option<String>,
        #[serde(default)]
        audience: Option<String>,
        #[serde(default)]
        in_body: bool,
    },
    Mtls {
        certificate: String,
        key: StoredSecret,
        #[serde(default)]
        ca: Option<String>,
    },
    Aws {
        access_key_id: String,
        secret_access_key: StoredSecret,
        #[serde(default)]
        session_token: Option<StoredSecret>,
    },
    Nkey {
        seed: StoredSecret,
        #[serde(default)]
        jwt: Option<StoredSecret>,
    },
}

/// A secret text, in the clear: the document is encrypted as a whole if there is a key.
pub(super) struct StoredSecret(SecretText);

impl Serialize for StoredSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.reveal())
    }
}

impl<'de> Deserialize<'de> for StoredSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(SecretText::new(text)))
    }
}

impl From<EndpointAuth> for AuthDocument {
    fn from(auth: EndpointAuth) -> Self {
        match auth {
            EndpointAuth::Basic { username, password } => {
                Self::Basic { username, password: StoredSecret(password) }
            }
            EndpointAuth::Bearer { token } => Self::Bearer { token: StoredSecret(token) },
            EndpointAuth::OAuth2(client) => {
                let OAuth2Client { token_url, client_id, client_secret, scope, audience, style } =
                    client;
                let client_secret = StoredSecret(client_secret);
                let in_body = style == ClientAuthStyle::Body;
                Self::OAuth2 { token_url, client_id, client_secret, scope, audience, in_body }
            }
            EndpointAuth::Mtls(ClientIdentity { certificate, key, ca }) => {
                Self::Mtls { certificate, key: StoredSecret(key), ca }
            }
            EndpointAuth::Aws(AwsIdentity { access_key_id, secret_access_key, session_token }) => {
                Self::Aws {
                    access_key_id,
                    secret_access_key: StoredSecret(secret_access_key),
                    session_token: session_token.map(StoredSecret),
                }
            }
            EndpointAuth::Nkey(NkeyIdentity { seed, jwt }) => {
                Self::Nkey { seed: StoredSecret(seed), jwt: jwt.map(StoredSecret) }
            }
        }
    }
}

impl From<AuthDocument> for EndpointAuth {
    fn from(document: AuthDocument) -> Self {
        match document {
            AuthDocument::Basic { username, password } => {
                Self::Basic { username, password: password.0 }
            }
            AuthDocument::Bearer { token } => Self::Bearer { token: token.0 },
            AuthDocument::OAuth2 {
                token_url,
                client_id,
                client_secret: StoredSecret(client_secret),
                scope,
                audience,
                in_body,
            } => {
                let style = if in_body { ClientAuthStyle::Body } else { ClientAuthStyle::Header };
                let client =
                    OAuth2Client { token_url, client_id, client_secret, scope, audience, style };
                Self::OAuth2(client)
            }
            AuthDocument::Mtls { certificate, key, ca } => {
                Self::Mtls(ClientIdentity { certificate, key: key.0, ca })
            }
            AuthDocument::Aws { access_key_id, secret_access_key, session_token } => {
                Self::Aws(AwsIdentity {
                    access_key_id,
                    secret_access_key: secret_access_key.0,
                    session_token: session_token.map(|secret| secret.0),
                })
            }
            AuthDocument::Nkey { seed, jwt } => {
                Self::Nkey(NkeyIdentity { seed: seed.0, jwt: jwt.map(|secret| secret.0) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_brokers_come_back_as_they_were_written() {
        let secret = |text: &str| SecretText::new(text);
        let (access_key_id, secret_access_key) = ("AKID".to_owned(), secret("s"));
        let aws =
            AwsIdentity { access_key_id, secret_access_key, session_token: Some(secret("t")) };
        let nkey = NkeyIdentity { seed: secret("SU"), jwt: None };
        for auth in [EndpointAuth::Aws(aws), EndpointAuth::Nkey(nkey)] {
            let text = serde_json::to_string(&AuthDocument::from(auth.clone())).unwrap();
            let read: AuthDocument = serde_json::from_str(&text).unwrap();
            assert_eq!(EndpointAuth::from(read), auth);
        }
    }
}
