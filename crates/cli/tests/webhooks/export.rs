//! `stagger webhooks export`: all messages once, in bounded memory, also after an interruption.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::command::command;
use crate::serving::{KEY, Serving};

/// A folder of one test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("export-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Calls the API; the JSON of the answer, if it has one.
fn call(serving: &Serving, method: &str, path: &str, body: &str) -> Value {
    let address = serving.url.strip_prefix("http://").expect("http");
    let mut socket = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).expect("it reads");
    socket.write_all(body.as_bytes()).expect("it reads");
    let mut reply = String::new();
    socket.read_to_string(&mut reply).expect("UTF-8");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a reply");
    assert!(head.starts_with("HTTP/1.1 20"), "{method} {path}: {reply}");
    serde_json::from_str(body).unwrap_or(Value::Null)
}

/// Posts messages of 8 KiB each; their ids.
fn post(serving: &Serving, app: &str, count: usize) -> Vec<String> {
    let one = json!({"event_type": "a", "payload": "x".repeat(8 << 10)});
    let batch = json!({ "messages": vec![one; count] }).to_string();
    let path = format!("/v1/applications/{app}/messages/batch");
    let accepted = call(serving, "POST", &path, &batch);
    let ids = accepted["messages"].as_array().expect("a list").iter();
    ids.map(|message| message["id"].as_str().expect("an id").to_owned()).collect()
}

/// The resident memory of a process at most so far, in KiB.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says so");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn export(serving: &Serving, file: &str) -> Output {
    command(serving, &["webhooks", "export", "--output", file]).output().expect("it was built")
}

/// The number of times that each message is in a file.
fn messages(file: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in fs::read_to_string(file).expect("text").lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if line["type"] == "message" {
            *found.entry(line["message"]["id"].as_str().expect("an id").to_owned()).or_default() +=
                1;
        }
    }
    found
}

#[test]
fn ten_thousand_messages_are_exported_once_each_in_bounded_memory() {
    let folder = Folder::new("many");
    let data = folder.path("data");
    let serving =
        Serving::with(&["--data", &data, "--max-body", "16MiB", "--payload-memory", "1MiB"]);
    let app = call(&serving, "POST", "/v1/applications", r#"{"name":"shop"}"#);
    let app = app["id"].as_str().expect("an id").to_owned();
    let mut sent = Vec::new();
    for _ in 0..10 {
        sent.extend(post(&serving, &app, 1000));
    }
    // From now on the peak is that of the export (proc(5), clear_refs).
    fs::write(format!("/proc/{}/clear_refs", serving.child.id()), "5").expect("it is ours");
    let before = peak(serving.child.id());
    let (file, over) = (folder.path("shop.jsonl"), AtomicBool::new(false));
    let (kept, pruned) = sent.split_at(9_800);
    let deleted = std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let mut deleted = 0;
            while !over.load(Ordering::Relaxed) {
                post(&serving, &app, 5);
                if let Some(id) = pruned.get(deleted) {
                    let path = format!("/v1/applications/{app}/messages/{id}");
                    call(&serving, "DELETE", &path, "");
                    deleted += 1;
                }
            }
            deleted
        });
        let output = export(&serving, &file);
        over.store(true, Ordering::Relaxed);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        changes.join().expect("no panic")
    });
    assert!(deleted > 0, "nothing was deleted meanwhile");
    let grown = peak(serving.child.id()) - before;
    let size = fs::metadata(&file).expect("it is there").len();
    assert!(size > 80 << 20 && grown < 24 << 10, "{size} bytes, and {grown} KiB more");
    let found = messages(&file);
    assert!(found.values().all(|times| *times == 1), "one is there twice");
    let missing = kept.iter().filter(|id| !found.contains_key(*id)).count();
    assert_eq!(missing, 0, "of messages that nobody deleted");
    // Only those before its beginning, as far as the first page did not find newer ones.
    assert!(found.len() <= sent.len() + 5 * (deleted + 50), "{}", found.len());
}

#[test]
fn an_interrupted_export_goes_on_in_its_file() {
    let folder = Folder::new("interrupted");
    let serving = Serving::start();
    let app = call(&serving, "POST", "/v1/applications", r#"{"name":"shop"}"#);
    let app = app["id"].as_str().expect("an id").to_owned();
    let sent: Vec<_> = (0..3).flat_map(|_| post(&serving, &app, 60)).collect();
    let file = folder.path("shop.jsonl");
    let output = export(&serving, &file);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(said, format!("{file} is complete\n"));
    let whole = fs::read(&file).expect("written");
    let end = |text: &[u8]| text.ends_with(b"{\"type\":\"end\"}\n");
    assert!(end(&whole) && messages(&file).len() == 180);
    // Cut off anywhere, also within the first page and within a line, it becomes the same again.
    for cut in [0, 10, 5_000, whole.len() / 2, whole.len() - 20, whole.len() - 1, whole.len()] {
        fs::write(&file, &whole[..cut]).expect("written");
        let output = export(&serving, &file);
        assert!(output.status.success(), "{cut}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read(&file).expect("written") == whole, "cut off at {cut}");
    }
    let found = messages(&file);
    assert!(sent.iter().all(|id| found[id] == 1));
    // A file of something else is not overwritten.
    let other = folder.path("notes.txt");
    fs::write(&other, "notes\n").expect("written");
    let output = export(&serving, &other);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--output"));
    assert_eq!(fs::read_to_string(&other).expect("text"), "notes\n");
}
