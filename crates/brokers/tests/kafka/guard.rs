//! Addresses that no attempt may reach, whoever names them.

use serde_json::json;
use stagger_scheduler::model::{AttemptFailure, EndpointDestination};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::cluster::KafkaCluster;
use crate::destination::{endpoint, send};
use crate::shared::sender;

#[tokio::test]
async fn addresses_of_this_machine_and_of_clouds_are_refused_when_saved_and_when_dialled() {
    for (host, allow_private) in [
        ("127.0.0.1", false),
        ("[::1]", false),
        ("0x7f.1", false),
        ("169.254.169.254", true),
        ("[::ffff:169.254.169.254]", true),
    ] {
        let (sender, to) =
            (sender(allow_private), endpoint(&format!("kafka://{host}:9092"), "a", |_| {}));
        let refused = sender.check(&to).expect_err(host).to_string();
        assert!(
            refused.starts_with("endpoint.url = ") && refused.contains("globally routable"),
            "{refused}"
        );
        let answer = send(&sender, &to, "x").await;
        assert_eq!(
            (answer.result, answer.written),
            (Err(AttemptFailure::Egress), false),
            "{host}: {answer:?}"
        );
    }
    let named = send(&sender(false), &endpoint("kafka://localhost", "a", |_| {}), "x").await;
    assert_eq!(named.result, Err(AttemptFailure::Egress), "{named:?}");
}

/// The cluster advertises another address of its leader than that of the url, as a hostile one may.
#[tokio::test]
async fn an_address_that_a_broker_advertises_is_judged_like_any_other() {
    let Some(mut cluster) = KafkaCluster::start(2).await else { return };
    cluster.topic("events", 1).await;
    cluster.run("leader", json!({"topic": "events", "partition": 0, "broker": 2})).await;
    let (sender, to) = (sender(true), endpoint(&cluster.url(), "events", |_| {}));
    assert_eq!(send(&sender, &to, "x").await.result, Ok(200));
    for (host, port) in [
        ("169.254.169.254", 9092),
        ("::ffff:169.254.169.254", 9092),
        ("0xa9fea9fe", 9092),
        ("user@169.254.169.254", 9092),
        ("user:name@169.254.169.254", 9092),
        ("127.0.0.1/path?", 9092),
        ("", 9092),
        ("127.0.0.1", 0),
    ] {
        cluster.run("address", json!({"broker": 2, "host": host, "port": port})).await;
        let answer = send(&sender, &to, "x").await;
        let found = (answer.result, answer.written);
        assert_eq!(found, (Err(AttemptFailure::Egress), false), "{host}:{port} {answer:?}");
    }
}

#[tokio::test]
async fn only_the_usual_ports_and_those_of_the_web_are_open() {
    let sender = sender(false);
    for (url, is_open) in [
        ("kafka://kafka.example", true),
        ("kafka+ssl://kafka.example:9093", true),
        ("kafka+ssl://kafka.example:443", true),
        ("kafka://kafka.example:6379", false),
        ("http://kafka.example", false),
        ("nats://kafka.example", false),
        ("kafka://me:secret@kafka.example", false),
        ("kafka://kafka.example/topic", false),
        ("kafka://a.example,b.example", false),
    ] {
        let checked = sender.check(&endpoint(url, "a", |_| {}));
        assert_eq!(checked.is_ok(), is_open, "{url}: {checked:?}");
        assert!(!format!("{checked:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_topic_or_a_key_that_cannot_be_is_not_saved() {
    for topic in ["", "..", "a b", "a/{event.type}", "a{message}"] {
        let to = endpoint("kafka://kafka.example", topic, |_| {});
        let flaw = sender(true).check(&to).expect_err(topic).to_string();
        assert!(flaw.starts_with("destination.topic = "), "{flaw}");
    }
    for key in [String::new(), "k".repeat(1025)] {
        let to = endpoint("kafka://kafka.example", "a", |it| {
            if let Some(EndpointDestination::Kafka(kafka)) = &mut it.destination {
                kafka.key = Some(key.clone());
            }
        });
        let flaw = sender(true).check(&to).expect_err("a key").to_string();
        assert!(flaw.starts_with("destination.key = ") && flaw.len() < 200, "{flaw}");
    }
}

/// Servers that answer with something else than the protocol, or with lengths that are lies.
#[tokio::test]
async fn a_server_that_is_no_broker_or_claims_large_answers_is_refused_at_once() {
    let versions = |count: i32, rest: &[u8]| {
        let mut body = [&1_i32.to_be_bytes()[..], &[0, 0], &count.to_be_bytes()].concat();
        body.extend(rest);
        [&i32::try_from(body.len()).expect("small").to_be_bytes()[..], &body].concat()
    };
    for (answer, why) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "no broker of Kafka"),
        (b"INFO {}\r\n".to_vec(), "no broker of Kafka"),
        (i32::MAX.to_be_bytes().to_vec(), "no broker of Kafka"),
        ((-1_i32).to_be_bytes().to_vec(), "no broker of Kafka"),
        // More versions than there are bytes, and those of a broker that is too old.
        (versions(i32::MAX, &[]), "no broker of Kafka"),
        (versions(1, &[0, 0, 0, 0, 0, 2]), "older than Kafka 1.0"),
        (Vec::new(), "closed the connection"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("kafka://{}", listener.local_addr().expect("it is bound"));
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut asked = [0; 64];
            _ = stream.read(&mut asked).await;
            _ = stream.write_all(&answer).await;
        });
        let found = send(&sender(true), &endpoint(&url, "a", |_| {}), "x").await;
        assert!(!found.written, "{found:?}");
        let detail = found.detail.expect("it says why");
        assert!(detail.contains(why), "{why}: {detail}");
        server.await.expect("it was asked");
    }
}
