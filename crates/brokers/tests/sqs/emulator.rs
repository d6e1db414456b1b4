//! moto on a free port of 127.0.0.1, with queues and with a user whose signatures it checks.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Makes the user and the queues. These calls are not checked, and all later ones are.
const SETUP: &str = r#"
import boto3, json, sys
at = dict(endpoint_url=sys.argv[1], region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
iam, sqs = boto3.client("iam", **at), boto3.client("sqs", **at)
iam.create_user(UserName="shop")
allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}
iam.put_user_policy(UserName="shop", PolicyName="all", PolicyDocument=json.dumps(allow))
key = iam.create_access_key(UserName="shop")["AccessKey"]
url = lambda name, **more: sqs.create_queue(QueueName=name, **more)["QueueUrl"]
print(json.dumps({"id": key["AccessKeyId"], "secret": key["SecretAccessKey"], "plain": url("orders"),
    "dead": url("dead"), "fifo": url("orders.fifo", Attributes={"FifoQueue": "true"})}))
"#;
/// The number of calls of `SETUP`.
const FREE: &str = "6";

/// A running emulator.
pub(crate) struct Emulator {
    child: Child,
    python: PathBuf,
    pub(crate) address: String,
    made: Value,
}

impl Emulator {
    /// `None` where moto is not installed.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) async fn start() -> Option<Self> {
        let folder = std::env::var_os("STAGGER_TEST_CLIENTS").map(PathBuf::from);
        let bin = folder
            .map(|folder| folder.join("venv/bin"))
            .filter(|it| it.join("moto_server").is_file());
        let Some(bin) = bin else {
            eprintln!("skipped: STAGGER_TEST_CLIENTS has no moto_server");
            return None;
        };
        let mut command = Command::new(bin.join("moto_server"));
        command.args(["-H", "127.0.0.1", "-p", "0"]).env("INITIAL_NO_AUTH_ACTION_COUNT", FREE);
        command.stderr(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("moto starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let address = loop {
            let line = lines.next_line().await.expect("its log can be read").expect("moto runs");
            if let Some((_, rest)) = line.split_once("Running on ") {
                break rest
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches('/')
                    .to_owned();
            }
        };
        // Its log is read on, so that it never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let python = bin.join("python3");
        let mut emulator = Self { child, python, address, made: Value::Null };
        emulator.made = emulator.run(SETUP).await;
        Some(emulator)
    }

    /// A text that was made at the start: `id`, `secret`, or the URL of the queue `plain`, `fifo` or `dead`.
    pub(crate) fn made(&self, name: &str) -> String {
        self.made[name].as_str().expect("it was made").to_owned()
    }

    /// Takes all messages off a queue, with AWS's own client.
    pub(crate) async fn drain(&self, queue: &str) -> Vec<Value> {
        let script = format!(
            r#"
import boto3, json, sys
sqs = boto3.client("sqs", endpoint_url=sys.argv[1], region_name="eu-central-1", aws_access_key_id="{}", aws_secret_access_key="{}")
found = []
while True:
    got = sqs.receive_message(QueueUrl="{}", MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get("Messages", [])
    if not got: break
    for one in got:
        found.append({{"body": one["Body"], "attributes": {{k: v["StringValue"] for k, v in one.get("MessageAttributes", {{}}).items()}}}})
        sqs.delete_message(QueueUrl="{}", ReceiptHandle=one["ReceiptHandle"])
print(json.dumps(found))
"#,
            self.made("id"),
            self.made("secret"),
            self.made(queue),
            self.made(queue)
        );
        self.run(&script).await.as_array().expect("a list").clone()
    }

    /// Puts a message on the queue `plain`, with AWS's own client.
    pub(crate) async fn put(&self, body: &str, event_type: &str) {
        let script = format!(
            r#"
import boto3, json, sys
sqs = boto3.client("sqs", endpoint_url=sys.argv[1], region_name="eu-central-1", aws_access_key_id="{}", aws_secret_access_key="{}")
sqs.send_message(QueueUrl="{}", MessageBody={body:?}, MessageAttributes={{"stagger-event-type": {{"DataType": "String", "StringValue": "{event_type}"}}}})
print("null")
"#,
            self.made("id"),
            self.made("secret"),
            self.made("plain")
        );
        self.run(&script).await;
    }

    async fn run(&self, script: &str) -> Value {
        let output = Command::new(&self.python).args(["-c", script, &self.address]).output().await;
        let output = output.expect("Python runs");
        let error = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
    }

    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("it was running");
    }
}
