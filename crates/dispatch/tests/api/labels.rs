//! Ids and metadata of the caller's own, and the deletion of one message.

use serde_json::{Value, json};

use crate::server::{ADMIN, RECEIVER, Server, id};

#[tokio::test]
async fn a_uid_names_an_application_and_an_endpoint_in_paths() {
    let server = Server::start().await;
    let body = json!({"name": "shop", "uid": "customer-17", "metadata": {"plan": "gold"}});
    let made = server.call("POST", "/v1/applications", ADMIN, &body.to_string()).await.expect(201);
    let (key, own) = (made.text("key"), "/v1/applications/uid:customer-17");
    assert_eq!(
        (made.text("uid"), &made.json()["metadata"]),
        ("customer-17".into(), &json!({"plan": "gold"}))
    );
    assert_eq!(server.get(own, &key).await.expect(200).text("id"), made.text("id"));
    let body = json!({"url": RECEIVER, "uid": "crm", "metadata": {"a": "1"}}).to_string();
    let endpoint = server.call("POST", &format!("{own}/endpoints"), &key, &body).await.expect(201);
    let path = format!("{own}/endpoints/uid:crm");
    assert_eq!(server.get(&path, &key).await.expect(200).text("id"), endpoint.text("id"));
    // Unique within the application, and not beyond it.
    server.call("POST", &format!("{own}/endpoints"), &key, &body).await.refused(409);
    let other = server.tenant("other").await;
    let there = format!("{}/endpoints", other.path);
    server.call("POST", &there, &other.key, &body).await.expect(201);
    let taken = r#"{"uid": "customer-17"}"#;
    server.call("PATCH", &other.path, ADMIN, taken).await.refused(409);
    // Another application's key learns nothing.
    server.get(own, &other.key).await.refused(404);
    server.get("/v1/applications/uid:nobody", &other.key).await.refused(404);
    server.get("/v1/applications/uid:", ADMIN).await.refused(404);
    // A patch merges metadata, and an id that was given up is free.
    let patch = json!({"uid": "sales", "metadata": {"b": "2", "a": null}}).to_string();
    let changed = server.call("PATCH", &path, &key, &patch).await.expect(200).json();
    assert_eq!((&changed["uid"], &changed["metadata"]), (&"sales".into(), &json!({"b": "2"})));
    server.get(&path, &key).await.refused(404);
    server.call("POST", &format!("{own}/endpoints"), &key, &body).await.expect(201);
    let gone = server.call("PATCH", own, ADMIN, r#"{"uid": null}"#).await.expect(200).json();
    assert_eq!((&gone["uid"], &gone["metadata"]), (&Value::Null, &json!({"plan": "gold"})));
    server.get(own, ADMIN).await.refused(404);
    server.call("PATCH", &other.path, ADMIN, taken).await.expect(200);
    assert_eq!(server.get(own, ADMIN).await.expect(200).text("id"), id(&other.path));
    for wrong in [
        json!({"uid": "a/b"}),
        json!({"metadata": {"a b": "1"}}),
        json!({"metadata": {"a": "v".repeat(513)}}),
    ] {
        server.call("PATCH", own, ADMIN, &wrong.to_string()).await.refused(400);
    }
}

#[tokio::test]
async fn a_deleted_message_left_something_behind() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    server.endpoint(&tenant).await;
    let message = server.message(&tenant).await;
    let other = server.tenant("other").await;
    server
        .call("DELETE", &format!("{}/messages/{}", other.path, id(&message)), &other.key, "")
        .await
        .refused(404);
    server.call("DELETE", &message, &tenant.key, "").await.expect(204);
    server.get(&message, &tenant.key).await.refused(404);
    server.get(&format!("{message}/payload"), &tenant.key).await.refused(404);
    let all = server.get(&format!("{}/deliveries", tenant.path), &tenant.key).await.json();
    assert_eq!(all["items"], json!([]));
    server.call("DELETE", &message, &tenant.key, "").await.refused(404);
    let audit = server.get("/v1/audit", ADMIN).await.expect(200).json();
    let newest = &audit["items"][0];
    assert_eq!(newest["action"], format!("DELETE {message}"));
}
