//! Requests made of the document and then broken: never a failure of the server, and every refusal is
//! a problem with a status that the document names.

use bytes::Bytes;
use serde_json::{Value, json};
use stagger::{Entropy, Rng};

use crate::document::operations;
use crate::server::{ADMIN, Server, id};

/// Requests for each operation.
const ROUNDS: usize = 40;
const SEED: u64 = 12;

const EXTREMES: [&str; 22] = [
    "null",
    "true",
    "0",
    "-1",
    "1e400",
    "1e-7",
    "18446744073709551616",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"30s\"",
    "\"99999999999999999d\"",
    "\"https://example.com\"",
    "\"http://[::1]:1/\"",
    "\"whsec_AQIDBAUGBwgJEBESExQVFg==\"",
    "[]",
    "[[[[[[[[[[]]]]]]]]]]",
    "{}",
    "{\"a\": {\"b\": null}}",
    "[\"a.b\", \"a.b\"]",
    "{\"limits\": {\"max_attempts\": \"unlimited\"}}",
    "{",
];

struct Chance(Rng);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.0.next_u64() % n as u64).expect("below a usize")
    }

    fn pick<'i>(&mut self, items: &[&'i str]) -> &'i str {
        items[self.below(items.len())]
    }
}

/// A body of some of the operation's members, each right or wrong, and sometimes no JSON at all.
fn body(chance: &mut Chance, document: &Value, operation: &Value) -> String {
    let media = &operation["requestBody"]["content"]["application/json"]["schema"];
    let reference = media["$ref"].as_str().or_else(|| media["oneOf"][1]["$ref"].as_str());
    let schema = reference.and_then(|it| document.pointer(it.trim_start_matches('#')));
    let names: Vec<&str> = schema
        .and_then(|schema| schema["properties"].as_object())
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    if names.is_empty() || chance.below(10) == 0 {
        return chance.pick(&EXTREMES).to_owned();
    }
    let count = 1 + chance.below(4);
    let mut members: Vec<String> = (0..count)
        .map(|_| format!("{:?}: {}", chance.pick(&names), chance.pick(&EXTREMES)))
        .collect();
    if names.contains(&"url") {
        members.push(r#""url": "http://127.0.0.1:1/""#.to_owned());
    }
    format!("{{{}}}", members.join(", "))
}

#[tokio::test]
async fn a_broken_request_broke_the_server() {
    let server = Server::start().await;
    let document: Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    let mut chance = Chance(Rng::with_seed(SEED));
    for (method, path, operation) in operations() {
        let tenant = server.tenant("shop").await;
        let (mut ep, mut msg) = (server.endpoint(&tenant).await, server.message(&tenant).await);
        for round in 0..ROUNDS {
            if method == "DELETE" && round % 8 == 0 {
                ep = server.endpoint(&tenant).await;
                msg = server.message(&tenant).await;
            }
            let names =
                [id(&tenant.path), "app_", "%00", "..%2f", &"9".repeat(300)].map(str::to_owned);
            let app = if chance.below(8) == 0 { &names[1 + chance.below(4)] } else { &names[0] };
            let mut target =
                path.replace("{app}", app).replace("{ep}", id(&ep)).replace("{msg}", id(&msg));
            if chance.below(3) == 0 {
                target += "?";
                let words = ["limit", "cursor", "since", "state", "event_type", "x"];
                let values = ["", "0", "10", "%ff", "2026-01-01T00:00:00Z", "dead", "a.b", "%00"];
                target += &format!("{}={}", chance.pick(&words), chance.pick(&values));
            }
            let key =
                [tenant.key.as_str(), tenant.key.as_str(), ADMIN, "sk_x", ""][chance.below(5)];
            let deletes = method == "DELETE" && path == "/v1/applications/{app}";
            let key = if deletes && key == ADMIN { "" } else { key };
            let sent = body(&mut chance, &document, &operation);
            let mut request = server.request(&method, &target, key);
            if chance.below(6) == 0 {
                request =
                    request.header("idempotency-key", chance.pick(&["", "a", "a b", "\u{e9}"]));
            }
            let reply = server.send(request, Bytes::from(sent.clone())).await;
            let known = !operation["responses"][reply.status.to_string()].is_null();
            assert!(known, "{method} {target} with {sent}: {reply:?}");
            assert!(reply.status < 500, "{method} {target} with {sent}: {reply:?}");
            if reply.status >= 400 {
                assert_eq!(reply.header("content-type"), "application/problem+json");
                assert_eq!(reply.json()["status"], json!(reply.status));
            }
        }
    }
}
