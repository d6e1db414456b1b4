//! Brokers as the destinations of endpoints: who may set them, and what is shown of them.

use serde_json::{Value, json};
use stagger_dispatch::config::Config;
use stagger_dispatch::node::NodeOptions;

use crate::server::{ADMIN, RECEIVER, Server};

const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

fn nats() -> Value {
    json!({
        "url": "nats://nats.example.com",
        "destination": {"type": "nats", "subject": "events.{event.type}"},
        "auth": {"type": "nkey", "seed": SEED, "jwt": "hunter2"},
    })
}

#[tokio::test]
async fn a_destination_is_shown_and_changed_without_its_secrets() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let made = server.call("POST", &path, ADMIN, &nats().to_string()).await.expect(201);
    let own = format!("{path}/{}", made.text("id"));
    let shown = server.get(&own, &tenant.key).await.expect(200);
    let text = String::from_utf8_lossy(&shown.body).into_owned();
    assert!(!text.contains("SUAC") && !text.contains("hunter2"), "{text}");
    assert_eq!(shown.json()["auth"], json!({"type": "nkey"}));
    let destination = json!({"type": "nats", "subject": "events.{event.type}", "jetstream": true, "stream": null});
    assert_eq!(shown.json()["destination"], destination);
    let patch = json!({"destination": {"subject": "other", "jetstream": false}}).to_string();
    let changed = server.call("PATCH", &own, ADMIN, &patch).await.expect(200).json();
    assert_eq!(changed["destination"]["subject"], "other");
    for (patch, named) in [
        (json!({"destination": {"subject": "$JS.API.X"}}), "destination.subject"),
        (json!({"destination": null}), "url"),
        (json!({"url": "nats://169.254.169.254"}), "url"),
    ] {
        let refused = server.call("PATCH", &own, ADMIN, &patch.to_string()).await;
        let detail = refused.refused(400).text("detail");
        assert!(detail.contains(named), "{patch}: {detail}");
    }
}

#[tokio::test]
async fn a_topic_of_kafka_is_shown_as_it_was_set_without_the_password() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let body = json!({
        "url": "kafka+ssl://kafka.example.com:9093",
        "destination": {"type": "kafka", "topic": "events", "key": "{event.type}", "sasl": "scram-sha-512"},
        "auth": {"type": "basic", "username": "shop", "password": "hunter2"},
    });
    let made = server.call("POST", &path, ADMIN, &body.to_string()).await.expect(201);
    let own = format!("{path}/{}", made.text("id"));
    let shown = server.get(&own, &tenant.key).await.expect(200);
    assert!(!String::from_utf8_lossy(&shown.body).contains("hunter2"));
    assert_eq!(shown.json()["destination"], body["destination"]);
    for (patch, named) in [
        (json!({"destination": {"topic": "a b"}}), "destination.topic"),
        (json!({"destination": {"sasl": "gssapi"}}), "gssapi"),
        (json!({"auth": null}), "destination.sasl"),
    ] {
        let refused = server.call("PATCH", &own, ADMIN, &patch.to_string()).await;
        let detail = refused.refused(400).text("detail");
        assert!(detail.contains(named), "{patch}: {detail}");
    }
}

#[tokio::test]
async fn an_application_sets_no_broker_unless_the_operator_allows_it() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let refused = server.call("POST", &path, &tenant.key, &nats().to_string()).await.refused(400);
    assert!(refused.text("detail").contains("tenant_destinations"), "{refused:?}");
    let made = server.call("POST", &path, ADMIN, &nats().to_string()).await.expect(201);
    let own = format!("{path}/{}", made.text("id"));
    for patch in [
        json!({"url": "nats://other.example.com"}),
        json!({"destination": {"subject": "other"}}),
        json!({"destination": null, "url": RECEIVER, "auth": null}),
        json!({"auth": null}),
    ] {
        server.call("PATCH", &own, &tenant.key, &patch.to_string()).await.refused(400);
    }
    let plain = json!({"description": "ours", "url": "nats://nats.example.com"}).to_string();
    server.call("PATCH", &own, &tenant.key, &plain).await.expect(200);

    let options = NodeOptions { tenant_destinations: true, ..NodeOptions::default() };
    let server = Server::with_node(options).await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    server.call("POST", &path, &tenant.key, &nats().to_string()).await.expect(201);
}

/// Every block of the page on destinations is what the dispatcher takes.
#[tokio::test]
async fn blocks_of_the_page_are_taken() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/destinations.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    let (mut endpoints, mut files) = (0, 0);
    for block in page.split("```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').expect("a block has lines");
        match kind {
            "json" => {
                let text = text.replace("SU...", SEED);
                server.call("POST", &path, ADMIN, &text).await.expect(201);
                endpoints += 1;
            }
            "toml" => {
                let mut config = Config::default();
                config.apply_text("dispatcher.toml", text).expect(text);
                assert!(!config.sources.is_empty());
                files += 1;
            }
            // `crates/cli/tests/shown` plays the commands.
            "sh" | "console" => {}
            other => panic!("a block of {other} is not tested"),
        }
    }
    assert_eq!((endpoints, files), (6, 4));
}
