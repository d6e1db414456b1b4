//! `stagger webhooks`: each verb, its output in both forms, its refusals and their exit codes.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use stagger_testkit::server::{BlockingServer, Reaction, Script};

use crate::serving::{KEY, Serving};

/// A command beside a dispatcher, with the admin key.
pub(crate) fn command(serving: &Serving, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(arguments).stdin(Stdio::null());
    // Without a folder of a dispatcher in it, so that no key is found there.
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.env("STAGGER_URL", &serving.url).env("STAGGER_KEY", KEY).env_remove("STAGGER_APP");
    command
}

pub(crate) fn run(serving: &Serving, arguments: &[&str]) -> Output {
    command(serving, arguments).output().expect("the binary was built for this test")
}

/// The output of a command that succeeds.
pub(crate) fn shown(serving: &Serving, arguments: &[&str]) -> String {
    let output = run(serving, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The values of a command that succeeds, in its JSON form.
pub(crate) fn json(serving: &Serving, arguments: &[&str]) -> Vec<Value> {
    let text = shown(serving, &[arguments, &["--format", "json"]].concat());
    text.lines().map(|line| serde_json::from_str(line).expect("a value a line")).collect()
}

/// The exit code and the error of a command.
fn refused(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().expect("the binary was built for this test");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn member(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}")).to_owned()
}

#[test]
fn what_was_made_could_not_be_listed_shown_or_sent_again() {
    let serving = Serving::start();
    let receiver = BlockingServer::start(Script::always(Reaction::ok("")));
    let app = member(&json(&serving, &["webhooks", "create", "application", "shop"])[0], "id");
    let listed = shown(&serving, &["webhooks", "list", "applications"]);
    assert_eq!(listed, format!("{app}  shop\n"));
    let url = receiver.url("/hooks");
    let made = ["webhooks", "create", "endpoint", &url, "--events", "invoice.paid,invoice.due"];
    let made = [&made[..], &["--settings", r#"{"description":"books"}"#]].concat();
    let endpoint = &json(&serving, &made)[0];
    let ep = member(endpoint, "id");
    assert_eq!(endpoint["events"].as_array().map(Vec::len), Some(2));
    let shows = shown(&serving, &["webhooks", "get", &ep]);
    assert!(shows.contains("description: books\n") && shows.contains(&url), "{shows}");

    let send = ["webhooks", "create", "message", "invoice.paid", "--payload", r#"{"amount": 10}"#];
    let keyed = [&send[..], &["--idempotency-key", "invoice-17"]].concat();
    let sent = &json(&serving, &keyed)[0];
    let again = &json(&serving, &keyed)[0];
    assert_eq!((&sent["id"], &again["repeated"]), (&again["id"], &Value::Bool(true)));
    let message = member(sent, "id");
    let state =
        || member(&json(&serving, &["webhooks", "get", &message])[0]["deliveries"][0], "state");
    until("it is delivered", || state() == "delivered");
    let seen = receiver.seen();
    assert_eq!(&seen[0].body[..], br#"{"amount": 10}"#, "the payload goes out as it was given");

    let listed = shown(&serving, &["webhooks", "list", "messages", "--event-type", "invoice.paid"]);
    assert!(listed.contains(&message) && listed.lines().count() == 1, "{listed}");
    let none = shown(&serving, &["webhooks", "list", "messages", "--event-type", "other"]);
    assert_eq!(none, "");
    let delivered = ["webhooks", "list", "deliveries", "--state", "delivered", "--endpoint", &ep];
    assert_eq!(json(&serving, &delivered).len(), 1);
    assert_eq!(shown(&serving, &["webhooks", "replay", &message]), "replayed 0\n");
    let replayed = shown(&serving, &["webhooks", "replay", &message, "--state", "delivered"]);
    assert_eq!(replayed, "replayed 1\n");
    until("it is sent again", || state() == "delivered" && receiver.seen().len() == 2);
    assert_eq!(shown(&serving, &["webhooks", "replay", &message, &ep]), "replayed 1\n");
    until("it is sent once more", || state() == "delivered" && receiver.seen().len() == 3);
    let all = ["webhooks", "replay", &ep, "--state", "delivered"];
    assert_eq!(json(&serving, &all)[0]["replayed"], 1);
}

#[test]
fn a_list_ended_with_its_first_page() {
    let serving = Serving::start();
    shown(&serving, &["webhooks", "create", "application", "shop"]);
    let one = r#"{"event_type":"a","payload":1}"#;
    let batch = format!(r#"{{"messages":[{}]}}"#, vec![one; 300].join(","));
    let app = member(&json(&serving, &["webhooks", "list", "applications"])[0], "id");
    let path = format!("{}/v1/applications/{app}/messages/batch", serving.url);
    let posted = Command::new(env!("CARGO_BIN_EXE_stagger"))
        .args([
            "http",
            "-f",
            "--json",
            &batch,
            "-H",
            &format!("Authorization: Bearer {KEY}"),
            &path,
        ])
        .output()
        .expect("the binary was built for this test");
    assert!(posted.status.success(), "{}", String::from_utf8_lossy(&posted.stderr));
    let list = |limit| json(&serving, &["webhooks", "list", "messages", "--limit", limit]).len();
    assert_eq!((list("299"), list("1000"), list("5")), (299, 300, 5));
}

#[test]
fn a_refusal_did_not_say_what_was_wrong_or_ended_with_another_code() {
    let serving = Serving::start();
    let rows: [(&[&str], &str); 10] = [
        (&["list", "messages"], "has no application: make one by"),
        (&["get", "what"], "ID = what: must be the id of"),
        (
            &["create", "message", "a", "--app", "app_1", "--payload", "{"],
            "--payload = {: must be JSON",
        ),
        (
            &["create", "application", "x", "--settings", "[]"],
            "--settings = []: must be a JSON object",
        ),
        (&["create", "application", "x", "--events", "a"], "--events is a setting of an endpoint"),
        (&["list", "applications", "--state", "dead"], "--state is no filter of this list"),
        (&["replay"], "nothing is named"),
        (&["replay", "msg_1", "msg_2"], "ID = msg_1 msg_2: must be"),
        (&["create", "application", ""], "answers 400: name ="),
        (&["list", "messages", "--app", "app_1"], "answers 404: no such application"),
    ];
    for (arguments, words) in rows {
        let (code, why) = refused(command(&serving, &[&["webhooks"], arguments].concat()));
        assert!(
            code == Some(2) && why.starts_with("error: ") && why.contains(words),
            "{arguments:?}: {code:?} {why}"
        );
    }
    for name in ["one", "two"] {
        shown(&serving, &["webhooks", "create", "application", name]);
    }
    let (code, why) = refused(command(&serving, &["webhooks", "list", "endpoints"]));
    assert!(code == Some(2) && why.contains("name one by --app"), "{why}");
    let mut wrong = command(&serving, &["webhooks", "list", "applications"]);
    wrong.env("STAGGER_KEY", "wrong");
    let (code, why) = refused(wrong);
    assert!(
        code == Some(2) && why.contains("refuses the key of the variable STAGGER_KEY"),
        "{why}"
    );
    let mut none = command(&serving, &["webhooks", "list", "applications"]);
    none.env_remove("STAGGER_KEY");
    let (code, why) = refused(none);
    assert!(code == Some(2) && why.contains("no key: set STAGGER_KEY"), "{why}");
    let mut odd = command(&serving, &["webhooks", "list", "applications", "--url", "ftp://a"]);
    odd.env_remove("STAGGER_URL");
    let (code, why) = refused(odd);
    assert!(code == Some(2) && why.contains("--url = ftp://a: must be an http or https"), "{why}");
    let gone =
        command(&serving, &["webhooks", "list", "applications", "--url", "http://127.0.0.1:9"]);
    let (code, why) = refused(gone);
    assert!(
        code == Some(1) && why.contains("no dispatcher answers at http://127.0.0.1:9"),
        "{why}"
    );
}

#[test]
fn a_key_in_a_file_was_not_read() {
    let serving = Serving::start();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("webhooks.key");
    std::fs::write(&file, format!("{KEY}\n")).expect("written");
    let shown = file.display().to_string();
    let mut command =
        command(&serving, &["webhooks", "list", "applications", "--key-file", &shown]);
    command.env("STAGGER_KEY", "the flag is stronger");
    assert!(command.output().expect("it starts").status.success());
}

#[test]
fn a_change_was_not_followed() {
    let serving = Serving::start();
    let receiver = BlockingServer::start(Script::always(Reaction::ok("")));
    shown(&serving, &["webhooks", "create", "application", "shop"]);
    shown(&serving, &["webhooks", "create", "endpoint", &receiver.url("/")]);
    let before = json(&serving, &["webhooks", "create", "message", "a"]);
    let mut tail = command(&serving, &["webhooks", "tail", "--format", "json"]);
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut notes = lines(tail.stderr.take().expect("piped"));
    assert!(notes.next().expect("it says so").starts_with("following deliveries of "));
    let sent = member(&json(&serving, &["webhooks", "create", "message", "b"])[0], "id");
    let changes = lines(tail.stdout.take().expect("piped"));
    let mut changes = changes.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
    let last = changes.find(|it| it["state"] == "delivered").expect("it is delivered");
    assert_eq!(member(&last, "message"), sent);
    assert_ne!(member(&before[0], "id"), sent);
    tail.kill().expect("it runs");
    tail.wait().expect("it has ended");
}

/// The lines of a child's output, as they come.
pub(crate) fn lines(from: impl std::io::Read) -> impl Iterator<Item = String> {
    std::io::BufRead::lines(std::io::BufReader::new(from)).map(|line| line.expect("text"))
}

/// Asks again until something holds: each question is a process, so many are more than a minute.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    assert!((0..2_000).any(|_| holds()), "never: {what}");
}
