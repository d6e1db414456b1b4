//! The settings of an OpenID Connect provider.

use std::path::PathBuf;

use crate::access::RoleMap;

/// A build without OpenID Connect refuses its issuer, wherever it is set.
pub(super) const BOUND: &str = if cfg!(feature = "oidc") {
    "an https address, or http on this machine"
} else {
    "left out, because this build has no OpenID Connect; build stagger with --features oidc"
};

/// The identity provider at which operators sign in to the page (OpenID Connect Core 1.0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcSettings {
    /// The issuer, under which its `/.well-known/openid-configuration` is. Default none: operators have keys
    /// only.
    pub issuer: Option<String>,
    /// The name of this dispatcher at the provider.
    pub client_id: String,
    /// The file of the secret that the provider made for it: default none, for a public client.
    pub client_secret_file: Option<PathBuf>,
    /// The scopes to ask for besides `openid`: default `profile` and `email`.
    pub scopes: Vec<String>,
    /// The claim of the ID token that names the groups of a person: default `groups`.
    pub role_claim: String,
    /// The roles of the groups. A person without any cannot sign in.
    pub roles: RoleMap,
}

impl Default for OidcSettings {
    fn default() -> Self {
        Self {
            issuer: None,
            client_id: String::new(),
            client_secret_file: None,
            scopes: vec!["profile".to_owned(), "email".to_owned()],
            role_claim: "groups".to_owned(),
            roles: RoleMap::default(),
        }
    }
}

/// The issuer in a text: TLS, but on this machine.
pub(super) fn issuer(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let safe = url.scheme() == "https" || (url.scheme() == "http" && local);
    let plain = url.query().is_none() && url.fragment().is_none() && url.password().is_none();
    (cfg!(feature = "oidc") && safe && plain && url.has_host()).then(|| text.to_owned())
}

/// A word of visible characters.
pub(super) fn word(text: &str) -> Option<String> {
    let visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    visible.then(|| text.to_owned())
}

/// Words with blanks between them.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    text.split(' ')
        .filter(|text| !text.is_empty())
        .map(word)
        .collect::<Option<Vec<_>>>()
        .filter(|words| !words.is_empty())
}
