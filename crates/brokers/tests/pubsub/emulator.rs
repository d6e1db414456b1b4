//! Google's own emulator of Pub/Sub: topics and subscriptions that exist. It comes with the Cloud SDK and with no registry
//! of packages, so it is used where it is installed, and the tests are skipped with a note elsewhere.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use stagger_brokers::{BrokerMessage, Disposition, PubSubSource, PubSubSourceSettings, Source};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::destination::{endpoint, send};
use crate::shared::{message, sender};

/// The folder of the emulator within an SDK.
const PROGRAM: &str = "platform/pubsub-emulator/bin/cloud-pubsub-emulator";
/// The usual places of an SDK.
const FOLDERS: [&str; 3] =
    ["/usr/lib/google-cloud-sdk", "/usr/share/google-cloud-sdk", "/opt/google-cloud-sdk"];
/// The longest time for a Java program to start, or for messages to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running emulator, which is killed with this.
struct PubSubEmulator {
    _child: Child,
    port: u16,
}

impl PubSubEmulator {
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    async fn start() -> Option<Self> {
        let found = FOLDERS.iter().map(|folder| PathBuf::from(folder).join(PROGRAM));
        let Some(program) = found.into_iter().find(|it| it.is_file()) else {
            eprintln!("skipped: the emulator of the Google Cloud SDK is not installed");
            return None;
        };
        let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let mut command = Command::new(program);
        command.args(["--host=127.0.0.1", &format!("--port={port}")]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the emulator starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let listening = async {
            let mut seen = String::new();
            while let Some(line) = lines.next_line().await.expect("its log can be read") {
                if line.contains("Server started, listening on") {
                    return;
                }
                seen.push_str(&format!("{line}\n"));
            }
            panic!("the emulator ended:\n{seen}");
        };
        tokio::time::timeout(PATIENCE, listening).await.expect("it listens within a minute");
        // Its log is read on, so that it never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let emulator = Self { _child: child, port };
        for name in ["orders", "dead"] {
            let topic = format!("projects/shop/topics/{name}");
            emulator.call("PUT", &topic, &json!({})).await;
            let subscription = json!({ "topic": topic, "enableMessageOrdering": true });
            emulator
                .call("PUT", &format!("projects/shop/subscriptions/{name}"), &subscription)
                .await;
        }
        Some(emulator)
    }

    fn url(&self, resource: &str) -> String {
        format!("http://127.0.0.1:{}/v1/projects/shop/{resource}", self.port)
    }

    /// The answer to a call apart from the code that is tested.
    async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("it listens");
        let (body, port) = (body.to_string(), self.port);
        let request = format!(
            "{method} /v1/{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("it reads");
        // It leaves the connection open. The body may be chunked; it is one object in any case.
        let answered = async {
            let (mut reply, mut buffer) = (String::new(), [0; 4096]);
            loop {
                let read = stream.read(&mut buffer).await.expect("it answers");
                assert_ne!(read, 0, "{method} {path}: {reply}");
                reply.push_str(&String::from_utf8_lossy(&buffer[..read]));
                let body = reply.find('{').zip(reply.rfind('}'));
                let value =
                    body.and_then(|(from, to)| serde_json::from_str(&reply[from..=to]).ok());
                if let Some(value) = value {
                    assert!(reply.starts_with("HTTP/1.1 200"), "{method} {path}: {reply}");
                    return value;
                }
            }
        };
        tokio::time::timeout(PATIENCE, answered).await.expect("it answers within a minute")
    }

    fn source(&self) -> PubSubSource {
        let settings = PubSubSourceSettings {
            url: self.url("subscriptions/orders"),
            dead_letter: Some(self.url("topics/dead")),
            token_file: None,
        };
        PubSubSource::new(sender(true).network().clone(), settings).expect("valid")
    }
}

/// So many messages of a source.
async fn receive(source: &mut PubSubSource, count: usize) -> Vec<BrokerMessage> {
    let all = async {
        let mut arrivals = Vec::new();
        while arrivals.len() < count {
            arrivals.extend(source.receive().await.expect("it answers"));
        }
        arrivals
    };
    tokio::time::timeout(PATIENCE, all).await.expect("they come within a minute")
}

#[tokio::test]
async fn a_topic_of_the_emulator_has_the_message_with_its_attributes_and_its_key() {
    let Some(emulator) = PubSubEmulator::start().await else { return };
    let to = endpoint(&emulator.url("topics/orders:publish"), None);
    let answer = send(&to).await;
    assert_eq!((answer.result, answer.written), (Ok(200), true), "{answer:?}");
    let path = "projects/shop/subscriptions/orders:pull";
    let pulled = emulator.call("POST", path, &json!({ "maxMessages": 10 })).await;
    let taken = &pulled["receivedMessages"][0]["message"];
    assert_eq!(taken["data"], STANDARD.encode("{\"a\":1}"), "{pulled}");
    assert_eq!(taken["orderingKey"], "invoice.paid", "{pulled}");
    let attributes = &taken["attributes"];
    assert_eq!(attributes["stagger-event-type"], "invoice.paid", "{pulled}");
    assert_eq!(attributes["webhook-id"], message(7).id.to_string(), "{pulled}");
    assert!(attributes["webhook-signature"].as_str().is_some_and(|it| it.starts_with("v1,")));

    let nowhere = send(&endpoint(&emulator.url("topics/none:publish"), None)).await;
    assert_eq!(nowhere.result, Ok(404), "{nowhere:?}");
    assert_eq!(nowhere.detail.as_deref(), Some("NOT_FOUND: Topic not found"));
}

#[tokio::test]
async fn a_message_that_was_settled_came_again_from_the_emulator() {
    let Some(emulator) = PubSubEmulator::start().await else { return };
    let data = |n: u32| json!({ "data": STANDARD.encode(format!("{{\"n\":{n}}}")), "attributes": { "a": "b" } });
    let body = json!({ "messages": [data(1), data(2), data(3)] });
    let ids = emulator.call("POST", "projects/shop/topics/orders:publish", &body).await;
    let id = |at: usize| ids["messageIds"][at].as_str().expect("an id").to_owned();
    let mut source = emulator.source();
    let arrivals = receive(&mut source, 3).await;
    let of = |id: &str| arrivals.iter().find(|it| it.id == id).expect("it came").clone();
    assert_eq!(of(&id(0)).payload, Bytes::from_static(b"{\"n\":1}"));
    assert_eq!(of(&id(0)).header("a"), Some("b"));
    source.settle(of(&id(0)).ack_id, Disposition::Accepted).await.expect("it answers");
    let poison = Disposition::Poison("it is not ours".into(), Box::new(of(&id(1))));
    source.settle(of(&id(1)).ack_id, poison).await.expect("it answers");
    // All three are given back, by the names that the emulator has for them. It takes that for the unsettled one alone.
    let named = |n: usize| format!("projects/shop/subscriptions/orders:{n}");
    let back = json!({ "ackIds": [named(1), named(2), named(3)], "ackDeadlineSeconds": 0 });
    let path = "projects/shop/subscriptions/orders:modifyAckDeadline";
    emulator.call("POST", path, &back).await;
    let again = receive(&mut source, 1).await;
    assert_eq!(again.iter().map(|it| &it.id).collect::<Vec<_>>(), [&id(2)]);

    let pulled = emulator
        .call("POST", "projects/shop/subscriptions/dead:pull", &json!({ "maxMessages": 10 }))
        .await;
    let dead = &pulled["receivedMessages"][0]["message"];
    assert_eq!(dead["data"], STANDARD.encode("{\"n\":2}"), "{pulled}");
    assert_eq!(dead["attributes"]["stagger-refused"], "it is not ours", "{pulled}");
    assert_eq!(dead["attributes"]["stagger-source-id"], id(1), "{pulled}");
}
