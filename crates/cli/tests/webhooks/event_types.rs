//! `stagger webhooks event-types`: the catalogue from its first type to the last deletion, and refusals with their place.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::json;

use crate::command::{json, run, shown};
use crate::serving::Serving;

/// A file of one test, which goes with it.
struct JsonFile(PathBuf);

impl JsonFile {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("event-types-{name}-{}.json", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, text).expect("written");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for JsonFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

fn call(serving: &Serving, arguments: &[&str]) -> Output {
    run(serving, &[&["webhooks", "event-types"], arguments].concat())
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The largest whole number of 64 bits and one more: a float would round it.
const SCHEMA: &str =
    r#"{"type": "object", "properties": {"amount": {"maximum": 18446744073709551615}}}"#;

#[test]
fn an_event_type_lost_a_setting_that_was_not_given() {
    let serving = Serving::start();
    let of =
        |arguments: &[&str]| shown(&serving, &[&["webhooks", "event-types"], arguments].concat());
    let read = || json(&serving, &["webhooks", "event-types", "get", "invoice.paid"]).remove(0);
    assert_eq!(of(&["list"]), "");
    let schema = JsonFile::new("schema", SCHEMA);
    let example = JsonFile::new("example", r#"{"amount": 7}"#);
    let files = ["--schema", schema.path(), "--example", example.path()];
    let create = ["create", "invoice.paid", "--description", "An invoice was paid."];
    let made = of(&[&create[..], &files].concat());
    assert!(made.contains("name: invoice.paid\n") && made.contains("version: 1\n"), "{made}");
    of(&["create", "order.sent"]);
    let listed = of(&["list"]);
    let lines = "invoice.paid  v1  offered  An invoice was paid.\norder.sent    v1  offered\n";
    assert_eq!(listed, lines);

    of(&["archive", "invoice.paid"]);
    of(&["update", "invoice.paid", "--description", "Paid."]);
    let changed = read();
    assert_eq!(changed["schema"].to_string(), json_text(SCHEMA));
    assert_eq!((&changed["version"], &changed["archived"]), (&json!(1), &json!(true)));
    assert_eq!(
        (&changed["example"], &changed["description"]),
        (&json!({"amount": 7}), &json!("Paid."))
    );
    assert!(of(&["list"]).contains("invoice.paid  v1  archived  Paid.\n"));

    of(&["unarchive", "invoice.paid"]);
    of(&["update", "invoice.paid", "--no-schema", "--no-example"]);
    let changed = read();
    assert_eq!((&changed["schema"], &changed["example"]), (&json!(null), &json!(null)));
    assert_eq!((&changed["version"], &changed["archived"]), (&json!(2), &json!(false)));
    assert_eq!(changed["description"], "Paid.");

    assert_eq!(of(&["delete", "invoice.paid"]), "deleted invoice.paid\n");
    let names = json(&serving, &["webhooks", "event-types", "list"]);
    assert_eq!(names.iter().map(|it| &it["name"]).collect::<Vec<_>>(), [&json!("order.sent")]);
    assert!(error(&call(&serving, &["delete", "invoice.paid"])).contains("no such event type"));
}

/// A text as JSON writes it.
fn json_text(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text).expect("JSON").to_string()
}

#[test]
fn a_refused_event_type_named_neither_its_file_nor_its_place() {
    let serving = Serving::start();
    let broken = JsonFile::new("broken", "{\"type\":\n  object}");
    let of_no_type = JsonFile::new("no-type", r#"{"type": "text"}"#);
    let narrow = JsonFile::new("narrow", r#"{"type": "integer"}"#);
    let text = JsonFile::new("text", r#""seven""#);
    let create = |flags: &[&str]| error(&call(&serving, &[&["create", "a"], flags].concat()));
    for (flags, says) in [
        (&["--schema", "missing.json"][..], "--schema = missing.json: must be readable: No such"),
        (
            &["--schema", broken.path()],
            "must be a file with JSON (expected value at line 2 column 3)",
        ),
        (&["--schema", of_no_type.path()], "schema = at /type: must be"),
        (&["--schema", of_no_type.path()], &format!("(--schema {})", of_no_type.path())),
        (
            &["--schema", narrow.path(), "--example", text.path()],
            &format!("(--example {})", text.path()),
        ),
        (&["--schema", "-", "--example", "-"], "--example = -: must be a file where --schema"),
    ] {
        let refused = create(flags);
        assert!(refused.contains(says), "{flags:?}: {refused}");
    }
    let name = error(&call(&serving, &["create", "a b"]));
    assert!(name.contains("name = a b: must be"), "{name}");
    for change in [&["update", "a", "--no-schema"][..], &["archive", "a"], &["get", "a"]] {
        let refused = error(&call(&serving, change));
        assert!(refused.contains("answers 404: no such event type"), "{refused}");
    }
    assert!(
        error(&call(&serving, &["update", "a"])).contains("nothing is to change in a: give --desc")
    );
    let listed = shown(&serving, &["webhooks", "event-types", "list"]);
    assert_eq!(listed, "", "nothing was made");
}
