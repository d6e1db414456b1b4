//! A queue as a source.

use std::path::PathBuf;

use stagger_brokers::{AwsCredentials, Disposition, Source, SqsSource, SqsSourceSettings};

use crate::emulator::Emulator;
use crate::shared::sender;

struct Credentials(PathBuf);

impl Credentials {
    fn write(&self, id: &str, secret: &str) {
        let text =
            format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
        std::fs::write(&self.0, text).expect("the file is written");
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn source(emulator: &Emulator) -> (SqsSource, Credentials) {
    // Two emulators of one process have different ports.
    let port = emulator.address.rsplit(':').next().unwrap_or_default();
    let file = std::env::temp_dir().join(format!("stagger-sqs-{}-{port}", std::process::id()));
    let credentials = Credentials(file.clone());
    credentials.write(&emulator.made("id"), &emulator.made("secret"));
    let settings = SqsSourceSettings {
        url: emulator.made("plain"),
        region: "eu-central-1".into(),
        dead_letter: Some(emulator.made("dead")),
        credentials: AwsCredentials::File(file),
    };
    (SqsSource::new(sender(true).network().clone(), settings).expect("valid"), credentials)
}

#[tokio::test]
async fn an_accepted_message_is_deleted_and_a_poison_one_is_in_the_dead_letters() {
    let Some(emulator) = Emulator::start().await else { return };
    let (mut source, _file) = source(&emulator);
    emulator.put("{\"n\":1}", "order.new").await;
    let first = source.receive().await.expect("it answers");
    assert_eq!((first.len(), first[0].header("stagger-event-type")), (1, Some("order.new")));
    assert_eq!(&first[0].payload[..], b"{\"n\":1}");
    source.settle(first[0].ack_id.clone(), Disposition::Accepted).await.expect("it answers");

    emulator.put("nonsense", "order.new").await;
    let second = source.receive().await.expect("it answers");
    assert_ne!(first[0].id, second[0].id);
    let poison = Disposition::Poison("it is not JSON".into(), Box::new(second[0].clone()));
    source.settle(second[0].ack_id.clone(), poison).await.expect("it answers");
    let dead = emulator.drain("dead").await;
    assert_eq!((dead.len(), dead[0]["body"].as_str()), (1, Some("nonsense")));
    assert_eq!(dead[0]["attributes"]["stagger-refused"], "it is not JSON");
    assert_eq!(dead[0]["attributes"]["stagger-source-id"], second[0].id.as_str());
}

#[tokio::test]
async fn a_key_that_was_replaced_in_its_file_is_used_without_a_restart() {
    let Some(emulator) = Emulator::start().await else { return };
    let (mut source, file) = source(&emulator);
    file.write("AKIDEXPIRED", "hunter2");
    let failed = source.receive().await.expect_err("the key is unknown").to_string();
    assert!(failed.starts_with("401") && !failed.contains("hunter2"), "{failed}");
    std::fs::remove_file(&file.0).expect("it was there");
    assert!(source.receive().await.is_err());
    emulator.put("{}", "order.new").await;
    file.write(&emulator.made("id"), &emulator.made("secret"));
    assert_eq!(source.receive().await.expect("it answers").len(), 1);
}

#[tokio::test]
async fn a_queue_that_is_away_is_a_failure() {
    let Some(mut emulator) = Emulator::start().await else { return };
    let (mut source, _file) = source(&emulator);
    emulator.kill().await;
    source.receive().await.expect_err("it is away");
}
