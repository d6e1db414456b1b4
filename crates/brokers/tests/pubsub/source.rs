//! A subscription as a source.

use serde_json::{Value, json};
use stagger_brokers::{Disposition, PubSubSource, PubSubSourceSettings, Source};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::shared::sender;

const SUBSCRIPTION: &str = "/v1/projects/shop/subscriptions/orders";
const DEAD: &str = "/v1/projects/shop/topics/dead";

fn pulled() -> Reaction {
    // "eyJuIjoxfQ==" is {"n":1}.
    Reaction::ok(
        r#"{"receivedMessages":[{"ackId":"ack-1","message":{"data":"eyJuIjoxfQ==","attributes":{"stagger-event-type":"order.new","googclient_x":"y"},"messageId":"19916711285","publishTime":"2026-11-28T06:17:00Z"}}]}"#,
    )
}

async fn server(pull: Script) -> TestServer {
    let done = || Script::always(Reaction::ok("{}"));
    let script = Script::of([])
        .on_path(&format!("{SUBSCRIPTION}:pull"), pull)
        .on_path(&format!("{SUBSCRIPTION}:acknowledge"), done())
        .on_path(&format!("{SUBSCRIPTION}:modifyAckDeadline"), done())
        .on_path(&format!("{DEAD}:publish"), done());
    TestServer::start(script).await
}

fn source(server: &TestServer, token_file: Option<std::path::PathBuf>) -> PubSubSource {
    let settings = PubSubSourceSettings {
        url: server.url(SUBSCRIPTION),
        dead_letter: Some(server.url(DEAD)),
        token_file,
    };
    PubSubSource::new(sender(true).network().clone(), settings).expect("valid")
}

#[tokio::test]
async fn messages_are_pulled_and_settled_as_the_reference_writes_it() {
    let server = server(Script::always(pulled())).await;
    let mut source = source(&server, None);
    let arrivals = source.receive().await.expect("it answers");
    assert_eq!((arrivals.len(), arrivals[0].id.as_str()), (1, "19916711285"));
    assert_eq!(&arrivals[0].payload[..], b"{\"n\":1}");
    assert_eq!(arrivals[0].header("stagger-event-type"), Some("order.new"));
    let ack_id = || arrivals[0].ack_id.clone();
    source.settle(ack_id(), Disposition::Accepted).await.expect("it answers");
    source.settle(ack_id(), Disposition::Later).await.expect("it answers");
    let poison = Disposition::Poison("it is not JSON".into(), Box::new(arrivals[0].clone()));
    source.settle(ack_id(), poison).await.expect("it answers");
    let seen = server.seen();
    let calls: Vec<_> =
        seen.iter().map(|it| it.path.rsplit(':').next().unwrap_or_default()).collect();
    assert_eq!(calls, ["pull", "acknowledge", "modifyAckDeadline", "publish", "acknowledge"]);
    let body = |at: usize| serde_json::from_slice::<Value>(&seen[at].body).expect("JSON");
    assert_eq!(body(0), json!({"maxMessages": 64}));
    assert_eq!(body(1), json!({"ackIds": ["ack-1"]}));
    assert_eq!(body(2), json!({"ackIds": ["ack-1"], "ackDeadlineSeconds": 10}));
    let dead = &body(3)["messages"][0];
    assert_eq!(
        (&dead["data"], &dead["attributes"]["stagger-refused"]),
        (&json!("eyJuIjoxfQ=="), &json!("it is not JSON"))
    );
    assert!(dead["attributes"].get("googclient_x").is_none(), "the prefix is reserved");
}

#[tokio::test]
async fn a_token_that_has_expired_is_a_failure_until_its_file_has_another() {
    let refused = r#"{"error":{"code":401,"message":"expired","status":"UNAUTHENTICATED"}}"#;
    let server = server(Script::of([Reaction::status(401).body(refused), pulled()])).await;
    let file = std::env::temp_dir().join(format!("stagger-pubsub-{}", std::process::id()));
    std::fs::write(&file, "old\n").expect("it is written");
    let mut source = source(&server, Some(file.clone()));
    let failed = source.receive().await.expect_err("it is refused").to_string();
    assert!(failed.starts_with("401: UNAUTHENTICATED") && !failed.contains("old"), "{failed}");
    std::fs::write(&file, "new").expect("it is written");
    assert_eq!(source.receive().await.expect("it answers").len(), 1);
    std::fs::remove_file(&file).expect("it was there");
    source.receive().await.expect_err("there is no token");
    let seen = server.seen();
    let used: Vec<_> =
        seen.iter().map(|it| it.headers["authorization"].to_str().expect("text")).collect();
    assert_eq!(used, ["Bearer old", "Bearer new"]);
}

#[tokio::test]
async fn a_server_that_is_away_is_a_failure_and_a_private_one_is_refused() {
    let settings = |url: &str| PubSubSourceSettings {
        url: format!("{url}{SUBSCRIPTION}"),
        dead_letter: None,
        token_file: None,
    };
    let away = PubSubSource::new(sender(true).network().clone(), settings("http://127.0.0.1:1"));
    away.expect("valid").receive().await.expect_err("nothing listens there");
    let refused =
        PubSubSource::new(sender(false).network().clone(), settings("http://127.0.0.1:1"));
    assert!(refused.is_err());
}
