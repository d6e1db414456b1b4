//! The credentials of an endpoint: headers, and access tokens of a server that fails in every way.

use std::time::Duration;

use bytes::Bytes;
use stagger::{Hint, Span};
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, ClientAuthStyle, Endpoint, EndpointAuth, HeaderTemplate,
    OAuth2Client, SecretText,
};
use stagger_sender::{SendOptions, Sender};
use stagger_testkit::server::{Reaction, RefusingPort, Script, SeenRequest, TestServer};

use crate::endpoint::{endpoint, message, private};

const SECRET: &str = "hunter2";

fn sender() -> Sender {
    Sender::new(private()).expect("no certificates to read")
}

async fn send(sender: &Sender, endpoint: &Endpoint) -> AttemptAnswer {
    sender.send(endpoint, &message(), Bytes::from_static(b"{}"), 1).await
}

fn authorization(seen: &SeenRequest) -> &str {
    seen.headers.get("authorization").and_then(|it| it.to_str().ok()).unwrap_or_default()
}

fn oauth2(token_url: &str) -> OAuth2Client {
    OAuth2Client {
        token_url: token_url.into(),
        client_id: "me".into(),
        client_secret: SecretText::new(SECRET),
        scope: Some("hooks:write other".into()),
        audience: None,
        style: ClientAuthStyle::Header,
    }
}

fn with_token(url: &str, token_url: &str) -> Endpoint {
    Endpoint { auth: Some(EndpointAuth::OAuth2(oauth2(token_url))), ..endpoint(url) }
}

fn issued(token: &str, expires_in: u64) -> Reaction {
    let body =
        format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{expires_in}}}"#);
    Reaction::ok(body).header("content-type", "application/json")
}

#[tokio::test]
async fn names_passwords_and_fixed_tokens_are_sent_and_shown_nowhere() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let basic = EndpointAuth::Basic { username: "me".into(), password: SecretText::new(SECRET) };
    let bearer = EndpointAuth::Bearer { token: SecretText::new(SECRET) };
    for (auth, expected) in [(basic, "Basic bWU6aHVudGVyMg=="), (bearer, "Bearer hunter2")] {
        let endpoint = Endpoint { auth: Some(auth), ..endpoint(&server.url("/")) };
        let sender = sender();
        assert_eq!(sender.check(&endpoint), Ok(()));
        let target = sender.prepare(&endpoint);
        for shown in [format!("{endpoint:?}"), format!("{target:?}")] {
            assert!(!shown.contains(SECRET) && !shown.contains("bWU6aHVu"), "{shown}");
        }
        assert_eq!(send(&sender, &endpoint).await.result, Ok(200));
        assert_eq!(authorization(&server.seen().pop().expect("one more")), expected);
    }
}

#[tokio::test]
async fn credentials_of_no_use_are_refused_when_saved_and_their_secrets_are_not_repeated() {
    let secret = |text: &str| SecretText::new(text);
    let token_url = |url: &str| EndpointAuth::OAuth2(oauth2(url));
    let cases = [
        (EndpointAuth::Basic { username: "a:b".into(), password: secret(SECRET) }, "auth.username"),
        (
            EndpointAuth::Basic { username: "a".into(), password: secret("hunter2\r\n") },
            "auth.password",
        ),
        (EndpointAuth::Bearer { token: secret("hunter2 hunter2") }, "auth.token"),
        (EndpointAuth::Bearer { token: secret(&SECRET.repeat(600)) }, "auth.token"),
        (token_url("http://login.example/token"), "auth.token_url"),
        (token_url("https://169.254.169.254/token"), "auth.token_url"),
        (token_url("https://me:hunter2@login.example/token"), "auth.token_url"),
        (token_url("https://login.example:22/token"), "auth.token_url"),
    ];
    let sender = Sender::new(SendOptions::default()).expect("no certificates to read");
    for (auth, field) in cases {
        let endpoint = Endpoint { auth: Some(auth), ..endpoint("https://hook.example/") };
        let error = sender.check(&endpoint).expect_err(field);
        assert_eq!(error.field(), field);
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
    let good = Endpoint {
        auth: Some(token_url("https://login.example/token")),
        ..endpoint("https://hook.example/")
    };
    assert_eq!(sender.check(&good), Ok(()));
    let header =
        HeaderTemplate { name: "authorization".into(), value: "x".into(), sensitive: true };
    let both = Endpoint { headers: vec![header], ..good };
    assert_eq!(sender.check(&both).expect_err("two of them").field(), "auth");
}

#[tokio::test]
async fn a_token_is_fetched_once_and_used_by_all_attempts() {
    let tokens = TestServer::start(Script::of([issued("one", 3600)])).await;
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let (sender, endpoint) =
        (sender(), with_token(&server.url("/"), &tokens.url("/token?tenant=7")));
    let target = sender.prepare(&endpoint);
    let (message, payload) = (message(), Bytes::from_static(b"{}"));
    let attempts = (1..=8).map(|number| sender.send_to(&target, &message, payload.clone(), number));
    for attempt in attempts {
        assert_eq!(attempt.await.result, Ok(200));
    }
    assert!(server.seen().iter().all(|seen| authorization(seen) == "Bearer one"));
    let asked = tokens.seen();
    assert_eq!((server.seen().len(), asked.len()), (8, 1));
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("POST", "/token?tenant=7"));
    assert_eq!(asked[0].body, "grant_type=client_credentials&scope=hooks%3Awrite+other");
    assert_eq!(authorization(&asked[0]), "Basic bWU6aHVudGVyMg==");
    assert_eq!(asked[0].headers["content-type"], "application/x-www-form-urlencoded");

    // A server that wants the secret in the body, and an audience.
    let client = OAuth2Client {
        style: ClientAuthStyle::Body,
        scope: None,
        audience: Some("https://hook.example".into()),
        ..oauth2(&tokens.url("/token"))
    };
    let endpoint = Endpoint { auth: Some(EndpointAuth::OAuth2(client)), ..endpoint };
    // The script of the server is over: 200 without a token.
    let answer = send(&sender, &endpoint).await;
    assert_eq!(answer.result, Err(AttemptFailure::Token));
    let asked = tokens.seen();
    let body = "grant_type=client_credentials&audience=https%3A%2F%2Fhook.example&client_id=me\
                &client_secret=hunter2";
    assert_eq!((asked[1].body.as_ref(), authorization(&asked[1])), (body.as_bytes(), ""));
}

#[tokio::test]
async fn a_token_that_expires_in_the_middle_is_replaced_within_the_attempt() {
    let script = Script::of([issued("one", 3600), issued("two", 3600), issued("three", 0)]);
    let tokens = TestServer::start(script.then(issued("four", 3600))).await;
    let refused = Script::of([Reaction::ok(""), Reaction::status(401).body("expired")]);
    let server = TestServer::start(refused.then(Reaction::ok(""))).await;
    let (sender, endpoint) = (sender(), with_token(&server.url("/"), &tokens.url("/token")));
    let target = sender.prepare(&endpoint);
    let attempt = async |number| {
        sender.send_to(&target, &message(), Bytes::from_static(b"{}"), number).await.result
    };
    assert_eq!((attempt(1).await, attempt(2).await), (Ok(200), Ok(200)));
    let sent: Vec<_> = server.seen().iter().map(|it| authorization(it).to_owned()).collect();
    assert_eq!(sent, ["Bearer one", "Bearer one", "Bearer two"]);
    // It is the same attempt, signed anew.
    let seen = server.seen();
    assert_eq!(seen[1].headers["stagger-attempt"], seen[2].headers["stagger-attempt"]);
    assert_eq!(seen[1].headers["webhook-id"], seen[2].headers["webhook-id"]);
    assert_eq!(tokens.seen().len(), 2);

    // A token that is valid for no time at all is fetched for each attempt.
    let target = sender.prepare(&endpoint);
    let attempt = async |number| {
        sender.send_to(&target, &message(), Bytes::from_static(b"{}"), number).await.result
    };
    assert_eq!((attempt(1).await, attempt(2).await), (Ok(200), Ok(200)));
    assert_eq!(authorization(&server.seen().pop().expect("the last")), "Bearer four");
    assert_eq!(tokens.seen().len(), 4);
}

#[tokio::test]
async fn a_receiver_that_refuses_every_token_costs_one_more_of_them_and_no_loop() {
    let tokens = TestServer::start(Script::always(issued("one", 3600))).await;
    let server = TestServer::start(Script::always(Reaction::status(401).body("no"))).await;
    let (sender, endpoint) = (sender(), with_token(&server.url("/"), &tokens.url("/token")));
    let target = sender.prepare(&endpoint);
    for (number, requests) in [(1, 1), (2, 2)] {
        let answer = sender.send_to(&target, &message(), Bytes::from_static(b"{}"), number).await;
        assert_eq!((answer.result, &answer.reply[..]), (Ok(401), &b"no"[..]));
        // Each attempt finds no token, because the last one was refused.
        assert_eq!((server.seen().len(), tokens.seen().len()), (requests, requests));
    }
    // One that finds a token which was good before has two requests, and gives up.
    let script = Script::of([Reaction::ok("")]).then(Reaction::status(401));
    let server = TestServer::start(script).await;
    let endpoint = with_token(&server.url("/"), &tokens.url("/token"));
    let target = sender.prepare(&endpoint);
    for result in [Ok(200), Ok(401)] {
        let answer = sender.send_to(&target, &message(), Bytes::from_static(b"{}"), 1).await;
        assert_eq!(answer.result, result);
    }
    assert_eq!((server.seen().len(), tokens.seen().len()), (3, 4));
}

#[tokio::test]
async fn a_receiver_that_refuses_a_token_while_its_server_is_down_has_answered() {
    let tokens =
        TestServer::start(Script::of([issued("one", 3600)]).then(Reaction::status(503))).await;
    let script = Script::of([Reaction::ok(""), Reaction::status(401).body("expired")]);
    let server = TestServer::start(script).await;
    let (sender, endpoint) = (sender(), with_token(&server.url("/"), &tokens.url("/token")));
    let target = sender.prepare(&endpoint);
    let attempt = async || sender.send_to(&target, &message(), Bytes::from_static(b"{}"), 1).await;
    assert_eq!(attempt().await.result, Ok(200));
    let answer = attempt().await;
    assert_eq!(
        (answer.result, answer.written, &answer.reply[..]),
        (Ok(401), true, &b"expired"[..])
    );
    assert!(answer.detail.is_some_and(|it| it.contains("it answers 503")));
    // The next one has no token, and is not sent.
    let answer = attempt().await;
    assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Token), false));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_and_the_reason_is_told() {
    let wrong = Reaction::status(401)
        .body(r#"{"error":"invalid_client","error_description":"hunter2 is wrong"}"#);
    let busy = Reaction::status(429).header("retry-after", "7");
    let endless = Reaction::ok(vec![b' '; 10 << 20]);
    let redirect = Reaction::status(307).header("location", "http://169.254.169.254/");
    for (reaction, told) in [
        (wrong, "it answers 401: invalid_client"),
        (busy, "it answers 429"),
        (endless, "longer than 32 KiB"),
        (redirect, "it answers 307"),
        (Reaction::ok("<html>"), "not JSON"),
        (Reaction::reset(), "no access token from the authorization server"),
        (Reaction::ok("{}").cut(1), "breaks off"),
    ] {
        let tokens = TestServer::start(Script::always(reaction)).await;
        let server = TestServer::start(Script::always(Reaction::ok(""))).await;
        let answer = send(&sender(), &with_token(&server.url("/"), &tokens.url("/"))).await;
        assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Token), false));
        let detail = answer.detail.expect("a reason");
        assert!(detail.contains(told) && !detail.contains(SECRET), "{told}: {detail}");
        let hint = told.ends_with("429").then_some(Hint::AtLeast(Span::from_secs(7)));
        assert_eq!((answer.hint, server.connections()), (hint, 0));
    }
    let refusing = RefusingPort::hold().expect("a port");
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    for url in
        [refusing.url("/"), "http://169.254.169.254/".into(), "http://nothing.invalid/".into()]
    {
        let answer = send(&sender(), &with_token(&server.url("/"), &url)).await;
        assert_eq!(answer.result, Err(AttemptFailure::Token), "{url}");
    }
    assert_eq!(server.connections(), 0);
}

/// The fetch is a part of the attempt: it has the attempt's slot and time, and no more of either.
#[tokio::test]
async fn a_slow_server_of_tokens_costs_the_time_of_the_attempt_and_no_more() {
    let drip = issued("one", 3600).drip(Duration::from_secs(1));
    for reaction in [Reaction::hang(), drip] {
        let tokens = TestServer::start(Script::always(reaction)).await;
        let server = TestServer::start(Script::always(Reaction::ok(""))).await;
        let endpoint = Endpoint {
            timeout: Span::from_millis(50),
            ..with_token(&server.url("/"), &tokens.url("/"))
        };
        let answer = send(&sender(), &endpoint).await;
        assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Token), false));
        assert!(answer.latency < Span::from_secs(5), "{}", answer.latency);
        assert_eq!(server.connections(), 0);
        // Its connection is closed with the attempt.
        tokens.until_open(0).await;
    }
}
