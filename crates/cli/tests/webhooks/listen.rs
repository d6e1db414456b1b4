//! `stagger listen`: deliveries reach the server and are shown, the answers go back, and nothing is left behind.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use stagger_testkit::server::{BlockingServer, Reaction, Script};

use crate::command::{command, json, lines, run, shown};
use crate::serving::Serving;

/// A running command, and its endpoint once there is one.
struct ListenCommand {
    child: Child,
    told: Box<dyn Iterator<Item = String>>,
    endpoint: String,
}

impl ListenCommand {
    fn start(serving: &Serving, server: &BlockingServer, more: &[&str]) -> Self {
        let port = server.address().port().to_string();
        let arguments = [&["listen", &port, "--format", "json"], more].concat();
        let mut command = command(serving, &arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary was built for this test");
        let told = Box::new(lines(child.stdout.take().expect("piped")));
        let note = lines(child.stderr.take().expect("piped")).next().expect("it says what it does");
        let (_, rest) = note.split_once("by the endpoint ").unwrap_or_else(|| panic!("{note}"));
        let endpoint = rest.split(' ').next().expect("an id").to_owned();
        Self { child, told, endpoint }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.told.next().expect("a delivery")).expect("JSON")
    }

    fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("piped");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("it reads");
    }

    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
        assert!(self.child.wait().expect("it ends").success());
    }
}

fn send(serving: &Serving, event_type: &str) -> Value {
    json(serving, &["webhooks", "create", "message", event_type]).remove(0)["id"].take()
}

#[test]
fn a_delivery_was_not_forwarded_verified_or_sent_again() {
    let serving = Serving::start();
    shown(&serving, &["webhooks", "create", "application", "shop"]);
    let busy = Reaction::status(503).header("retry-after", "1").body("busy");
    let server = BlockingServer::start(Script::of([busy]).then(Reaction::ok("thanks")));
    let early = send(&serving, "a.early");
    let mut listener = ListenCommand::start(&serving, &server, &[]);
    let sent = send(&serving, "invoice.paid");
    let first = listener.next();
    assert_eq!((&first["id"], &first["type"]), (&sent, &Value::from("invoice.paid")));
    assert_eq!(
        (&first["status"], &first["verified"], &first["attempt"]),
        (&503.into(), &true.into(), &1.into())
    );
    // The dispatcher got the answer, and so it tries again.
    let second = listener.next();
    assert_eq!(
        (&second["id"], &second["status"], &second["attempt"]),
        (&sent, &200.into(), &2.into())
    );
    let seen = server.seen();
    assert!(seen.iter().all(|it| it.headers.contains_key("webhook-signature")));
    assert!(seen.iter().all(|it| !it.headers.contains_key("x-stagger-event-type")));
    listener.type_line("");
    let third = listener.next();
    assert_eq!((&third["id"], &third["status"]), (&sent, &200.into()));
    // A message from before the endpoint was made goes to the server directly.
    listener.type_line(early.as_str().expect("an id"));
    let fourth = listener.next();
    assert_eq!((&fourth["id"], &fourth["verified"]), (&early, &true.into()));
    let ids = shown(&serving, &["webhooks", "list", "endpoints"]);
    assert!(ids.contains(&listener.endpoint));
    listener.stop();
    assert_eq!(shown(&serving, &["webhooks", "list", "endpoints"]), "");
}

#[test]
fn an_end_after_so_many_deliveries_left_the_endpoint_behind() {
    let serving = Serving::start();
    shown(&serving, &["webhooks", "create", "application", "shop"]);
    let server = BlockingServer::start(Script::always(Reaction::ok("")));
    let more = ["--count", "1", "--events", "wanted"];
    let mut listener = ListenCommand::start(&serving, &server, &more);
    send(&serving, "other");
    let wanted = send(&serving, "wanted");
    assert_eq!(listener.next()["id"], wanted);
    assert!(listener.child.wait().expect("it ends by itself").success());
    assert_eq!(shown(&serving, &["webhooks", "list", "endpoints"]), "");
}

#[test]
fn a_server_that_was_not_there_was_not_named() {
    let serving = Serving::start();
    shown(&serving, &["webhooks", "create", "application", "shop"]);
    let gone = BlockingServer::start(Script::always(Reaction::ok("")));
    let mut listener = ListenCommand::start(&serving, &gone, &[]);
    drop(gone);
    send(&serving, "a");
    let told = listener.next();
    assert!(told["status"].is_null());
    let why = told["failure"].as_str().expect("it says why");
    assert!(why.starts_with("no server answers at http://127.0.0.1:"), "{why}");
    listener.stop();
}

#[test]
fn one_message_is_sent_once_and_no_endpoint_is_made() {
    let serving = Serving::start();
    shown(&serving, &["webhooks", "create", "application", "shop"]);
    let server = BlockingServer::start(Script::always(Reaction::status(418)));
    let sent = send(&serving, "a.b");
    let id = sent.as_str().expect("an id");
    let told = shown(&serving, &["listen", &server.url("/x"), "--replay", id]);
    assert!(told.starts_with(&format!("POST a.b {id} attempt 1, verified: 418 in ")), "{told}");
    assert_eq!(server.seen()[0].path, "/x");
    assert_eq!(shown(&serving, &["webhooks", "list", "endpoints"]), "");
    let refused = run(&serving, &["listen", "not a url"]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && why.contains("PORT|URL = not a url"), "{why}");
}
