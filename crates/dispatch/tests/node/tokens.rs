//! Access tokens: a server of tokens that fails holds its endpoint back, and costs no delivery an attempt.

use stagger_scheduler::model::{
    AttemptFailure, ClientAuthStyle, DeliveryState, Endpoint, EndpointAuth, OAuth2Client,
    SecretText,
};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::fixture::Fixture;

fn auth(token_url: &str, secret: &str) -> Option<EndpointAuth> {
    Some(EndpointAuth::OAuth2(OAuth2Client {
        token_url: token_url.into(),
        client_id: "me".into(),
        client_secret: SecretText::new(secret),
        scope: None,
        audience: None,
        style: ClientAuthStyle::Header,
    }))
}

/// Answers the right secret with a token, and every other with an error.
fn tokens() -> Script {
    let token = Reaction::ok(r#"{"access_token":"one","token_type":"Bearer","expires_in":3600}"#);
    let wrong = Reaction::status(401).body(r#"{"error":"invalid_client"}"#);
    // The base64 of "me:right".
    Script::always(wrong).on_header("authorization", "Basic bWU6cmlnaHQ=", Script::always(token))
}

#[tokio::test]
async fn a_wrong_secret_holds_its_endpoint_back_and_the_right_one_sends_what_waited() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let tokens = TestServer::start(tokens()).await;
    let wrong = |it: &mut Endpoint| it.auth = auth(&tokens.url("/"), "wrong");
    let held = fixture.endpoint(1, &server.url("/held"), wrong).await;
    fixture.endpoint(2, &server.url("/other"), |_| {}).await;
    let sent = fixture.send(["1", "2", "3"]).await;
    // The other endpoint has its own attempts; this one has none.
    fixture.store.until_settled(DeliveryState::Delivered, 3).await;
    tokens.until_taken(1).await;
    for message in &sent {
        let delivery = fixture.delivery(*message, held).await;
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 0));
    }
    let view = loop {
        let view = fixture.node.view(held).await.expect("it is there");
        if view.endpoint_state.last_failure.is_some() && view.in_flight == 0 {
            break view;
        }
        tokio::task::yield_now().await;
    };
    let last = view.endpoint_state.last_failure.and_then(|last| last.failure);
    assert_eq!(last, Some(AttemptFailure::Token));
    assert!(view.endpoint_state.failing_since.is_some() && view.endpoint_state.open.is_none());
    assert!(server.seen().iter().all(|seen| seen.path == "/other"));

    let right = |it: &mut Endpoint| it.auth = auth(&tokens.url("/"), "right");
    fixture.endpoint(1, &server.url("/held"), right).await;
    fixture.store.until_settled(DeliveryState::Delivered, 6).await;
    for message in &sent {
        assert_eq!(fixture.delivery(*message, held).await.attempts, 1);
    }
    let seen = server.seen();
    let held: Vec<_> = seen.iter().filter(|seen| seen.path == "/held").collect();
    assert_eq!(held.len(), 3);
    assert!(held.iter().all(|seen| seen.headers["authorization"] == "Bearer one"));
}
