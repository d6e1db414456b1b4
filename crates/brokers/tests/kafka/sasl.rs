//! Credentials and TLS, against a scripted broker: the brokers of librdkafka know neither.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use stagger_brokers::Brokers;
use stagger_scheduler::model::*;
use stagger_sender::{SendOptions, Sender};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::destination::endpoint;
use crate::shared::{message, sender};

/// The broker `sasl.py`, which has one user.
struct SaslBroker {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: String,
}

const NAME: &str = "shop,=1";
const PASSWORD: &str = "p%ss wörd";

impl SaslBroker {
    /// A broker with this mechanism and these files of TLS; `None` where there is no Python.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    async fn start(mechanism: &str, files: &[PathBuf]) -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kafka/sasl.py");
        let mut command = Command::new("python3");
        command.args([script, mechanism, NAME, PASSWORD]).args(files).kill_on_drop(true);
        let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else {
            eprintln!("skipped: python3 is not installed");
            return None;
        };
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut broker = Self { _child: child, lines, port: String::new() };
        broker.port = broker.line().await;
        Some(broker)
    }

    async fn line(&mut self) -> String {
        self.lines.next_line().await.expect("it can be read").expect("the broker runs")
    }
}

fn with(url: &str, password: Option<&str>, sasl: Option<KafkaSasl>) -> Endpoint {
    endpoint(url, "events", |it| {
        it.auth = password.map(|password| EndpointAuth::Basic {
            username: NAME.to_owned(),
            password: SecretText::new(password),
        });
        if let Some(EndpointDestination::Kafka(kafka)) = &mut it.destination {
            kafka.sasl = sasl;
        }
    })
}

async fn attempt(to: &Endpoint) -> AttemptAnswer {
    sender(true).send(to, &message(7), Bytes::from_static(b"{}"), 1).await
}

#[tokio::test]
async fn a_password_is_shown_or_proved_and_a_wrong_one_is_told_without_it() {
    for (mechanism, sasl) in [
        ("PLAIN", None),
        ("PLAIN", Some(KafkaSasl::Plain)),
        ("SCRAM-SHA-256", Some(KafkaSasl::ScramSha256)),
        ("SCRAM-SHA-512", Some(KafkaSasl::ScramSha512)),
    ] {
        let Some(mut broker) = SaslBroker::start(mechanism, &[]).await else { return };
        let url = format!("kafka://127.0.0.1:{}", broker.port);
        let right = attempt(&with(&url, Some(PASSWORD), sasl)).await;
        assert_eq!(right.result, Ok(200), "{mechanism}: {right:?}");
        assert_eq!(broker.line().await, "taken");
        let wrong = attempt(&with(&url, Some("hunter2"), sasl)).await;
        assert_eq!((wrong.result, wrong.written), (Ok(401), false), "{mechanism}: {wrong:?}");
        assert!(!format!("{wrong:?}").contains("hunter2"));
        assert_eq!(broker.line().await, "refused");
    }
}

#[tokio::test]
async fn a_mechanism_that_the_broker_lacks_is_told_with_those_that_it_has() {
    let Some(broker) = SaslBroker::start("SCRAM-SHA-512", &[]).await else { return };
    let url = format!("kafka://127.0.0.1:{}", broker.port);
    let answer = attempt(&with(&url, Some(PASSWORD), None)).await;
    assert_eq!(answer.result, Ok(401), "{answer:?}");
    let detail = answer.detail.expect("it says why");
    assert_eq!(detail, "UNSUPPORTED_SASL_MECHANISM (33) for PLAIN; the broker has SCRAM-SHA-512");
    // Without credentials the broker ends the connection.
    let none = attempt(&with(&url, None, None)).await;
    assert_eq!(none.result, Err(AttemptFailure::Transport), "{none:?}");
}

#[tokio::test]
async fn credentials_of_another_kind_cannot_be_saved() {
    let sender = sender(true);
    let url = "kafka://kafka.example";
    let flaw = sender.check(&with(url, None, Some(KafkaSasl::ScramSha256))).expect_err("no name");
    assert!(flaw.to_string().starts_with("destination.sasl = "), "{flaw}");
    let bearer = Endpoint {
        auth: Some(EndpointAuth::Bearer { token: SecretText::new("hunter2") }),
        ..with(url, None, None)
    };
    let flaw = sender.check(&bearer).expect_err("no token").to_string();
    assert!(flaw.contains("basic or mtls") && !flaw.contains("hunter2"), "{flaw}");
}

/// An authority, and the files of a certificate that it has given to 127.0.0.1.
fn certified(folder: &Path) -> (String, [PathBuf; 2]) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = KeyPair::generate().expect("randomness");
    let pem = params.self_signed(&authority).expect("a certificate").pem();
    let key = KeyPair::generate().expect("randomness");
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let own =
        own.signed_by(&key, &Issuer::from_params(&params, &authority)).expect("a certificate");
    std::fs::create_dir_all(folder).expect("a folder");
    let files = [folder.join("own.pem"), folder.join("key.pem")];
    std::fs::write(&files[0], own.pem()).expect("it is written");
    std::fs::write(&files[1], key.serialize_pem()).expect("it is written");
    (pem, files)
}

#[tokio::test]
async fn every_broker_has_to_show_a_certificate_that_is_trusted() {
    let folder = std::env::temp_dir().join(format!("stagger-kafka-{}", std::process::id()));
    let (pem, files) = certified(&folder);
    let started = SaslBroker::start("PLAIN", &files).await;
    let Some(mut broker) = started else { return };
    let url = format!("kafka+ssl://127.0.0.1:{}", broker.port);
    let to = with(&url, Some(PASSWORD), None);
    let stranger = attempt(&to).await;
    assert_eq!(stranger.result, Err(AttemptFailure::Tls), "{stranger:?}");
    let options =
        SendOptions { allow_private: true, roots: pem.into_bytes(), ..SendOptions::default() };
    let trusting = Sender::new(options).expect("certificates").with_destinations(Arc::new(Brokers));
    let taken = trusting.send(&to, &message(7), Bytes::from_static(b"{}"), 1).await;
    assert_eq!(taken.result, Ok(200), "{taken:?}");
    assert_eq!(broker.line().await, "taken");
    let plain = attempt(&with(&url.replace("kafka+ssl", "kafka"), Some(PASSWORD), None)).await;
    assert_eq!(plain.result, Err(AttemptFailure::Transport), "{plain:?}");
    std::fs::remove_dir_all(&folder).expect("it is there");
}
