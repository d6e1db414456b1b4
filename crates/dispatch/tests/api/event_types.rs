//! The catalogue of event types, and the validation of messages against it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stagger_dispatch::api::ApiOptions;
use stagger_dispatch::node::{NodeOptions, Submission};
use stagger_scheduler::model::{ApplicationId, EventValidation};
use stagger_store::testing::FaultyStore;
use stagger_store::{SqliteOptions, SqliteStore};

use crate::server::{ADMIN, Reply, Server, Tenant, id};

/// A data folder of one test, which goes with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        Self(std::env::temp_dir().join(format!("stagger-api-{test}-{}", std::process::id())))
    }

    /// A dispatcher with an embedded store in it.
    pub(crate) async fn serve(&self, event_validation: EventValidation) -> Server {
        let store = self.open().await;
        let options = NodeOptions { event_validation, ..NodeOptions::default() };
        Server::on(Arc::new(store), options, ApiOptions::default()).await
    }

    /// The store, once the connections of an earlier dispatcher are closed.
    async fn open(&self) -> SqliteStore {
        let opened = async {
            loop {
                match SqliteStore::open(&self.0, SqliteOptions::default()) {
                    Err(error) if error.is_conflict() => tokio::task::yield_now().await,
                    opened => break opened.expect("a folder"),
                }
            }
        };
        let opened = tokio::time::timeout(Duration::from_secs(60), opened).await;
        opened.expect("the earlier dispatcher has ended")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn invoice() -> Value {
    json!({
        "name": "invoice.paid",
        "description": "An invoice was paid.",
        "schema": {
            "type": "object",
            "required": ["amount"],
            "properties": {"amount": {"type": "integer", "minimum": 1}},
        },
        "example": {"amount": 100},
    })
}

async fn create(server: &Server, event_type: &Value) -> Reply {
    server.call("POST", "/v1/event-types", ADMIN, &event_type.to_string()).await
}

async fn send(server: &Server, tenant: &Tenant, event_type: &str, payload: &Value) -> Reply {
    let path = format!("{}/messages", tenant.path);
    let body = json!({"event_type": event_type, "payload": payload}).to_string();
    server.call("POST", &path, &tenant.key, &body).await
}

#[tokio::test]
async fn an_event_type_is_made_replaced_listed_and_deleted_and_outlives_a_restart() {
    let folder = Folder::new("catalogue");
    let server = folder.serve(EventValidation::Off).await;
    let made = create(&server, &invoice()).await.expect(201).json();
    assert_eq!((&made["version"], &made["archived"]), (&json!(1), &json!(false)));
    assert_eq!(
        (&made["schema"], &made["example"]),
        (&invoice()["schema"], &json!({"amount": 100}))
    );
    let again = create(&server, &invoice()).await.refused(409);
    assert_eq!(again.text("detail"), "the event type invoice.paid exists");

    let path = "/v1/event-types/invoice.paid";
    let put = async |body: Value| server.call("PUT", path, ADMIN, &body.to_string()).await;
    let change = json!({"schema": invoice()["schema"], "archived": true});
    let changed = put(change).await.expect(200).json();
    assert_eq!((&changed["version"], &changed["description"]), (&json!(1), &json!("")));
    assert_eq!((&changed["example"], &changed["archived"]), (&Value::Null, &json!(true)));
    assert_eq!(changed["created_at"], made["created_at"]);
    assert_eq!(put(json!({"schema": true})).await.expect(200).json()["version"], 2);
    assert_eq!(server.get(path, ADMIN).await.expect(200).json()["schema"], true);

    for n in 0..3 {
        let new = format!("/v1/event-types/order.{n}");
        server.call("PUT", &new, ADMIN, "{}").await.expect(201);
    }
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("a list").iter();
        items.map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
    };
    let first = server.get("/v1/event-types?limit=3", ADMIN).await.expect(200).json();
    assert_eq!(names(&first), ["invoice.paid", "order.0", "order.1"]);
    assert_eq!(first["next"], "order.1");
    let rest = server.get("/v1/event-types?after=order.1", ADMIN).await.expect(200).json();
    assert_eq!((names(&rest), &rest["next"]), (vec!["order.2".into()], &Value::Null));

    server.call("DELETE", "/v1/event-types/order.0", ADMIN, "").await.expect(204);
    server.call("DELETE", "/v1/event-types/order.0", ADMIN, "").await.refused(404);
    server.get("/v1/event-types/order.0", ADMIN).await.refused(404);
    server.get("/v1/event-types/a%20b", ADMIN).await.refused(404);
    let log = server.get("/v1/audit", ADMIN).await.expect(200).json();
    assert_eq!(log["items"][0]["action"], "DELETE /v1/event-types/order.0");
    server.node.shutdown(stagger::Span::ZERO).await;
    drop(server);

    let server = folder.serve(EventValidation::Known).await;
    let all = server.get("/v1/event-types", ADMIN).await.expect(200).json();
    assert_eq!(names(&all), ["invoice.paid", "order.1", "order.2"]);
}

#[tokio::test]
async fn an_event_type_out_of_its_bounds_was_taken() {
    let server = Server::start().await;
    for (change, field, says) in [
        (json!({"name": "a b"}), "name", "a b"),
        (json!({"name": "stagger.x"}), "name", "none of the dispatcher's own"),
        (json!({"description": "a".repeat(2_001)}), "description", "at most 2000 characters"),
        (json!({"example": {"amount": 0}}), "example", "/amount breaks the keyword minimum"),
        (json!({"example": "a".repeat(65_600)}), "example", "at most 65536 bytes"),
        (json!({"schema": {"$ref": "https://example.com/s"}}), "schema", "https://example.com/s"),
        (json!({"schema": {"type": "text"}}), "schema", "at /type"),
        (json!({"schema": 7}), "schema", "draft 2020-12"),
    ] {
        let mut event_type = invoice();
        for (name, value) in change.as_object().expect("members") {
            event_type[name] = value.clone();
        }
        let refused = create(&server, &event_type).await.refused(400);
        assert_eq!(refused.text("field"), field, "{refused:?}");
        assert!(refused.text("detail").contains(says), "{refused:?}");
        assert!(refused.body.len() < 2_000, "{refused:?}");
    }
    create(&server, &json!({"name": "a", "shema": {}})).await.refused(400);
    assert_eq!(server.get("/v1/event-types", ADMIN).await.json()["items"], json!([]));
    let tenant = server.tenant("shop").await;
    server.get("/v1/event-types", &tenant.key).await.refused(403);
}

#[tokio::test]
async fn a_message_that_the_catalogue_refuses_was_accepted_or_refused_without_its_place() {
    let folder = Folder::new("validation");
    let server = folder.serve(EventValidation::Schema).await;
    let tenant = server.tenant("shop").await;
    let endpoint = server.endpoint(&tenant).await;
    create(&server, &invoice()).await.expect(201);
    create(&server, &json!({"name": "order.sent"})).await.expect(201);

    send(&server, &tenant, "invoice.paid", &json!({"amount": 1})).await.expect(202);
    send(&server, &tenant, "order.sent", &json!([1])).await.expect(202);
    let unknown = send(&server, &tenant, "invoice.void", &json!({})).await.refused(422);
    assert_eq!(unknown.text("field"), "event_type");
    assert_eq!(unknown.text("detail"), "the event type invoice.void is not in the catalogue");
    let wrong = send(&server, &tenant, "invoice.paid", &json!({"amount": 0.5})).await.refused(422);
    assert_eq!((wrong.text("field"), wrong.text("pointer")), ("payload".into(), "/amount".into()));
    assert_eq!(wrong.text("keyword"), "type");
    let whole = send(&server, &tenant, "invoice.paid", &json!({"x": 1})).await.refused(422);
    assert_eq!((whole.text("pointer"), whole.text("keyword")), (String::new(), "required".into()));

    let raw = format!("{}/messages/raw?event_type=invoice.paid", tenant.path);
    let no_json = server.call("POST", &raw, &tenant.key, "amount=1").await.refused(422);
    assert!(no_json.text("detail").ends_with("the payload is not JSON"), "{no_json:?}");

    let valid = json!({"event_type": "invoice.paid", "payload": {"amount": 1}});
    let invalid = json!({"event_type": "invoice.paid", "payload": {"amount": -1}});
    let batch = json!({"messages": [valid, valid, invalid]}).to_string();
    let path = format!("{}/messages/batch", tenant.path);
    let refused = server.call("POST", &path, &tenant.key, &batch).await.refused(422);
    assert_eq!(refused.text("field"), "messages[2].payload");
    assert_eq!(
        (refused.text("pointer"), refused.text("keyword")),
        ("/amount".into(), "minimum".into())
    );
    let listed = server.get(&format!("{}/messages", tenant.path), &tenant.key).await.json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2), "nothing of the batch is stored");

    // A test event is the dispatcher's own.
    server.call("POST", &format!("{endpoint}/test"), &tenant.key, "").await.expect(202);
    // The embedding path decides alike.
    let app: ApplicationId = id(&tenant.path).parse().expect("an id");
    let payload = r#"{"amount": "1"}"#;
    let message = Submission::json("invoice.paid".parse().expect("a type"), payload);
    let error = server.node.accept(app, vec![message]).await.expect_err("a text");
    assert_eq!(error.as_rejected().and_then(|it| it.pointer.clone()), Some("/amount".into()));

    // The next message meets the new schema.
    let path = "/v1/event-types/invoice.paid";
    server.call("PUT", path, ADMIN, r#"{"schema": {"required": ["x"]}}"#).await.expect(200);
    send(&server, &tenant, "invoice.paid", &json!({"x": 1})).await.expect(202);
    send(&server, &tenant, "invoice.paid", &json!({"amount": 1})).await.refused(422);
    server.call("DELETE", path, ADMIN, "").await.expect(204);
    send(&server, &tenant, "invoice.paid", &json!({"x": 1})).await.refused(422);
}

#[tokio::test]
async fn an_application_has_the_validation_of_the_node_unless_it_has_its_own() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    create(&server, &invoice()).await.expect(201);
    let invalid = json!({"amount": "none"});
    let set = async |value: Value| {
        let patch = json!({"event_validation": value}).to_string();
        server.call("PATCH", &tenant.path, ADMIN, &patch).await
    };
    for (setting, unknown, wrong) in [
        (Value::Null, 202, 202),
        (json!("known"), 422, 202),
        (json!("schema"), 422, 422),
        (json!("off"), 202, 202),
    ] {
        let shown = set(setting.clone()).await.expect(200).json();
        assert_eq!(shown["event_validation"], setting);
        send(&server, &tenant, "other", &invalid).await.expect(unknown);
        send(&server, &tenant, "invoice.paid", &invalid).await.expect(wrong);
    }
    set(json!("strict")).await.refused(400);
    // An application cannot lift its own validation.
    let patch = json!({"event_validation": "off"}).to_string();
    server.call("PATCH", &tenant.path, &tenant.key, &patch).await.refused(403);
    let other = server.tenant("other").await;
    send(&server, &other, "unknown", &invalid).await.expect(202);
}

#[tokio::test]
async fn a_node_of_a_fleet_went_on_with_an_old_schema() {
    let store = FaultyStore::shared();
    let options =
        NodeOptions { event_validation: EventValidation::Schema, ..NodeOptions::default() };
    let one = Server::on(Arc::new(store.handle()), options, ApiOptions::default()).await;
    let other = Server::on(Arc::new(store.handle()), options, ApiOptions::default()).await;
    let tenant = one.tenant("shop").await;
    send(&other, &tenant, "invoice.paid", &json!({"amount": 1})).await.refused(422);
    create(&one, &invoice()).await.expect(201);
    send(&other, &tenant, "invoice.paid", &json!({"amount": 1})).await.expect(202);
    send(&other, &tenant, "invoice.paid", &json!({"amount": "1"})).await.refused(422);
    let path = "/v1/event-types/invoice.paid";
    one.call("PUT", path, ADMIN, r#"{"schema": {"type": "string"}}"#).await.expect(200);
    // A payload that the old schema refuses, and one that only the new one refuses.
    send(&other, &tenant, "invoice.paid", &json!("a text")).await.expect(202);
    send(&other, &tenant, "invoice.paid", &json!({"amount": 1})).await.refused(422);
    one.call("DELETE", path, ADMIN, "").await.expect(204);
    send(&other, &tenant, "invoice.paid", &json!("a text")).await.refused(422);
    assert_eq!(other.get("/v1/event-types", ADMIN).await.json()["items"], json!([]));
}

#[tokio::test]
async fn the_catalogue_is_bounded() {
    let server = Server::start().await;
    let text = "a".repeat(60_000);
    let mut refused = None;
    for n in 0..150 {
        let path = format!("/v1/event-types/big.{n}");
        let body = json!({"schema": {"description": text}}).to_string();
        let reply = server.call("PUT", &path, ADMIN, &body).await;
        if reply.status != 201 {
            refused = Some((n, reply.refused(409)));
            break;
        }
    }
    let (count, refused) = refused.expect("8 MiB are full");
    assert!((130..150).contains(&count), "{count}");
    assert!(refused.text("detail").contains("may have 8388608 bytes"), "{refused:?}");
    // One that shrinks makes room.
    server.call("PUT", "/v1/event-types/big.0", ADMIN, "{}").await.expect(200);
    let body = json!({"schema": {"description": text}}).to_string();
    server.call("PUT", "/v1/event-types/big.last", ADMIN, &body).await.expect(201);
}
