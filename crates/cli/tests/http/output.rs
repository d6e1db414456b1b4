//! The destination of the reply.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use stagger_testkit::server::{BlockingServer, Reaction, Script};

use crate::command::{HttpRun, folder, http};

fn always(reaction: Reaction) -> BlockingServer {
    BlockingServer::start(Script::always(reaction))
}

#[test]
fn a_body_comes_through_byte_for_byte() {
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let server = always(Reaction::ok(bytes.clone()).chunked());
    let came = HttpRun::of(&[&server.url("/"), "-q"]);
    assert_eq!((came.code, came.told.as_str()), (Some(0), ""));
    assert!(came.out == bytes, "{} bytes", came.out.len());
}

#[test]
fn a_file_is_replaced_when_all_has_come_and_keeps_its_mode() {
    let folder = folder("replaced");
    let file = folder.join("page");
    fs::write(&file, "what was there").expect("writable");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");
    let server = always(Reaction::ok("new"));
    let came = HttpRun::of(&[&server.url("/"), "-o", &file.display().to_string()]);
    assert_eq!((came.code, came.out.len()), (Some(0), 0), "{came:?}");
    assert_eq!(fs::read(&file).expect("there"), b"new");
    assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(&folder).expect("there").count(), 1, "nothing is left behind");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_reply_that_breaks_off_leaves_the_file_as_it_was() {
    let folder = folder("broken");
    let file = folder.join("page");
    fs::write(&file, "what was there").expect("writable");
    let server = always(Reaction::ok("half of it").cut(4));
    let came = HttpRun::of(&[&server.url("/"), "-o", &file.display().to_string()]);
    assert_eq!(came.code, Some(18), "{came:?}");
    assert!(came.told.contains("error: the reply broke off: "), "{came:?}");
    assert_eq!(fs::read(&file).expect("there"), b"what was there");
    assert_eq!(fs::read_dir(&folder).expect("there").count(), 1, "nothing is left behind");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn with_fail_an_error_page_replaces_nothing() {
    let folder = folder("fail");
    let file = folder.join("page");
    let server = always(Reaction::status(404).body("no such page"));
    let came = HttpRun::of(&[&server.url("/"), "-f", "-o", &file.display().to_string()]);
    assert_eq!((came.code, file.exists()), (Some(22), false), "{came:?}");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_device_is_written_to_and_stays_one() {
    let server = always(Reaction::ok("gone"));
    let came = HttpRun::of(&[&server.url("/"), "-o", "/dev/null"]);
    assert_eq!(came.code, Some(0), "{came:?}");
    assert!(!fs::metadata("/dev/null").expect("there").is_file());
}

#[test]
fn head_prints_status_and_headers() {
    let server = always(Reaction::ok("twelve bytes").header("x-kind", "bolt"));
    let came = HttpRun::of(&[&server.url("/"), "-I", "-q"]);
    let text = String::from_utf8(came.out).expect("headers are ASCII here");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.contains("x-kind: bolt\r\n") && text.ends_with("\r\n\r\n"), "{text}");
    assert_eq!(server.seen()[0].method, "HEAD");
}

#[test]
fn include_prints_the_head_before_the_body() {
    let server = always(Reaction::ok("body"));
    let came = HttpRun::of(&[&server.url("/"), "-i", "-q"]);
    assert!(came.out.starts_with(b"HTTP/1.1 200 OK\r\n") && came.out.ends_with(b"\r\n\r\nbody"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let server = always(Reaction::ok(vec![b'x'; 8 << 20]));
    let mut command = http(&[&server.url("/"), "-q"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut some = [0; 10];
    let mut out = child.stdout.take().expect("it is piped");
    out.read_exact(&mut some).expect("it writes");
    drop(out);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
}

#[test]
fn a_log_gains_a_line_for_each_event() {
    let folder = folder("log");
    let file = folder.join("events");
    fs::write(&file, "first\n").expect("writable");
    let server = always(Reaction::status(500));
    let log = file.display().to_string();
    let came = HttpRun::of(&[&server.url("/"), "-q", "--base", "1ms", "--log", &log]);
    assert_eq!((came.code, came.told.as_str()), (Some(22), ""));
    let text = fs::read_to_string(&file).expect("there");
    assert_eq!(text.lines().count(), 1 + 3 + 1, "{text}");
    assert!(text.starts_with("first\n{\"event\":\"attempt\",\"attempt\":1,"), "{text}");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn credentials_are_sent_and_not_shown() {
    let server = always(Reaction::ok("").header("set-cookie", "session=17"));
    let came = HttpRun::of(&[&server.url("/"), "-v", "-u", "me:secret", "-H", "x-kind: bolt"]);
    assert_eq!(server.seen()[0].headers["authorization"], "Basic bWU6c2VjcmV0");
    assert!(
        came.told.contains("> authorization: (hidden)\n> ")
            || came.told.contains("> authorization: (hidden)\n")
    );
    assert!(
        came.told.contains("> x-kind: bolt\n") && came.told.contains("< set-cookie: (hidden)\n")
    );
    assert!(!came.told.contains("bWU6") && !came.told.contains("session"), "{came:?}");
}

#[test]
fn verbose_showed_api_keys_tokens_and_the_password_of_a_url() {
    let names = [
        "X-Api-Key",
        "PRIVATE-TOKEN",
        "X-Auth-Token",
        "X-Vault-Token",
        "Api-Key",
        "X-Goog-Api-Key",
        "X-Amz-Security-Token",
    ];
    let server = always(Reaction::ok("").header("location", "http://bob:hunter2@elsewhere/"));
    let headers: Vec<String> = names.iter().map(|name| format!("{name}: hunter2")).collect();
    let url = server.url("/").replace("://", "://bob:hunter2@");
    let mut args = vec![url.as_str(), "-v"];
    args.extend(headers.iter().flat_map(|header| ["-H", header.as_str()]));
    let came = HttpRun::of(&args);
    assert_eq!(came.code, Some(0), "{came:?}");
    assert!(!came.told.contains("hunter2"), "{came:?}");
    for name in names {
        let name = name.to_lowercase();
        assert!(came.told.contains(&format!("> {name}: (hidden)\n")), "{name}: {came:?}");
        assert_eq!(server.seen()[0].headers[name.as_str()], "hunter2");
    }
    let refused = HttpRun::of(&["ftp://bob:hunter2@host/"]);
    assert!(refused.code == Some(2) && !refused.told.contains("hunter2"), "{refused:?}");
}

#[test]
fn name_and_password_of_a_url_were_dropped_in_silence() {
    let server = always(Reaction::ok(""));
    let url = server.url("/").replace("://", "://me:sec%72et@");
    let sent = |more: &[&str]| {
        let came = HttpRun::of(&[&[url.as_str(), "-q"], more].concat());
        assert_eq!(came.code, Some(0), "{came:?}");
        let seen = server.seen();
        seen[seen.len() - 1].headers["authorization"].to_str().expect("ASCII").to_owned()
    };
    assert_eq!(sent(&[]), "Basic bWU6c2VjcmV0");
    assert_eq!(sent(&["-u", "you:other"]), "Basic eW91Om90aGVy", "a flag goes before the URL");
    assert_eq!(sent(&["-H", "Authorization: Bearer x"]), "Bearer x", "so does a header");
}

#[test]
fn redirects_are_followed_when_asked() {
    let moved = Reaction::status(302).header("location", "/new");
    let script = Script::always(Reaction::ok("here")).on_path("/old", Script::always(moved));
    let server = BlockingServer::start(script);
    let came = HttpRun::of(&[&server.url("/old"), "-q"]);
    assert_eq!((came.code, came.out.len()), (Some(0), 0));
    let came = HttpRun::of(&[&server.url("/old"), "-q", "-L"]);
    assert_eq!((came.code, &came.out[..]), (Some(0), &b"here"[..]));
}

#[test]
fn a_redirect_told_another_server_the_url_with_its_token() {
    let target = always(Reaction::ok("here"));
    let server = always(Reaction::status(302).header("location", &target.url("/")));
    let came = HttpRun::of(&[&server.url("/start?token=hunter2"), "-q", "-L"]);
    assert_eq!((came.code, &came.out[..]), (Some(0), &b"here"[..]), "{came:?}");
    assert!(!target.seen()[0].headers.contains_key("referer"), "{:?}", target.seen());
}

/// A server whose body of 1000 bytes breaks off after 400, and which sends the rest to those who ask.
fn torn(tag: Option<&str>) -> (BlockingServer, Vec<u8>) {
    let bytes: Vec<u8> = (0..1_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let whole = || Reaction::ok(bytes.clone()).header("accept-ranges", "bytes");
    let whole = || match tag {
        Some(tag) => whole().header("etag", tag),
        None => whole(),
    };
    let part = Reaction::status(206).body(bytes[400..].to_vec());
    let part = part.header("content-range", "bytes 400-999/1000");
    let script = Script::of([whole().cut(400)]).then(whole());
    (BlockingServer::start(script.on_header("range", "bytes=400-", Script::always(part))), bytes)
}

#[test]
fn a_body_cut_short_counted_as_a_success() {
    let folder = folder("torn");
    let file = folder.join("page");
    // What cannot be resumed is fetched again; a weak tag does not tell that it is the same body.
    for (tag, resumed) in [(Some("\"v1\""), true), (Some("W/\"v1\""), false), (None, false)] {
        let (server, bytes) = torn(tag);
        let path = file.display().to_string();
        let came =
            HttpRun::of(&[&server.url("/"), "-o", &path, "--base", "1ms", "--format", "json"]);
        assert_eq!(came.code, Some(0), "{came:?}");
        assert!(fs::read(&file).expect("there") == bytes, "{tag:?}");
        let seen = server.seen();
        assert_eq!(seen.len(), 2, "{tag:?}");
        assert_eq!(seen[1].headers.contains_key("range"), resumed, "{tag:?}");
        assert_eq!(seen[1].headers.contains_key("if-range"), resumed, "{tag:?}");
        let events: Vec<serde_json::Value> =
            came.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let body = &events[1];
        assert_eq!((&body["event"], &body["received_bytes"]), (&"body".into(), &400.into()));
        assert!(body["delay_ms"].is_number(), "{body}");
        assert_eq!(events[2]["attempt"], 2);
        let end = events.last().expect("an end");
        assert_eq!((&end["stop_reason"], &end["attempts"]), (&"succeeded".into(), &2.into()));
    }
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn the_end_of_a_call_whose_body_never_comes_says_so() {
    let folder = folder("never");
    let path = folder.join("page").display().to_string();
    let server = always(Reaction::ok("half of it").cut(4));
    let end = |args: &[&str]| {
        let url = server.url("/");
        let came =
            HttpRun::of(&[&[url.as_str(), "--base", "1ms", "--format", "json"], args].concat());
        assert_eq!(came.code, Some(18), "{came:?}");
        let lines = came.lines();
        let end = lines.iter().rfind(|line| line.contains("\"end\"")).expect("an end");
        let end: serde_json::Value = serde_json::from_str(end).expect("JSON");
        (end["stop_reason"].clone(), end["attempts"].clone())
    };
    assert_eq!(end(&["-o", &path]), ("incomplete_body".into(), 3.into()));
    // What went to standard output cannot be taken back, and a POST is not repeated.
    assert_eq!(end(&[]), ("incomplete_body".into(), 1.into()));
    assert_eq!(end(&["-o", &path, "--data", "x"]), ("incomplete_body".into(), 1.into()));
    assert_eq!(end(&["-o", &path, "--data", "x", "--idempotent"]).1, 3);
    assert_eq!(fs::read_dir(&folder).expect("there").count(), 0, "nothing is left behind");
    fs::remove_dir_all(folder).expect("ours");
}
