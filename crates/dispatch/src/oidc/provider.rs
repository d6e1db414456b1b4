//! A provider: found, asked to sign a person in, and its answer checked.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreIdToken, CoreJwsSigningAlgorithm, CoreProviderMetadata,
};
use openidconnect::{
    AuthorizationCode, ClientId, ClientSecret, CsrfToken, IssuerUrl, Nonce, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, Scope, TokenResponse,
};
use serde_json::Value;
use stagger::{Clock, Instant, Span, StdTime};
use subtle::ConstantTimeEq;

use super::http_client::{self, chain};
use super::pending::{self, Pending, PendingSignIns};
use crate::Error;
use crate::access::Operator;
use crate::config::OidcSettings;
use crate::random::os_bytes;

/// The path to which the provider sends a browser back.
const RETURN: &str = "/ui/sign-in/oidc";

/// The lifetime of a session: the provider may take a role away, and that shows at the next sign-in.
pub(crate) const LASTS: Span = Span::from_secs(60 * 60);

/// The time for which a provider's description and keys are used: soon after a change they are new.
const FRESH: Span = Span::from_secs(60);

/// Longest name of an operator: it stands on every page and in the audit log.
const MAX_NAME: usize = 100;

/// Signatures with a key pair only. With the others the client's secret could sign an ID token.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// An identity provider at which operators sign in to the page. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Oidc(Arc<Provider>);

#[derive(Debug)]
struct Provider {
    settings: OidcSettings,
    issuer: IssuerUrl,
    secret: Option<ClientSecret>,
    back: RedirectUrl,
    http: reqwest::Client,
    /// One request at a time looks the provider up; the others wait for its answer.
    found: tokio::sync::Mutex<Option<(Instant, CoreProviderMetadata)>>,
    pending: Mutex<PendingSignIns>,
}

/// A sign-in that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Started {
    /// The provider's page.
    pub(crate) url: String,
    /// The state, which the browser keeps too.
    pub(crate) state: String,
    /// The time for which it is good.
    pub(crate) lasts: Span,
}

/// The reason for which a person was not signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OidcError {
    /// The provider did not answer as it should.
    Unavailable(String),
    /// The answer does not belong to a sign-in of this browser, or does not hold.
    Refused(String),
    /// The person has no role here.
    NoRole(String),
}

impl Oidc {
    /// The provider of these settings; `base` is the origin under which browsers reach the page. The provider itself is
    /// asked when a person signs in. `None` if no issuer is set.
    ///
    /// # Errors
    /// A setting that is missing: the client's name, roles, or the public address. The file of the secret cannot
    /// be read. The roots (PEM) are no certificates.
    pub fn new(
        settings: &OidcSettings,
        base: Option<&str>,
        roots: &[u8],
    ) -> Result<Option<Self>, Error> {
        let Some(issuer) = settings.issuer.clone() else { return Ok(None) };
        let missing = |field, bound: &str| Error::invalid(field, "", bound);
        let base = base.ok_or_else(|| {
            missing("public_url", "set, because the provider sends browsers there")
        })?;
        if settings.client_id.is_empty() {
            return Err(missing("oidc_client_id", "set with oidc_issuer"));
        }
        if settings.roles == crate::access::RoleMap::default() {
            return Err(missing(
                "oidc_roles",
                "set with oidc_issuer: without it no person has a role",
            ));
        }
        let wrong =
            |error: url::ParseError| Error::invalid("oidc_issuer", &issuer, error.to_string());
        let back = RedirectUrl::new(format!("{base}{RETURN}")).map_err(wrong)?;
        let provider = Provider {
            issuer: IssuerUrl::new(issuer.clone()).map_err(wrong)?,
            secret: secret(settings)?,
            back,
            http: http_client::client(roots)?,
            found: tokio::sync::Mutex::default(),
            pending: Mutex::default(),
            settings: settings.clone(),
        };
        Ok(Some(Self(Arc::new(provider))))
    }

    /// Begins a sign-in; the page `next` follows it.
    pub(crate) async fn start(&self, next: String) -> Result<Started, OidcError> {
        let provider = &self.0;
        let metadata = provider.find().await?;
        let (state, nonce, verifier) = (random()?, random()?, PkceCodeVerifier::new(random()?));
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier);
        let nonce = Nonce::new(nonce);
        let (given_state, given_nonce) = (CsrfToken::new(state.clone()), nonce.clone());
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let client = CoreClient::from_provider_metadata(metadata, provider.id(), None)
            .set_redirect_uri(provider.back.clone());
        let scopes = provider.settings.scopes.iter().cloned().map(Scope::new);
        let (url, ..) = client
            .authorize_url(flow, move || given_state, move || given_nonce)
            .add_scopes(scopes)
            .set_pkce_challenge(challenge)
            .url();
        let pending = Pending { nonce, verifier, next };
        self.pending().add(StdTime.now(), state.clone(), pending);
        Ok(Started { url: url.into(), state, lasts: pending::LASTS })
    }

    /// Ends a sign-in with the answer that a browser brings: the operator, and the page that follows. `kept` is the state
    /// that the browser was given at the start.
    pub(crate) async fn finish(
        &self,
        state: &str,
        kept: Option<&str>,
        code: &str,
    ) -> Result<(Operator, String), OidcError> {
        let refused = |why: &str| OidcError::Refused(why.to_owned());
        let same = kept.is_some_and(|kept| kept.as_bytes().ct_eq(state.as_bytes()).into());
        if !same {
            return Err(refused("the answer is not of a sign-in that this browser has begun"));
        }
        let pending = self.pending().take(StdTime.now(), state);
        let pending =
            pending.ok_or_else(|| refused("the sign-in took too long, or was answered before"))?;
        let (token, nonce) = (self.0.exchange(code, pending.verifier).await?, pending.nonce);
        let claims = self.0.check(&token, &nonce).await?;
        Ok((self.0.operator(&claims)?, pending.next))
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, PendingSignIns> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider {
    fn id(&self) -> ClientId {
        ClientId::new(self.settings.client_id.clone())
    }

    /// The provider's description and keys (OpenID Connect Discovery 1.0 section 4).
    async fn find(&self) -> Result<CoreProviderMetadata, OidcError> {
        let mut found = self.found.lock().await;
        if let Some((at, metadata)) = &*found
            && StdTime.now().since(*at) < FRESH
        {
            return Ok(metadata.clone());
        }
        let send = |request| http_client::send(self.http.clone(), request);
        let metadata = CoreProviderMetadata::discover_async(self.issuer.clone(), &send).await;
        let metadata = metadata.map_err(|error| OidcError::Unavailable(chain(&error)))?;
        *found = Some((StdTime.now(), metadata.clone()));
        Ok(metadata)
    }

    /// The ID token for a code (RFC 6749 section 4.1.3).
    async fn exchange(
        &self,
        code: &str,
        verifier: PkceCodeVerifier,
    ) -> Result<CoreIdToken, OidcError> {
        let metadata = self.find().await?;
        let client = CoreClient::from_provider_metadata(metadata, self.id(), self.secret.clone())
            .set_redirect_uri(self.back.clone());
        let send = |request| http_client::send(self.http.clone(), request);
        let request = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|error| OidcError::Unavailable(chain(&error)))?;
        let answer = request.set_pkce_verifier(verifier).request_async(&send).await;
        let answer = answer.map_err(|error| OidcError::Unavailable(chain(&error)))?;
        let token = answer.id_token().cloned();
        token.ok_or_else(|| OidcError::Refused("the provider gave no ID token".to_owned()))
    }

    /// The claims of an ID token that holds: signature, issuer, audience, time and nonce (OpenID Connect Core 1.0 section
    /// 3.1.3.7).
    async fn check(&self, token: &CoreIdToken, nonce: &Nonce) -> Result<Value, OidcError> {
        let metadata = self.find().await?;
        let client = CoreClient::from_provider_metadata(metadata, self.id(), self.secret.clone());
        let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS);
        let refused = |why: String| OidcError::Refused(format!("ID token refused: {why}"));
        token.claims(&verifier, nonce).map_err(|error| refused(chain(&error)))?;
        // The library has checked this text, and knows only the standard claims.
        let payload = token.to_string();
        let payload = payload.split('.').nth(1).and_then(|it| URL_SAFE_NO_PAD.decode(it).ok());
        let claims = payload.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        claims.ok_or_else(|| refused("its claims cannot be read".to_owned()))
    }

    fn operator(&self, claims: &Value) -> Result<Operator, OidcError> {
        let text = |name: &str| claims[name].as_str().filter(|text| !text.is_empty());
        let email = text("email").filter(|_| claims["email_verified"] != Value::Bool(false));
        let name = email.or_else(|| text("sub")).unwrap_or_default();
        let visible = name.chars().filter(|letter| !letter.is_control());
        // A name of the file has no colon, so that neither passes for the other.
        let name = format!("oidc:{}", visible.take(MAX_NAME).collect::<String>());
        let groups = match &claims[self.settings.role_claim.as_str()] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        match self.settings.roles.highest(groups) {
            Some(role) => Ok(Operator::of_provider(name, role)),
            None => Err(OidcError::NoRole(name)),
        }
    }
}

fn secret(settings: &OidcSettings) -> Result<Option<ClientSecret>, Error> {
    let Some(file) = &settings.client_secret_file else { return Ok(None) };
    let wrong = |why: String| Error::invalid("oidc_client_secret_file", file.display(), why);
    let text = fs::read_to_string(file).map_err(|error| wrong(format!("readable: {error}")))?;
    match text.trim() {
        "" => Err(wrong("a file with the secret".to_owned())),
        secret => Ok(Some(ClientSecret::new(secret.to_owned()))),
    }
}

/// 256 bits of the operating system's randomness, as 43 letters: enough for a verifier (RFC 7636 section 4.1).
fn random() -> Result<String, OidcError> {
    let bytes = os_bytes::<32>().map_err(|error| OidcError::Unavailable(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
