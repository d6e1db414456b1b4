//! A cluster of Kafka in a process of its own, with the client of librdkafka beside it.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A running cluster. It ends when this is dropped.
pub(crate) struct KafkaCluster {
    _child: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    /// The addresses of its brokers, whose ids begin at 1.
    pub(crate) addresses: Vec<String>,
}

impl KafkaCluster {
    /// A cluster of this many brokers; `None` where librdkafka is not installed.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) async fn start(brokers: usize) -> Option<Self> {
        let folder = std::env::var_os("STAGGER_TEST_CLIENTS").map(PathBuf::from);
        let python = folder.map(|folder| folder.join("venv/bin/python3"));
        let has_client = |python: &PathBuf| {
            let import = ["-c", "import confluent_kafka"];
            std::process::Command::new(python)
                .args(import)
                .output()
                .is_ok_and(|it| it.status.success())
        };
        let Some(python) = python.filter(has_client) else {
            eprintln!("skipped: STAGGER_TEST_CLIENTS has no confluent_kafka");
            return None;
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../brokers/tests/kafka/cluster.py");
        let mut command = Command::new(python);
        command.args([script, &brokers.to_string()]).kill_on_drop(true);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python starts");
        let commands = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut cluster = Self { _child: child, commands, answers, addresses: Vec::new() };
        cluster.addresses = serde_json::from_value(cluster.answer().await).expect("addresses");
        Some(cluster)
    }

    /// The address of one broker, as an endpoint has it.
    pub(crate) fn url(&self) -> String {
        format!("kafka://{}", self.addresses[0])
    }

    /// Does a command of `cluster.py`.
    pub(crate) async fn run(&mut self, name: &str, mut arguments: Value) -> Value {
        arguments["do"] = json!(name);
        self.commands.write_all(format!("{arguments}\n").as_bytes()).await.expect("it reads");
        self.answer().await
    }

    /// Makes a topic.
    pub(crate) async fn topic(&mut self, name: &str, partitions: u32) {
        let made = self.run("topic", json!({ "topic": name, "partitions": partitions })).await;
        assert_eq!(made, 0, "{name}");
    }

    /// All messages of a topic, read by the client of librdkafka.
    pub(crate) async fn consume(&mut self, topic: &str) -> Vec<Value> {
        let all = self.run("consume", json!({ "topic": topic })).await;
        all.as_array().expect("a list").clone()
    }

    async fn answer(&mut self) -> Value {
        let line = self.answers.next_line().await.expect("its output can be read");
        let line = line.expect("the cluster runs: its error output says why it does not");
        serde_json::from_str(&line).expect("JSON")
    }
}
