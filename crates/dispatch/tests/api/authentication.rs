//! Credentials of endpoints: taken, kept through patches, and never shown again.

use serde_json::{Value, json};
use stagger_testkit::server::{Reaction, Script, TestServer as Receiver};

use crate::server::{RECEIVER, Server, Tenant};

const SECRET: &str = "hunter2";

fn oauth2() -> Value {
    json!({"type": "oauth2", "token_url": "http://127.0.0.1:1/token", "client_id": "me", "client_secret": SECRET})
}

async fn make(server: &Server, tenant: &Tenant, url: &str, auth: &Value) -> String {
    let path = format!("{}/endpoints", tenant.path);
    let body = json!({"url": url, "auth": auth}).to_string();
    let made = server.call("POST", &path, &tenant.key, &body).await.expect(201);
    assert!(!String::from_utf8_lossy(&made.body).contains(SECRET));
    format!("{path}/{}", made.text("id"))
}

#[tokio::test]
async fn a_secret_of_an_endpoint_was_shown() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    for (auth, shown) in [
        (
            json!({"type": "basic", "username": "me", "password": SECRET}),
            json!({"type": "basic", "username": "me"}),
        ),
        (json!({"type": "bearer", "token": SECRET}), json!({"type": "bearer"})),
        (
            oauth2(),
            json!({"type": "oauth2", "token_url": "http://127.0.0.1:1/token", "client_id": "me",
                   "client_auth": "header"}),
        ),
    ] {
        let own = make(&server, &tenant, RECEIVER, &auth).await;
        let list = format!("{}/endpoints", tenant.path);
        for path in [&own, &list] {
            let reply = server.get(path, &tenant.key).await.expect(200);
            assert!(!String::from_utf8_lossy(&reply.body).contains(SECRET), "{path}");
        }
        assert_eq!(server.get(&own, &tenant.key).await.json()["auth"], shown);
        let changed = server.call("PATCH", &own, &tenant.key, r#"{"ordered": true}"#).await;
        let changed = changed.expect(200);
        assert!(!String::from_utf8_lossy(&changed.body).contains(SECRET));
        assert_eq!(changed.json()["auth"], shown, "a patch of something else keeps it");
        let none = server.call("PATCH", &own, &tenant.key, r#"{"auth": null}"#).await;
        assert_eq!(none.expect(200).json()["auth"], Value::Null);
        server.call("DELETE", &own, &tenant.key, "").await.expect(204);
    }
}

/// The receiver sees what is kept: a patch without the secret keeps it, and another kind replaces all.
#[tokio::test]
async fn a_patch_lost_the_secret_that_it_did_not_name() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let receiver = Receiver::start(Script::always(Reaction::ok(""))).await;
    let auth = json!({"type": "basic", "username": "me", "password": SECRET});
    let own = make(&server, &tenant, &receiver.url("/"), &auth).await;
    for (n, (patch, sent)) in [
        (json!({"username": "you"}), "Basic eW91Omh1bnRlcjI="),
        (json!({"type": "basic", "password": "new"}), "Basic eW91Om5ldw=="),
        (json!({"type": "bearer", "token": "abc"}), "Bearer abc"),
        (json!({"token": "def"}), "Bearer def"),
    ]
    .into_iter()
    .enumerate()
    {
        let patch = json!({"auth": patch}).to_string();
        server.call("PATCH", &own, &tenant.key, &patch).await.expect(200);
        server.message(&tenant).await;
        receiver.until_taken(n + 1).await;
        assert_eq!(receiver.seen()[n].headers["authorization"], sent, "{patch}");
    }
}

/// Otherwise a key that may change an endpoint would learn its secrets, by a URL of its own.
#[tokio::test]
async fn a_secret_went_with_its_endpoint_to_another_origin() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let basic = json!({"type": "basic", "username": "me", "password": SECRET});
    let bearer = json!({"type": "bearer", "token": SECRET});
    for (auth, secret) in [(basic, "password"), (bearer, "token"), (oauth2(), "client_secret")] {
        let own = make(&server, &tenant, RECEIVER, &auth).await;
        let elsewhere = "http://127.0.0.2:1/";
        for auth in [None, Some(json!({})), Some(json!({"type": auth["type"]}))] {
            let mut patch = json!({"url": elsewhere});
            if let Some(auth) = auth {
                patch["auth"] = auth;
            }
            let told = server.call("PATCH", &own, &tenant.key, &patch.to_string()).await;
            assert_eq!(told.refused(400).text("field"), "auth", "{patch}");
        }
        let path = json!({"url": "http://127.0.0.1:1/elsewhere"}).to_string();
        server.call("PATCH", &own, &tenant.key, &path).await.expect(200);
        let given = json!({"url": elsewhere, "auth": {secret: "new"}}).to_string();
        server.call("PATCH", &own, &tenant.key, &given).await.expect(200);
        let removed = json!({"url": RECEIVER, "auth": null}).to_string();
        server.call("PATCH", &own, &tenant.key, &removed).await.expect(200);
    }
    let own = make(&server, &tenant, RECEIVER, &oauth2()).await;
    let moved = json!({"auth": {"token_url": "http://127.0.0.2:1/token"}}).to_string();
    let told = server.call("PATCH", &own, &tenant.key, &moved).await.refused(400);
    assert_eq!(told.text("field"), "auth");
    assert!(!String::from_utf8_lossy(&told.body).contains(SECRET));
    let same = json!({"auth": {"token_url": "http://127.0.0.1:1/other", "scope": "a"}}).to_string();
    let changed = server.call("PATCH", &own, &tenant.key, &same).await.expect(200).json();
    assert_eq!(changed["auth"]["scope"], "a");
}

#[tokio::test]
async fn credentials_out_of_their_bounds_were_saved() {
    let server = Server::start().await;
    let tenant = server.tenant("shop").await;
    let path = format!("{}/endpoints", tenant.path);
    for (auth, field) in [
        (json!({"type": "basic", "username": "a:b", "password": SECRET}), "auth.username"),
        (json!({"type": "bearer", "token": "hunter2 \n"}), "auth.token"),
        (json!({"type": "bearer", "token": SECRET, "username": "me"}), "auth"),
        (json!({"type": "digest", "username": "me"}), "auth.type"),
        (json!({"type": "mtls", "certificate": "", "key": SECRET}), "auth"),
        (json!({"token": SECRET}), "auth"),
        (
            json!({"type": "oauth2", "token_url": "http://169.254.169.254/", "client_id": "me",
                   "client_secret": SECRET}),
            "auth.token_url",
        ),
    ] {
        let body = json!({"url": RECEIVER, "auth": auth}).to_string();
        let told = server.call("POST", &path, &tenant.key, &body).await.refused(400);
        assert_eq!(told.text("field"), field, "{auth}");
        assert!(!String::from_utf8_lossy(&told.body).contains(SECRET), "{auth}");
    }
    let both = json!({"url": RECEIVER, "headers": {"Authorization": "x"},
                      "auth": {"type": "bearer", "token": SECRET}});
    let told = server.call("POST", &path, &tenant.key, &both.to_string()).await.refused(400);
    assert_eq!(told.text("field"), "auth");
}
