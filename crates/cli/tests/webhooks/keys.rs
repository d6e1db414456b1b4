//! `stagger webhooks keys`: a key with one scope can do that and nothing else, until it is deleted.

use std::process::Output;

use crate::command::{command, json, run, shown};
use crate::serving::Serving;

fn with_key(serving: &Serving, key: &str, arguments: &[&str]) -> Output {
    command(serving, arguments).env("STAGGER_KEY", key).output().expect("the binary was built")
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_key_that_was_made_could_do_more_than_its_scopes_or_outlived_its_deletion() {
    let serving = Serving::start();
    assert_eq!(shown(&serving, &["webhooks", "keys", "list"]), "");
    let app = json(&serving, &["webhooks", "create", "application", "shop"])[0]["id"].clone();
    let app = app.as_str().expect("an id");
    let create =
        ["webhooks", "keys", "create", "billing", "--scope", "messages:write,endpoints:read"];
    let made = &json(&serving, &[&create[..], &["--only-app", app]].concat())[0];
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    let listed = shown(&serving, &["webhooks", "keys", "list"]);
    assert_eq!(listed, format!("{id}  billing  endpoints:read,messages:write  {app}  -\n"));
    assert!(!listed.contains(key));

    let send = ["webhooks", "create", "message", "invoice.paid", "--app", app];
    assert!(with_key(&serving, key, &send).status.success());
    let refused = error(&with_key(&serving, key, &["webhooks", "list", "messages", "--app", app]));
    assert!(refused.contains("the key lacks the scope messages:read"), "{refused}");
    let refused = error(&with_key(&serving, key, &["webhooks", "keys", "list"]));
    assert!(refused.contains("the key lacks the scope admin"), "{refused}");

    assert_eq!(shown(&serving, &["webhooks", "keys", "delete", id]), format!("deleted {id}\n"));
    let refused = error(&with_key(&serving, key, &send));
    assert!(refused.contains("unknown key"), "{refused}");
    let again = run(&serving, &["webhooks", "keys", "delete", id]);
    assert!(error(&again).contains("no such API key"));
    let unknown = run(&serving, &["webhooks", "keys", "create", "x", "--scope", "all"]);
    assert!(error(&unknown).contains("scopes = all: must be one of admin, applications:read"));
}
