//! The official library of CloudEvents, and another implementation of RFC 9421, as sender and receiver.
//!
//! `STAGGER_TEST_CLIENTS` names the folder that `scripts/clients` has filled with them.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use stagger_testkit::server::{Reaction, Script, SeenRequest, TestServer};

use crate::server::{Server, Tenant};

/// The Python that has the libraries, if there is one.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("STAGGER_TEST_CLIENTS").map(PathBuf::from);
    let python = folder.map_or("python3".into(), |folder| folder.join("venv/bin/python3"));
    let imports = "import cloudevents.core.bindings.http, http_message_signatures";
    let found = Command::new(&python).args(["-c", imports]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!(
        "skipped: cloudevents and http-message-signatures are not installed: scripts/clients fetch FOLDER"
    );
    None
}

fn run(python: &PathBuf, part: &str, input: &Value) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/python/receiver.py");
    let mut command = Command::new(python);
    command.args([script, part]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it is installed");
    let mut pipe = child.stdin.take().expect("it is piped");
    pipe.write_all(input.to_string().as_bytes()).expect("it reads");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{part} failed");
    String::from_utf8(output.stdout).expect("text")
}

/// An endpoint with two secrets, ed25519 before HMAC, and the names and keys of these.
async fn endpoint(server: &Server, tenant: &Tenant, url: &str, format: &str) -> Value {
    let path = format!("{}/endpoints", tenant.path);
    let settings = json!({"url": url, "format": format, "signatures": "http-message-signatures"});
    let made = server.call("POST", &path, &tenant.key, &settings.to_string()).await.expect(201);
    let secrets = format!("{path}/{}/secrets", made.text("id"));
    let new = json!({"secret": "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="}).to_string();
    server.call("POST", &secrets, &tenant.key, &new).await.expect(201);
    server.get(&secrets, &tenant.key).await.expect(200).json()["secrets"].clone()
}

fn told(seen: &SeenRequest, receiver: &TestServer) -> Value {
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), Value::from(value.to_str().expect("text")))
    };
    let headers: serde_json::Map<_, _> = seen.headers.iter().map(header).collect();
    json!({
        "method": seen.method.to_string(), "url": receiver.url(&seen.path), "headers": headers,
        "body": STANDARD.encode(&seen.body),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_signatures_of_other_implementations() {
    let Some(python) = python() else { return };
    let server = Server::start().await;
    let made: Vec<Value> = serde_json::from_str(&run(&python, "make", &Value::Null)).expect("JSON");
    assert_eq!(made.len(), 6);
    for format in ["cloudevents-binary", "cloudevents-structured"] {
        let tenant = server.tenant(format).await;
        let receiver = TestServer::start(Script::always(Reaction::status(204))).await;
        let secrets = endpoint(&server, &tenant, &receiver.url("/hook?a=%20b"), format).await;
        // Both modes of one event are one message: one of them for each format.
        let first = usize::from(format == "cloudevents-structured");
        for request in made.iter().skip(first).step_by(2) {
            let path = format!("{}/messages", tenant.path);
            let mut post = server.request("POST", &path, &tenant.key);
            let headers = post.headers_mut().expect("it is right so far");
            headers.remove("content-type");
            for (name, value) in request["headers"].as_object().expect("headers") {
                let name: http::HeaderName = name.parse().expect("a name");
                headers.insert(name, value.as_str().expect("text").parse().expect("a value"));
            }
            let body = STANDARD.decode(request["body"].as_str().expect("text")).expect("base64");
            server.send(post, Bytes::from(body)).await.expect(202);
        }
        receiver.until_taken(3).await;
        let requests: Vec<_> = receiver.seen().iter().map(|seen| told(seen, &receiver)).collect();
        let input = json!({
            "requests": requests, "public_key": secrets[0]["public_key"],
            "ed25519_id": secrets[0]["key_id"], "secret": secrets[1]["secret"], "hmac_id": secrets[1]["key_id"],
        });
        assert_eq!(run(&python, "check", &input), "checked 3\n");
    }
}
