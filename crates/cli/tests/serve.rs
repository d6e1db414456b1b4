//! `stagger serve` and `stagger store` as processes: how they refuse, start and end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn stagger(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).stdin(Stdio::null());
    command
}

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

#[track_caller]
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "a refusal wrote to standard output");
    String::from_utf8(output.stderr.clone()).expect("the message is UTF-8")
}

fn run(mut command: Command) -> Output {
    command.output().expect("the binary was built for this test")
}

#[test]
fn a_wrong_flag_is_named_with_its_value_and_bound() {
    let output = run(stagger(&["serve", "--check", "--listen", "nonsense"]));
    let expected = "error: --listen: listen = nonsense: must be an address with a port, such as \
                    127.0.0.1:8080\n";
    assert_eq!(refusal(&output), expected);
    let output = run(stagger(&["serve", "--check", "--slots", "-1"]));
    assert_eq!(refusal(&output), "error: --slots: slots = -1: must be from 1 to 100000\n");
}

#[test]
fn traces_were_dropped_in_silence_by_a_build_that_cannot_send_them() {
    let output = run(stagger(&["serve", "--check", "--otlp", "http://127.0.0.1:4318/v1/traces"]));
    if cfg!(feature = "otel") {
        assert!(output.status.success());
    } else {
        let message = refusal(&output);
        assert!(message.starts_with("error: --otlp: otlp = http://127.0.0.1:4318"), "{message}");
        assert!(message.ends_with("build stagger with --features otel\n"), "{message}");
    }
}

#[test]
fn a_misspelt_key_in_a_file_is_pointed_at() {
    let folder = folder("misspelt");
    let file = folder.join("dispatcher.toml");
    fs::write(&file, "listen = '127.0.0.1:0'\nretenton = '7d'\n").expect("writable");
    let output = run(stagger(&["serve", "--check", "--config", file.to_str().expect("UTF-8")]));
    let message = refusal(&output);
    assert!(
        message.ends_with(":2:1: unknown key retenton: did you mean retention?\n"),
        "{message}"
    );
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_wrong_variable_is_refused_in_the_words_of_a_flag() {
    let mut command = stagger(&["serve", "--check"]);
    command.env("STAGGER_LOG_FORMAT", "ignored").env("STAGGER_GRACE", "5");
    let message = refusal(&run(command));
    assert_eq!(message, "error: STAGGER_GRACE: grace = 5: must be a span such as 30s\n");
}

/// It was ignored, so that a wrong `STAGGER_STORE` meant the embedded store.
#[test]
fn a_variable_that_is_no_text_was_ignored_in_silence() {
    use std::os::unix::ffi::OsStrExt;
    let mut command = stagger(&["serve", "--check"]);
    command.env("STAGGER_STORE", std::ffi::OsStr::from_bytes(b"postgres://\xff"));
    assert_eq!(refusal(&run(command)), "error: STAGGER_STORE: must be UTF-8\n");
}

#[test]
fn a_check_makes_no_files() {
    let folder = folder("check");
    let data = folder.join("data");
    let output = run(stagger(&["serve", "--check", "--data", data.to_str().expect("UTF-8")]));
    assert!(output.status.success());
    assert!(!data.exists());
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_store_that_is_not_there_is_named_and_not_made() {
    let folder = folder("no-store");
    let data = folder.join("data");
    let output = run(stagger(&["store", "check", "--data", data.to_str().expect("UTF-8")]));
    assert!(refusal(&output).contains("data"));
    assert!(!data.exists());
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_store_in_memory_made_an_admin_key_and_showed_it_nowhere() {
    let mut child = stagger(&["serve", "--memory", "--listen", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let mut after = |text: &str| {
        let found = lines.find_map(|line| line.split_once(text).map(|(_, rest)| rest.to_owned()));
        found.unwrap_or_else(|| panic!("it says {text}"))
    };
    let address = after("listening on http://");
    let key = after("the admin key of this run, shown only here: ");
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET /v1/applications HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
         connection: close\r\n\r\n"
    )
    .expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// Starts on a free port; answers with the process and its address.
fn serve(data: &Path) -> (std::process::Child, String) {
    let data = data.to_str().expect("UTF-8");
    let mut child = stagger(&["serve", "--listen", "127.0.0.1:0", "--data", data])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let address = lines
        .find_map(|line| line.split_once("listening on http://").map(|(_, to)| to.to_owned()))
        .expect("it says where it listens");
    // What it says later must not block it.
    std::thread::spawn(move || lines.for_each(drop));
    (child, address)
}

#[test]
fn a_second_dispatcher_on_the_same_folder_is_refused_and_a_signal_ends_the_first() {
    let folder = folder("serve");
    let data = folder.join("data");
    let (mut first, address) = serve(&data);

    let mut stream = TcpStream::connect(&address).expect("it listens");
    write!(stream, "GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");

    let second = run(stagger(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        data.to_str().expect("UTF-8"),
    ]));
    assert!(refusal(&second).contains("stagger.lock"), "{}", refusal(&second));

    let copy = folder.join("copy.db");
    let (copy, data) = (copy.to_str().expect("UTF-8"), data.to_str().expect("UTF-8"));
    assert!(run(stagger(&["store", "backup", copy, "--data", data])).status.success());
    refusal(&run(stagger(&["store", "restore", copy, "--data", data])));

    let pid = first.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert!(first.wait().expect("it ends").success());
    let log = fs::metadata(Path::new(data).join("stagger.db-wal"));
    assert!(log.map_or(0, |log| log.len()) == 0, "the file alone does not have everything");
    assert!(run(stagger(&["store", "restore", copy, "--data", data])).status.success());
    let checked = run(stagger(&["store", "check", "--data", data]));
    assert!(String::from_utf8_lossy(&checked.stdout).starts_with("sound, version "));
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn the_key_of_an_operator_is_shown_once_and_kept_as_its_hash() {
    let folder = folder("operators").join("data");
    let data = folder.to_str().expect("UTF-8");
    let operator = |args: &[&str]| run(stagger(&[&["operator"], args, &["--data", data]].concat()));
    let added = operator(&["add", "alice", "--role", "operator"]);
    assert!(added.status.success(), "{added:?}");
    let key = String::from_utf8(added.stdout).expect("UTF-8");
    assert!(key.starts_with("op_") && key.ends_with('\n') && key.len() > 40, "{key}");
    let text = fs::read_to_string(folder.join("operators.toml")).expect("written");
    assert!(text.contains("alice") && !text.contains(key.trim()), "{text}");
    let message = refusal(&operator(&["add", "alice", "--role", "viewer"]));
    assert!(message.contains("operator alice exists"), "{message}");
    let message = refusal(&operator(&["add", "admin", "--role", "viewer"]));
    assert!(message.contains("name = admin: must be 1 to 64"), "{message}");
    assert_eq!(operator(&["list"]).stdout, b"alice  operator\n");
    assert!(operator(&["remove", "alice"]).status.success());
    assert_eq!(refusal(&operator(&["remove", "alice"])), "error: no such operator\n");
}

#[test]
fn a_broken_file_of_operators_was_served() {
    let folder = folder("broken-operators");
    let file = folder.join("operators.toml");
    fs::write(&file, "[[operator]]\nname = 'alice'\nrole = 'root'\nkey = 'x'\n").expect("writable");
    let data = folder.to_str().expect("UTF-8");
    let message = refusal(&run(stagger(&["serve", "--listen", "127.0.0.1:0", "--data", data])));
    assert!(message.contains("operators.toml:3:8: operator.0.role = root: must be"), "{message}");
}
