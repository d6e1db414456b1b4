//! A node with two applications, and the links, sessions and forgeries with which browsers come to the portal.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::hmac;
use serde_json::Value;
use stagger::{Instant, Span, StdTime};
use stagger_dispatch::node::Submission;
use stagger_dispatch::ui::UiOptions;
use stagger_scheduler::model::{
    Application, ApplicationId, Endpoint, EndpointId, KeyHash, MessageId, SecretKind,
};
use stagger_sender::generate_secret;
use uuid::Uuid;

use crate::fixture::{API_KEY, Fixture, Reply, call, post};

/// A key of the first application.
pub(crate) const OWN_KEY: &str = "sk_of_the_first_application";

/// The application of the fixture, and another one with an endpoint and a message.
pub(crate) struct Portals {
    pub(crate) fixture: Fixture,
    pub(crate) app: ApplicationId,
    pub(crate) other: ApplicationId,
    pub(crate) other_endpoint: EndpointId,
    pub(crate) other_message: MessageId,
}

pub(crate) fn now() -> Instant {
    Instant::ORIGIN + Span::from(StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap())
}

impl Portals {
    /// With an operator's page that asks for a key.
    pub(crate) async fn set(options: UiOptions) -> Self {
        let admin_key = Some(KeyHash::of("the right key"));
        let fixture = Fixture::set(UiOptions { admin_key, ..options }).await;
        let node = &fixture.node;
        let app = fixture.application;
        let own = Application::clone(&node.application(app).unwrap());
        node.put_application(Application { keys: vec![KeyHash::of(OWN_KEY)], ..own })
            .await
            .unwrap();
        let other = ApplicationId::from_uuid(Uuid::from_u128(90));
        let slots = NonZeroU32::new(8).unwrap();
        node.put_application(Application::new(other, "Umbrella", slots, now())).await.unwrap();
        let other_endpoint = EndpointId::from_uuid(Uuid::from_u128(91));
        let url = "http://127.0.0.1:1/umbrella";
        let endpoint = Endpoint {
            secrets: vec![generate_secret(SecretKind::Symmetric).unwrap()],
            ..Endpoint::new(other_endpoint, other, url, now())
        };
        node.put_endpoint(endpoint).await.unwrap();
        let opened = "umbrella.opened".parse().unwrap();
        let submission = Submission::json(opened, Bytes::from_static(b"{\"id\": 7}"));
        let accepted = node.accept(other, vec![submission]).await.unwrap();
        let other_message = accepted[0].id;
        Self { fixture, app, other, other_endpoint, other_message }
    }

    /// A new link to the portal of an application: what the API says of it, and its token.
    pub(crate) async fn link(&self, app: ApplicationId, capability: &str) -> (Value, String) {
        let line = format!("POST /v1/applications/{app}/portal-links");
        let body = format!(r#"{{"capability": "{capability}", "expires_in": "10m"}}"#);
        let reply = call(self.fixture.address, &line, API_KEY, &body).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        let link: Value = serde_json::from_str(&reply.body).unwrap();
        let url = link["url"].as_str().unwrap();
        let (page, token) = url.split_once('#').unwrap();
        assert_eq!(page, format!("http://{}/portal/open", self.fixture.address));
        let token = token.to_owned();
        (link, token)
    }

    /// Opens the portal with a token, as the page does.
    pub(crate) async fn open(&self, token: &str) -> Reply {
        post(self.fixture.address, "/portal/open", &[], &format!("token={token}")).await
    }

    /// The header with a new session.
    pub(crate) async fn session(&self, app: ApplicationId, capability: &str) -> String {
        let (_, token) = self.link(app, capability).await;
        session_of(&self.open(&token).await)
    }

    /// Ends a link, and what it has opened.
    pub(crate) async fn delete(&self, app: ApplicationId, link: &str) {
        let line = format!("DELETE /v1/applications/{app}/portal-links{link}");
        assert_eq!(call(self.fixture.address, &line, API_KEY, "").await.status, 204);
    }

    /// The key that signs the links of an application.
    pub(crate) fn key(&self, app: ApplicationId) -> [u8; 32] {
        self.fixture.node.application(app).unwrap().portal.key.expect("a link was made")
    }
}

/// The header with the session that a link has opened.
pub(crate) fn session_of(opened: &Reply) -> String {
    assert_eq!(opened.status, 303, "{}", opened.body);
    let cookie = opened.field("set-cookie").unwrap();
    format!("cookie: {}", cookie.split(';').next().unwrap())
}

/// A token by the description of its format, without the dispatcher's own code.
pub(crate) fn token(
    kind: &str,
    app: ApplicationId,
    until: Instant,
    capability: u8,
    key: &[u8],
) -> String {
    let mut signed = app.as_bytes().to_vec();
    signed.extend(Uuid::from_u128(0xf0).as_bytes());
    signed.extend((until.as_nanos() / 1_000_000_000).to_be_bytes());
    signed.push(capability);
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let signature = hmac::sign(&key, &[kind.as_bytes(), &signed[..]].concat());
    format!("{kind}{}", URL_SAFE_NO_PAD.encode([&signed[..], signature.as_ref()].concat()))
}

/// The header with a session's token.
pub(crate) fn cookie(token: &str) -> String {
    format!("cookie: stagger-portal={token}")
}
