//! Attempts: which are retried, and the lines about them.

use serde_json::Value;
use stagger_testkit::server::{BlockingServer, Identity, Reaction, RefusingPort, Script};

use crate::command::{HttpRun, folder};

/// Short delays, so that a test takes no time.
const FAST: [&str; 2] = ["--base", "2ms"];

fn after(first: Reaction) -> BlockingServer {
    BlockingServer::start(Script::of([first]).then(Reaction::ok("done")))
}

fn call(server: &BlockingServer, more: &[&str]) -> HttpRun {
    HttpRun::of(&[&[server.url("/").as_str()], &FAST[..], more].concat())
}

#[test]
fn a_server_that_stumbles_is_asked_again_and_only_the_last_body_is_printed() {
    let server = after(Reaction::status(503).body("come later"));
    let came = call(&server, &[]);
    assert_eq!((came.code, &came.out[..]), (Some(0), &b"done"[..]));
    let lines = came.lines();
    assert!(
        lines[0].starts_with("attempt 1  transient    503 Service Unavailable   again in "),
        "{lines:?}"
    );
    assert_eq!(lines[1], "attempt 2  ok           200 OK");
    assert!(lines[2].starts_with("end: succeeded after 2 attempts in "), "{lines:?}");
    assert_eq!((lines.len(), server.seen().len()), (3, 2));
}

#[test]
fn a_hint_is_named_with_its_header_and_waited_for() {
    let server =
        after(Reaction::status(429).header("retry-after-ms", "40").header("retry-after", "9"));
    let came = call(&server, &["--format", "json"]);
    let events: Vec<Value> = came
        .lines()
        .iter()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let first = &events[0];
    assert_eq!(first["verdict"], "throttled");
    assert_eq!(
        (&first["hint_ms"], &first["hint_header"]),
        (&40.0.into(), &"retry-after-ms".into())
    );
    let delay = first["delay_ms"].as_f64().expect("a number");
    assert!((40.0..=60.0).contains(&delay), "{delay}");
    assert_eq!(first["delay_from"], "hint");
    assert_eq!(
        (&events[1]["status"], &events[1]["stop_reason"]),
        (&200.into(), &"succeeded".into())
    );
    assert_eq!((&events[2]["event"], &events[2]["attempts"]), (&"end".into(), &2.into()));
    assert!(events[2]["elapsed_ms"].as_f64().expect("a number") >= 40.0);
}

#[test]
fn a_hint_of_an_hour_ends_it_at_once_and_is_named() {
    let server = after(Reaction::status(429).header("retry-after", "3600").body("slow down"));
    let came = call(&server, &[]);
    assert_eq!((came.code, &came.out[..]), (Some(22), &b"slow down"[..]));
    assert_eq!(server.seen().len(), 1);
    let lines = came.lines();
    assert!(
        lines[0].ends_with("hint 3600s (retry-after)  stop: hint exceeds the longest wait"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("; the server asks to stay away for 3600s"), "{lines:?}");
}

#[test]
fn a_post_is_not_sent_twice_without_a_key() {
    let server = after(Reaction::status(503));
    let came = call(&server, &["-d", "one bolt"]);
    assert_eq!((came.code, server.seen().len()), (Some(22), 1));
    assert!(came.lines()[0].ends_with("stop: not idempotent"), "{came:?}");
}

#[test]
fn a_post_with_a_key_is_retried_with_the_same_key_and_bytes() {
    for (flag, key) in [("--idempotency-key", None), ("--idempotency-key=order-7", Some("order-7"))]
    {
        let server = after(Reaction::status(503));
        let bytes: Vec<u8> = (0..=255).chain([b'\n', b'\r', 0]).collect();
        let url = server.url("/orders");
        let came = HttpRun::fed(&[&url, "--base", "2ms", "-d", "@-", flag], &bytes);
        assert_eq!(came.code, Some(0), "{came:?}");
        let seen = server.seen();
        assert_eq!(seen.len(), 2);
        let keys: Vec<_> = seen.iter().map(|seen| &seen.headers["idempotency-key"]).collect();
        assert_eq!(keys[0], keys[1]);
        assert!(key.is_none_or(|key| keys[0] == key), "{keys:?}");
        assert!(seen.iter().all(|seen| seen.method == "POST" && seen.body[..] == bytes[..]));
    }
}

#[test]
fn an_idempotent_post_is_retried_on_the_callers_word() {
    let server = after(Reaction::status(503));
    let came = call(&server, &["--json", "{\"bolts\":1}", "--idempotent"]);
    assert_eq!((came.code, server.seen().len()), (Some(0), 2));
    let seen = &server.seen()[0];
    assert_eq!(seen.headers["content-type"], "application/json");
    assert_eq!(&seen.body[..], b"{\"bolts\":1}");
}

#[test]
fn a_refused_connection_is_told_in_words_and_by_its_code() {
    let refusal = RefusingPort::hold().expect("a port that refuses");
    let came = HttpRun::of(&[&refusal.url("/"), "--base", "1ms", "--attempts", "2"]);
    assert_eq!((came.code, came.out.len()), (Some(7), 0));
    let lines = came.lines();
    assert!(
        lines[0].starts_with("attempt 1  unprocessed  no connection: Connection refused"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("stop: attempts exhausted"), "{lines:?}");
    assert_eq!(lines[3], "error: no reply: no connection: Connection refused");
}

#[test]
fn an_attempt_that_hangs_is_cut_off_and_retried() {
    let server = after(Reaction::hang());
    let came = call(&server, &["--attempt-timeout", "200ms"]);
    assert_eq!(came.code, Some(0), "{came:?}");
    assert!(came.lines()[0].starts_with("attempt 1  transient    no reply in time"), "{came:?}");
    let hangs = BlockingServer::start(Script::always(Reaction::hang()));
    let came = call(&hangs, &["--max-time", "200ms"]);
    assert_eq!((came.code, hangs.seen().len()), (Some(28), 1), "{came:?}");
}

#[test]
fn the_policy_of_a_file_is_the_one_that_is_obeyed() {
    let folder = folder("policy");
    let file = folder.join("policy.toml");
    let text = "[policy.api]\nlimits.max_attempts = 2\nbackoff.base = '1ms'\n[policy.other]\n";
    std::fs::write(&file, text).expect("writable");
    let server = BlockingServer::start(Script::always(Reaction::status(503)));
    let (url, named) = (server.url("/"), format!("{}#api", file.display()));
    let came = HttpRun::of(&[&url, "--policy", &named]);
    assert_eq!((came.code, server.seen().len()), (Some(22), 2), "{came:?}");
    let came = HttpRun::of(&[&url, "--policy", &file.display().to_string()]);
    assert_eq!(came.code, Some(2));
    assert!(came.told.contains("must name one of its policies"), "{came:?}");
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn tls_is_spoken_with_those_who_are_trusted_only() {
    let (folder, identity) = (folder("tls"), Identity::valid());
    let file = folder.join("ca.pem");
    std::fs::write(&file, identity.authority_pem()).expect("writable");
    let server = BlockingServer::start_tls(Script::always(Reaction::ok("secret")), identity);
    let came = call(&server, &["--cacert", &file.display().to_string()]);
    assert_eq!((came.code, &came.out[..]), (Some(0), &b"secret"[..]), "{came:?}");
    let came = call(&server, &[]);
    assert_eq!(came.code, Some(7), "{came:?}");
    assert!(came.lines()[0].contains("permanent") && came.told.contains("certificate"), "{came:?}");
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_policy_file_without_a_budget_got_a_hidden_one() {
    let folder = folder("hidden-budget");
    let file = folder.join("policy.toml");
    let text = "limits.max_attempts = 30\nbackoff.base = '1ms'\nbackoff.cap = '1ms'\n";
    std::fs::write(&file, text).expect("writable");
    let server = BlockingServer::start(Script::always(Reaction::status(503)));
    let came = HttpRun::of(&[&server.url("/"), "--policy", &file.display().to_string()]);
    assert_eq!((came.code, server.seen().len()), (Some(22), 30), "{came:?}");
    std::fs::remove_dir_all(folder).expect("ours");
}
