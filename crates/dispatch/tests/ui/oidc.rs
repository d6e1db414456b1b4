//! Signing in at an identity provider: a small one that signs with a real key, and can be wrong in every way.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::{get as on_get, post as on_post};
use axum::{Form, Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stagger::StdTime;
use stagger_dispatch::access::OperatorFile;
use stagger_dispatch::config::OidcSettings;
use stagger_dispatch::node::Node;
use stagger_dispatch::oidc::Oidc;
use stagger_dispatch::ui::{self, UiOptions};
use stagger_scheduler::model::KeyHash;
use tokio::net::TcpListener;
use url::Url;

use crate::fixture::{Reply, get, node, post};

/// The secret of the client at the provider.
const SECRET: &str = "the secret of the client";

/// A fault of the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fault {
    #[default]
    None,
    /// Another nonce than the one it was asked with.
    Nonce,
    Expired,
    Audience,
    Issuer,
    /// Signed with a key that is not among its keys.
    Key,
    /// Not signed.
    Unsigned,
    /// Without any ID token.
    NoToken,
    /// A person in no group that has a role.
    NoGroup,
    /// A description without an end.
    Endless,
}

struct Provider {
    issuer: String,
    key: EcdsaKeyPair,
    other: EcdsaKeyPair,
    asked: Mutex<Asked>,
}

/// The facts of the last request for a sign-in.
#[derive(Clone, Debug, Default)]
struct Asked {
    nonce: String,
    challenge: String,
    redirect: String,
    fault: Fault,
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap()
}

impl Provider {
    /// Serves on a free port.
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (key, other) = (key(), key());
        let provider = Arc::new(Self { issuer, key, other, asked: Mutex::default() });
        let routes = Router::new()
            .route("/.well-known/openid-configuration", on_get(describe))
            .route("/keys", on_get(keys))
            .route("/token", on_post(token))
            .with_state(Arc::clone(&provider));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        provider
    }

    /// A person signs in, after the browser came with this URL: the URL to which the browser is sent back.
    fn sign_in(&self, url: &str, fault: Fault) -> String {
        let url = Url::parse(url).unwrap();
        let value = |name: &str| {
            let found = url.query_pairs().find(|(key, _)| key == name);
            found.unwrap_or_else(|| panic!("{url} has no {name}")).1.into_owned()
        };
        assert_eq!((value("response_type"), value("client_id")), ("code".into(), "stagger".into()));
        assert_eq!(value("code_challenge_method"), "S256");
        assert_eq!(value("scope"), "openid profile email");
        *self.asked.lock().unwrap() = Asked {
            nonce: value("nonce"),
            challenge: value("code_challenge"),
            redirect: value("redirect_uri"),
            fault,
        };
        let back = Url::parse(&value("redirect_uri")).unwrap();
        format!("{}?code=c-1&state={}", back.path(), value("state"))
    }

    fn id_token(&self, asked: &Asked) -> String {
        let fault = asked.fault;
        let either = |wrong: Fault, bad: &str, good: &str| {
            if fault == wrong { bad.to_owned() } else { good.to_owned() }
        };
        let since = StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = since.as_secs();
        let ends = if fault == Fault::Expired { now - 3_600 } else { now + 300 };
        let claims = json!({
            "iss": either(Fault::Issuer, "https://evil.example", &self.issuer),
            "aud": either(Fault::Audience, "another client", "stagger"),
            "sub": "person-7", "email": "alice@example.org", "email_verified": true,
            "nonce": either(Fault::Nonce, "another", &asked.nonce),
            "iat": now - 5, "exp": ends,
            "groups": [either(Fault::NoGroup, "guests", "on-call"), "everyone"],
        });
        let unsigned = fault == Fault::Unsigned;
        let header = json!({ "alg": if unsigned { "none" } else { "ES256" }, "kid": "k-1" });
        let text = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signer = if fault == Fault::Key { &self.other } else { &self.key };
        let signature = signer.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        let signature = if unsigned { &[][..] } else { signature.as_ref() };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

async fn describe(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let issuer = &provider.issuer;
    let endless = provider.asked.lock().unwrap().fault == Fault::Endless;
    let blank = if endless { " ".repeat(2 << 20) } else { String::new() };
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "x": blank,
    }))
}

async fn keys(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let point = provider.key.public_key().as_ref();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..]));
    Json(json!({ "keys": [
        { "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "k-1", "x": x, "y": y }
    ] }))
}

async fn token(
    State(provider): State<Arc<Provider>>,
    headers: http::HeaderMap,
    Form(form): Form<std::collections::HashMap<String, String>>,
) -> (StatusCode, Json<Value>) {
    let asked = provider.asked.lock().unwrap().clone();
    let basic = base64::engine::general_purpose::STANDARD
        .encode(format!("stagger:{}", SECRET.replace(' ', "+")));
    let authorised = headers["authorization"].to_str().unwrap() == format!("Basic {basic}");
    let verified =
        URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes())) == asked.challenge;
    let right = form["code"] == "c-1" && form["redirect_uri"] == asked.redirect;
    if !(authorised && verified && right) {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" })));
    }
    let mut answer = json!({ "access_token": "a-1", "token_type": "Bearer", "expires_in": 300 });
    if asked.fault != Fault::NoToken {
        answer["id_token"] = provider.id_token(&asked).into();
    }
    (StatusCode::OK, Json(answer))
}

/// A dispatcher whose page signs in at `issuer`.
struct Page {
    address: SocketAddr,
    _node: Node,
    folder: PathBuf,
}

impl Drop for Page {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Page {
    async fn start(test: &str, issuer: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("stagger-oidc-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let secret = folder.join("secret");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = OidcSettings {
            issuer: Some(issuer.to_owned()),
            client_id: "stagger".into(),
            client_secret_file: Some(secret),
            roles: "on-call=operator, staff=viewer".parse().unwrap(),
            ..OidcSettings::default()
        };
        let oidc = Oidc::new(&settings, Some(&format!("http://{address}")), &[]).unwrap();
        let options = UiOptions {
            admin_key: Some(KeyHash::of("the right key")),
            operators: OperatorFile::default(),
            oidc,
            ..UiOptions::default()
        };
        let node = node().await;
        let router = ui::router(node.clone(), options);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, _node: node, folder }
    }

    /// Begins at the page: the provider's URL, and the cookie of the browser.
    async fn begin(&self) -> (String, String) {
        let form = get(self.address, "/ui/sign-in?next=%2Fui%2Faudit", &[]).await;
        let start = "/ui/sign-in/oidc/start?next=%2Fui%2Faudit";
        assert!(form.body.contains(&format!("href=\"{start}\"")), "{}", form.body);
        let reply = get(self.address, start, &[]).await;
        assert_eq!(reply.status, 303, "{}", reply.body);
        let cookie = reply.field("set-cookie").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
        let url = reply.field("location").unwrap().to_owned();
        (url, format!("cookie: {}", cookie.split(';').next().unwrap()))
    }

    async fn sign_in(&self, provider: &Provider, fault: Fault) -> Reply {
        let (url, cookie) = self.begin().await;
        get(self.address, &provider.sign_in(&url, fault), &[&cookie]).await
    }
}

/// The session that a reply begins.
fn session(reply: &Reply) -> String {
    let lines = reply.head.lines().filter_map(|line| line.split_once(": "));
    let mut cookies = lines.filter(|(name, _)| *name == "set-cookie").map(|(_, value)| value);
    let cookie = cookies.find(|cookie| cookie.starts_with("stagger=")).expect("a session");
    format!("cookie: {}", cookie.split(';').next().unwrap())
}

#[tokio::test]
async fn a_person_signs_in_with_the_role_of_a_group() {
    let provider = Provider::start().await;
    let page = Page::start("right", &provider.issuer).await;
    let (url, cookie) = page.begin().await;
    let back = provider.sign_in(&url, Fault::None);
    let reply = get(page.address, &back, &[&cookie]).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.contains("content=\"0;url=/ui/audit\""), "{}", reply.body);
    let session = session(&reply);
    let overview = get(page.address, "/", &[&session]).await;
    assert_eq!(overview.status, 200);
    assert!(overview.body.contains(">oidc:alice@example.org</span>"), "{}", overview.body);
    let refused = post(page.address, "/ui/applications", &[&session], "name=Acme").await;
    assert_eq!(refused.status, 403, "an operator makes no applications");
    let replayed = post(page.address, "/ui/dead/replay", &[&session], "").await;
    assert_eq!(replayed.status, 303, "{}", replayed.body);
    let log = get(page.address, "/ui/audit", &[&session]).await.body;
    assert!(log.contains("oidc:alice@example.org on the page"), "{log}");
    // The answer of the provider is good once.
    let again = get(page.address, &back, &[&cookie]).await;
    assert_eq!(again.status, 403, "{}", again.body);
}

#[tokio::test]
async fn a_wrong_answer_of_the_provider_signed_a_person_in() {
    let provider = Provider::start().await;
    let page = Page::start("wrong", &provider.issuer).await;
    for fault in [
        Fault::Nonce,
        Fault::Expired,
        Fault::Audience,
        Fault::Issuer,
        Fault::Key,
        Fault::Unsigned,
        Fault::NoToken,
        Fault::NoGroup,
    ] {
        let reply = page.sign_in(&provider, fault).await;
        assert_eq!(reply.status, 403, "{fault:?}: {}", reply.body);
        assert!(!reply.head.contains("set-cookie: stagger="), "{fault:?}: {}", reply.head);
        assert_eq!(reply.body.contains("has no role here"), fault == Fault::NoGroup, "{fault:?}");
    }
    assert_eq!(page.sign_in(&provider, Fault::None).await.status, 200);
}

#[tokio::test]
async fn the_answer_for_another_browser_signed_this_one_in() {
    let provider = Provider::start().await;
    let page = Page::start("state", &provider.issuer).await;
    let (url, cookie) = page.begin().await;
    let (_, other) = page.begin().await;
    let back = provider.sign_in(&url, Fault::None);
    for cookies in [&[][..], &[other.as_str()]] {
        let reply = get(page.address, &back, cookies).await;
        assert_eq!(reply.status, 403, "{}", reply.body);
    }
    let forged = back.replace("state=", "state=x");
    assert_eq!(get(page.address, &forged, &[&cookie]).await.status, 403);
    let denied = get(page.address, "/ui/sign-in/oidc?error=access_denied", &[&cookie]).await;
    assert_eq!(denied.status, 403);
    assert_eq!(get(page.address, &back, &[&cookie]).await.status, 200, "it is still good");
}

#[tokio::test]
async fn a_provider_that_is_away_or_endless_took_the_page_with_it() {
    // A port that nothing listens on.
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let away = format!("http://{}", taken.local_addr().unwrap());
    drop(taken);
    let endless = Provider::start().await;
    endless.asked.lock().unwrap().fault = Fault::Endless;
    for (test, issuer) in [("away", away), ("endless", endless.issuer.clone())] {
        let page = Page::start(test, &issuer).await;
        let reply = get(page.address, "/ui/sign-in/oidc/start", &[]).await;
        assert_eq!(reply.status, 502, "{issuer}: {}", reply.body);
        assert!(reply.body.contains("A key works without it"), "{}", reply.body);
        let with_key = post(page.address, "/ui/sign-in", &[], "key=the+right+key").await;
        assert_eq!(with_key.status, 303);
    }
}

#[test]
fn settings_without_a_client_a_role_or_an_address_were_taken() {
    let good = OidcSettings {
        issuer: Some("https://id.example".into()),
        client_id: "stagger".into(),
        roles: "staff=viewer".parse().unwrap(),
        ..OidcSettings::default()
    };
    let refused = |settings: &OidcSettings, base| {
        Oidc::new(settings, base, &[]).expect_err("it is wrong").to_string()
    };
    let base = Some("https://hooks.example");
    assert!(Oidc::new(&good, base, &[]).unwrap().is_some());
    assert!(Oidc::new(&OidcSettings::default(), None, &[]).unwrap().is_none());
    assert!(refused(&good, None).starts_with("public_url = "));
    let nameless = OidcSettings { client_id: String::new(), ..good.clone() };
    assert!(refused(&nameless, base).starts_with("oidc_client_id = "));
    let roleless = OidcSettings { roles: "".parse().unwrap_or_default(), ..good.clone() };
    assert!(refused(&roleless, base).starts_with("oidc_roles = "));
    let lost = OidcSettings { client_secret_file: Some("/nowhere/secret".into()), ..good };
    assert!(refused(&lost, base).starts_with("oidc_client_secret_file = /nowhere/secret"));
}
