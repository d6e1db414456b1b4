//! Every documented operation can be reached, and is described where it is served.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::server::Server;

/// The operations of the document: method, path, and the statuses that it names.
pub(crate) fn operations() -> Vec<(String, String, Value)> {
    let document: Value = serde_json::from_str(include_str!("../../openapi.json")).expect("JSON");
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            found.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    assert!(found.len() > 30);
    found
}

#[tokio::test]
async fn the_document_was_not_served() {
    let server = Server::start().await;
    let reply = server.get("/v1/openapi.json", "").await.expect(200);
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.body, include_str!("../../openapi.json"));
}

#[tokio::test]
async fn a_documented_operation_had_no_route_or_took_no_key() {
    let server = Server::start().await;
    for (method, path, operation) in operations() {
        let keyless = operation["responses"]["401"].is_null();
        let reply = server.call(&method, &path, "", "").await;
        let reply = if keyless { reply.expect(200) } else { reply.refused(401) };
        assert_eq!(reply.header("www-authenticate").is_empty(), keyless, "{method} {path}");
        if !keyless {
            server.call(&method, &path, "sk_wrong", "").await.refused(401);
        }
    }
}

#[tokio::test]
async fn a_path_or_method_that_is_not_there_was_answered_without_a_problem() {
    let server = Server::start().await;
    server.get("/v1/nonsense", "").await.refused(404);
    let reply = server.call("PUT", "/v1/applications", "", "").await.refused(405);
    let allowed: BTreeSet<&str> = reply.header("allow").split(',').collect();
    assert_eq!(allowed, BTreeSet::from(["GET", "HEAD", "POST"]));
}

#[tokio::test]
async fn health_is_told_without_a_key() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz", "").await.expect(200).body, "ok");
    server.get("/readyz", "").await.expect(200);
    server.node.shutdown(stagger::Span::ZERO).await;
    server.get("/healthz", "").await.expect(200);
    let reply = server.get("/readyz", "").await.refused(503);
    assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
}
